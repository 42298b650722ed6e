package io.farpage.bench.guest;

import io.farpage.bench.cluster.AgentClient;
import io.farpage.bench.cluster.AgentFlags;
import io.farpage.bench.cluster.AgentPair;
import io.farpage.bench.cluster.AgentProcess;
import io.farpage.bench.cluster.Coordinator;
import io.farpage.bench.cluster.Idle;
import io.farpage.bench.process.Children;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

/** An agent that pages guests of this process, and one that stores their pages. Used by one thread. */
public final class GuestAgents implements AutoCloseable {
    private static final long STAGING = 16L << 20;

    private final AgentPair agents;
    private final AgentClient client;
    private final Path scratch;
    private final Setting setting;

    /**
     * How guests are served.
     *
     * @param idle how both agents wait
     * @param bytes of the memory of each guest
     * @param thin whether their spaces get room when pages are written first
     * @param local bytes of it that may be resident, and no page is prefetched; empty for no limit
     * @param more how both agents are configured in addition
     */
    public record Setting(
            Idle idle,
            int homeCpu,
            int nodeCpu,
            long bytes,
            boolean thin,
            OptionalLong local,
            Map<String, String> more) {
        /** Without a limit. */
        public Setting(Idle idle, int homeCpu, int nodeCpu, long bytes, boolean thin) {
            this(idle, homeCpu, nodeCpu, bytes, thin, OptionalLong.empty(), Map.of());
        }
    }

    private GuestAgents(AgentPair agents, AgentClient client, Path scratch, Setting setting) {
        this.agents = agents;
        this.client = client;
        this.scratch = scratch;
        this.setting = setting;
    }

    /**
     * Starts both and waits until they have a link.
     *
     * @param guests that the pool of the home has room for
     */
    public static GuestAgents start(Children children, Coordinator coordinator, Setting setting, int guests)
            throws InterruptedException {
        AgentFlags flags =
                new AgentFlags(coordinator.url(), "tcp", setting.idle(), guests * setting.bytes(), setting.more());
        AgentProcess home = AgentProcess.start(children, "home", flags.home(setting.homeCpu()));
        AgentProcess node = AgentProcess.start(children, "node", flags.node(setting.nodeCpu(), STAGING));
        AgentClient client = new AgentClient(node.awaitPort());
        home.awaitPort();
        coordinator.awaitActive(List.of(AgentFlags.HOME));
        return new GuestAgents(new AgentPair(home, node.child()), client, children.scratch(), setting);
    }

    /** A guest of a new space. */
    public BenchGuest begin(String space) throws InterruptedException {
        return BenchGuest.begin(this, space, setting);
    }

    AgentClient client() {
        return client;
    }

    Path scratch() {
        return scratch;
    }

    String lastWords() {
        return agents.node().lastWords();
    }

    /** Takes both agents off the CPU meanwhile. */
    public <T> T whilePaused(AgentPair.Paused<T> work) throws InterruptedException {
        return agents.whilePaused(work);
    }

    @Override
    public void close() {
        agents.resume();
        client.close();
        agents.node().close();
        agents.home().close();
    }
}
