package io.farpage.it.harness;

import static io.farpage.it.deadlines.Deadlines.await;

import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.it.deadlines.Deadlines;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A cluster whose parts fail and recover on command: node a has the guest, the others are homes. Each agent reaches the
 * coordinator through a forwarder, and each home has a data address of its own, so that either can be cut off. One
 * thread.
 */
public final class FailingCluster implements AutoCloseable {
    /** The node with the guest. */
    public static final String AGENT = "a";

    /** How long it may take until the cluster is whole after the last failure has ended. */
    private static final Duration TIMEOUT = Deadlines.LONG.multipliedBy(3);

    private final Cluster cluster = Cluster.startProcess();
    private final List<String> homes;
    private final Map<String, Map<String, String>> settings = new LinkedHashMap<>();
    private final Map<String, Forwarder> forwarders = new HashMap<>();
    private final Map<String, String> addresses = new HashMap<>();
    private final List<KeeperProcess> keepers = new ArrayList<>();
    private final Set<String> cutAddresses = new HashSet<>();

    /**
     * Starts it.
     *
     * @param homes names of the homes
     * @param exported memory of each home's pool
     * @param kept names of the nodes that have a keeper
     * @param sockets where the keepers listen
     */
    public FailingCluster(List<String> homes, String exported, Set<String> kept, Path sockets) {
        this.homes = List.copyOf(homes);
        try {
            // Below what the guest has: its own node is not a home.
            prepare(AGENT, "2MiB", kept, sockets);
            homes.forEach(home -> prepare(home, exported, kept, sockets));
            settings.forEach(cluster::launchAgent);
            cluster.awaitAllLinks();
        } catch (RuntimeException | Error e) {
            System.err.println(cluster.describe());
            close();
            throw e;
        }
    }

    private void prepare(String node, String exported, Set<String> kept, Path sockets) {
        Forwarder forwarder = new Forwarder(cluster.coordinator().rest().base().getPort());
        forwarders.put(node, forwarder);
        // Tests that run at the same time have other addresses.
        long pid = ProcessHandle.current().pid();
        addresses.put(node, "127.%d.%d.%d".formatted(64 + pid / 256 % 128, pid % 256, 1 + settings.size()));
        Map<String, String> all = new HashMap<>(Map.of(
                "pool.exported",
                exported,
                "coordinator.url",
                forwarder.url().toString(),
                "tcp.address",
                address(node)));
        if (kept.contains(node)) {
            KeeperProcess keeper = KeeperProcess.start(node, sockets.resolve(node + ".keeper"));
            keepers.add(keeper);
            all.putAll(keeper.settings());
        }
        settings.put(node, all);
    }

    private String address(String node) {
        return required(addresses, node);
    }

    private Forwarder forwarder(String node) {
        return required(forwarders, node);
    }

    private static <V> V required(Map<String, V> map, String node) {
        V value = map.get(node);
        if (value == null) {
            throw new IllegalArgumentException("no node " + node);
        }
        return value;
    }

    public Cluster cluster() {
        return cluster;
    }

    /** Names of the homes. */
    public List<String> homes() {
        return homes;
    }

    /** What can fail on this machine. */
    public Set<Failure> possible() {
        Set<Failure> all = EnumSet.allOf(Failure.class);
        if (Net.cannotCut().isPresent()) {
            all.removeAll(Set.of(Failure.CUT_LINKS, Failure.ISOLATE_HOME));
        }
        if (Net.cannotBreak().isPresent()) {
            all.remove(Failure.BREAK_LINKS);
        }
        if (!required(settings, AGENT).containsKey("keeper.socket")) {
            all.remove(Failure.KILL_AGENT);
        }
        return all;
    }

    /** Makes something fail. */
    public void begin(Failure failure, String node) throws CoordinatorException {
        switch (failure) {
            case KILL_HOME, KILL_AGENT -> cluster.process(node).process().kill();
            case STOP_HOME -> cluster.process(node).process().stop();
            case CUT_LINKS -> cut(node);
            case BREAK_LINKS -> Net.breakConnectionsTo(address(node));
            case CUT_HOME_FROM_COORDINATOR, CUT_AGENT_FROM_COORDINATOR ->
                forwarder(node).cut();
            case ISOLATE_HOME -> {
                forwarder(node).cut();
                cut(node);
            }
            case KILL_COORDINATOR -> cluster.coordinatorProcess().process().kill();
            case DRAIN_HOME -> cluster.client().drain(node);
        }
    }

    /** Makes it recover. */
    public void end(Failure failure, String node) throws CoordinatorException {
        switch (failure) {
            case KILL_HOME, KILL_AGENT -> cluster.launchAgent(node, required(settings, node));
            case STOP_HOME -> cluster.process(node).process().resume();
            case CUT_LINKS -> heal(node);
            case BREAK_LINKS -> {}
            case CUT_HOME_FROM_COORDINATOR, CUT_AGENT_FROM_COORDINATOR ->
                forwarder(node).heal();
            case ISOLATE_HOME -> {
                forwarder(node).heal();
                heal(node);
            }
            case KILL_COORDINATOR -> cluster.coordinatorProcess().restart();
            case DRAIN_HOME -> cluster.client().cancelDrain(node);
        }
    }

    private void cut(String node) {
        Net.cut(address(node));
        cutAddresses.add(node);
    }

    private void heal(String node) {
        Net.heal(address(node));
        cutAddresses.remove(node);
    }

    /** Waits until all agents listen, are active and linked, and no home has frames to release. */
    public void awaitWhole() {
        await("all nodes active", TIMEOUT)
                .ignoreExceptions()
                .until(() -> cluster.client().nodes().stream().allMatch(node -> node.status() == NodeStatus.ACTIVE));
        cluster.awaitAllLinks();
        await("free memory of the homes", TIMEOUT).until(() -> {
            for (String home : homes) {
                if (!cluster.client().hosted(home).zeroable().isEmpty()) {
                    return false;
                }
            }
            return true;
        });
    }

    /** Waits until a space has its copies, and nothing of it moves. Extents that are lost stay as they are. */
    public void awaitRepaired(String space, int replicas) {
        await("the repair of " + space, TIMEOUT)
                .ignoreExceptions()
                .pollInterval(Duration.ofMillis(20))
                .until(() -> cluster.client().extents(space).orElseThrow().extents().stream()
                        .allMatch(extent -> extent.state() == ExtentState.LOST
                                || (extent.homes().size() == replicas
                                        && extent.joining().isEmpty()
                                        && extent.droppedHomes().isEmpty())));
    }

    @Override
    public void close() {
        List.copyOf(cutAddresses).forEach(this::heal);
        cluster.close();
        keepers.forEach(KeeperProcess::close);
        forwarders.values().forEach(Forwarder::close);
    }
}
