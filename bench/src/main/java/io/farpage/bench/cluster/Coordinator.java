package io.farpage.bench.cluster;

import io.farpage.bench.process.Child;
import io.farpage.bench.process.Children;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.guest.command.CommandException;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** The coordinator of the benchmark's cluster, a process of its own. */
public record Coordinator(Child child, String url) implements AutoCloseable {
    private static final Duration ACTIVE = Duration.ofSeconds(60);
    private static final Duration CALL = Duration.ofSeconds(10);
    private static final long LOOK_MILLIS = 20;

    public static Coordinator start(Children children) throws InterruptedException {
        return start(children, "coordinator");
    }

    /** As {@link #start(Children)}; {@code name} is for messages, its log and its files. */
    public static Coordinator start(Children children, String name) throws InterruptedException {
        Path portFile = children.scratch().resolve(name + ".port");
        // A benchmark writes only a part of some spaces, which are larger than the pools.
        // Nodes are stopped during the rounds of the baseline, however long those are: their leases must not end
        // meanwhile.
        Child child = children.start(
                name,
                "coordinator",
                List.of(
                        "run",
                        "--port-file",
                        portFile.toString(),
                        "--set",
                        "server.listen=127.0.0.1:0",
                        "--set",
                        "store.directory=" + children.scratch().resolve(name),
                        "--set",
                        "pool.overcommit=10000",
                        "--set",
                        "lease.duration=1h"),
                false);
        return new Coordinator(child, "http://127.0.0.1:" + child.awaitFile(portFile));
    }

    /** Waits until nodes are active. A node may serve its REST API before it is registered and can be a home. */
    public void awaitActive(List<String> nodes) throws InterruptedException {
        long end = System.nanoTime() + ACTIVE.toNanos();
        try (CoordinatorClient client = new CoordinatorClient(URI.create(url), CALL)) {
            for (String node : nodes) {
                while (client.node(node)
                        .filter(known -> known.status() == NodeStatus.ACTIVE)
                        .isEmpty()) {
                    if (System.nanoTime() - end > 0) {
                        throw new CommandException("node '%s' is not active after %d s: %s"
                                .formatted(node, ACTIVE.toSeconds(), child.lastWords()));
                    }
                    Thread.sleep(LOOK_MILLIS);
                }
            }
        } catch (CoordinatorException e) {
            throw new CommandException(String.valueOf(e.getMessage()));
        }
    }

    @Override
    public void close() {
        child.close();
    }
}
