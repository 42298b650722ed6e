package io.farpage.bench.footprint;

import io.farpage.bench.cluster.AgentClient;
import io.farpage.bench.cluster.AgentProcess;
import io.farpage.bench.process.Child;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** An agent that is measured, a process of its own. Used by one thread. */
final class Agent implements AutoCloseable {
    /** Bytes of a pool that no setting names: its header. */
    private static final long HEADER = 2L << 20;

    static final long SMALLEST = 2L << 20;
    private static final int CPU_SECONDS = 4;

    /** The heap of an agent with few guests. */
    static final int HEAP_MIB = 256;

    private final Bench bench;
    private final AgentProcess process;
    private final AgentClient client;
    private final long anonymousPool;

    private Agent(Bench bench, AgentProcess process, long pool) throws InterruptedException {
        this.bench = bench;
        this.process = process;
        this.client = new AgentClient(process.awaitPort());
        this.anonymousPool = client.backing().startsWith("hugetlb") ? 0 : pool;
    }

    /**
     * Starts one and waits until it is registered.
     *
     * @param flags of its JVM
     * @param more settings
     */
    static Agent start(Bench bench, String id, List<String> flags, Map<String, String> more)
            throws InterruptedException {
        Map<String, String> settings = settings(bench.coordinator().url(), id);
        settings.putAll(more);
        long pool = HEADER
                + Long.parseLong(settings.getOrDefault("pool.exported", "0"))
                + Long.parseLong(settings.getOrDefault("pool.staging", "0"));
        Agent agent = new Agent(bench, AgentProcess.start(bench.children(), id, settings, flags), pool);
        bench.coordinator().awaitActive(List.of(id));
        return agent;
    }

    /**
     * As {@link #start}, with a heap of one size whose pages are all resident, so that garbage on the heap changes no
     * figure of the kernel; and with native memory tracked, if the JVM can be asked.
     */
    static Agent startSteady(Bench bench, String id, int heapMib, Map<String, String> more)
            throws InterruptedException {
        List<String> flags = new ArrayList<>(
                List.of("-Xms%dm".formatted(heapMib), "-Xmx%dm".formatted(heapMib), "-XX:+AlwaysPreTouch"));
        bench.jvm().ifPresent(_ -> flags.add(JvmFigures.TRACKING));
        return start(bench, id, flags, more);
    }

    /** The smallest pool, TCP, and threads that sleep while they wait. */
    static Map<String, String> settings(String coordinator, String id) {
        Map<String, String> settings = new LinkedHashMap<>();
        settings.put("node.id", id);
        settings.put("api.listen", "127.0.0.1:0");
        settings.put("coordinator.url", coordinator);
        settings.put("transport.mode", "tcp");
        settings.put("shard.idle", "block");
        settings.put("tcp.responder_idle", "block");
        settings.put("link.mode", "demand");
        settings.put("link.grace", "0ms");
        settings.put("audit.file", "off");
        settings.put("pool.exported", Long.toString(SMALLEST));
        settings.put("pool.staging", Long.toString(SMALLEST));
        return settings;
    }

    AgentClient client() {
        return client;
    }

    Child child() {
        return process.child();
    }

    /** How it is now, with its pool left out. */
    Figures figures() {
        return ProcFigures.of(child().pid(), anonymousPool);
    }

    /** How it is after its garbage was collected. */
    Figures settled() throws InterruptedException {
        Figures jvm = bench.jvm().isPresent() ? bench.jvm().get().collected(child().pid()) : new Figures(Map.of());
        return figures().with(jvm);
    }

    /** The CPU that it takes while nothing is asked of it. */
    Figures cpu() throws InterruptedException {
        return ProcFigures.cpu(child().pid(), CPU_SECONDS);
    }

    @Override
    public void close() {
        process.child().resume();
        client.close();
        process.close();
    }
}
