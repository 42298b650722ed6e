package io.farpage.it.simulation.world;

import io.farpage.agent.config.AgentKeys;
import io.farpage.agent.config.Providers;
import io.farpage.agent.control.keeper.Keeper;
import io.farpage.agent.control.keeper.KeeperState;
import io.farpage.agent.control.keeper.KeptMemory;
import io.farpage.agent.control.keeper.Standby;
import io.farpage.agent.control.member.Ending;
import io.farpage.agent.node.PageAgent;
import io.farpage.agent.rehearsal.WarmStart;
import io.farpage.certs.PrivateFiles;
import io.farpage.config.Config;
import io.farpage.coordinator.cluster.Time;
import io.farpage.coordinator.config.Settings;
import io.farpage.coordinator.server.Coordinator;
import io.farpage.coordinator.server.CoordinatorRun;
import io.farpage.coordinator.store.StoreException;
import io.farpage.it.simulation.engine.Engine;
import io.farpage.it.simulation.engine.Node;
import io.farpage.it.simulation.engine.SimulatedStore;
import io.farpage.it.simulation.verbs.Fabric;
import io.farpage.it.simulation.verbs.SimulatedProvider;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/** The processes of a cluster: a coordinator and some agents. Each process may be killed and started again. */
final class Cluster {
    /** The addresses of coordinators, the second for one that shares the store of the first. */
    private static final List<String> COORDINATORS = List.of("127.0.0.100", "127.0.0.101");

    private static final int PORT = 7400;

    /** How much larger guests with large pages are. */
    private static final int LARGE_TIMES = 128;

    private final Engine engine = Engine.get();
    private final Path directory;
    private final Variant variant;
    private final Fabric fabric = new Fabric();
    private final Map<String, Host> hosts = new LinkedHashMap<>();
    /** By address. */
    private final Map<String, Node> coordinators = new LinkedHashMap<>();
    /** Whether the coordinator's store is lost, and not rebuilt yet. */
    private boolean hasLostStore;

    private Instant storeLostAt = Instant.EPOCH;

    /** Whether the store is an older copy. */
    private boolean servesOlder;

    private int starts;
    private Consumer<Host> onHandsOver = _ -> {};
    private Consumer<Host> onHandedOver = _ -> {};

    /** A host with an agent, its keeper and its standbys. */
    static final class Host {
        private final String id;
        private final String address;
        private Node process;
        /** The process that was last given what the keeper has. */
        private Optional<Node> holder = Optional.empty();

        private Optional<Node> keeper = Optional.empty();
        private final List<Node> standbys = new ArrayList<>();

        Host(String id, String address, Node process) {
            this.id = id;
            this.address = address;
            this.process = process;
        }

        String id() {
            return id;
        }

        String address() {
            return address;
        }

        Node process() {
            return process;
        }

        boolean runs() {
            return !process.isDead();
        }

        /** Processes that are the agent or are going to be. */
        private int processes() {
            boolean hasAgent = runs() && process.name().equals(id);
            return standbys().size() + (hasAgent ? 1 : 0);
        }

        /** The process that keeps its pool; empty if none does. */
        Optional<Node> keeper() {
            return keeper;
        }

        /** Whether its keeper runs. */
        boolean lives() {
            return keeper.filter(one -> !one.isDead()).isPresent();
        }

        /** The processes that run beside the agent, warm or not. */
        List<Node> standbys() {
            return standbys.stream().filter(one -> !one.isDead()).toList();
        }
    }

    /** @param directory for what the processes keep in files; nothing is in it */
    Cluster(Path directory, Variant variant) {
        this.directory = directory;
        this.variant = variant;
        if (variant.has(Variant.ENCRYPTED)) {
            PrivateFiles.makeDirectory(keys());
            PrivateFiles.create(keys().resolve("default.key"), "5eed".repeat(16) + "\n");
        }
    }

    private Path keys() {
        return directory.resolve("keys");
    }

    /** Where a host keeps the tags of encrypted spaces; they outlive its agent. */
    Path seals(String host) {
        return directory.resolve(host + ".seals");
    }

    Fabric fabric() {
        return fabric;
    }

    List<Host> hosts() {
        return List.copyOf(hosts.values());
    }

    Host host(String id) {
        return hosts.get(id);
    }

    /** The coordinators that run. */
    List<Node> coordinators() {
        return coordinators.values().stream()
                .filter(process -> !process.isDead())
                .toList();
    }

    /** Where coordinators are reached. */
    List<URI> urls() {
        return COORDINATORS.stream()
                .limit(variant.has(Variant.PAIR) ? 2 : 1)
                .map(address -> URI.create("http://%s:%d".formatted(address, PORT)))
                .toList();
    }

    /** The agents and the coordinators that run. */
    List<Node> processes() {
        List<Node> all = new ArrayList<>();
        hosts.values().stream().filter(Host::runs).forEach(host -> all.add(host.process()));
        all.addAll(coordinators());
        return all;
    }

    Path socket(String space) {
        return directory.resolve(space + ".vmm");
    }

    private Path store() {
        return directory.resolve("store");
    }

    SimulatedStore.Copy copyOfStore() {
        return SimulatedStore.copy(store());
    }

    /** Kills the coordinator, and starts one on an older copy of its store. {@link #loseStore} follows. */
    void serveOlder(SimulatedStore.Copy copy) {
        coordinators().forEach(Node::kill);
        SimulatedStore.restore(store(), copy);
        storeLostAt = engine.timeOfDay();
        servesOlder = true;
        startCoordinators();
    }

    /** Whether a coordinator serves an older copy of the store. */
    boolean servesOlder() {
        return servesOlder;
    }

    /** Kills the coordinator, and loses its store. The one that is started next is rebuilt. */
    void loseStore() {
        coordinators().forEach(Node::kill);
        SimulatedStore.lose(store());
        if (!servesOlder) {
            storeLostAt = engine.timeOfDay();
        }
        servesOlder = false;
        hasLostStore = true;
    }

    /** Whether the coordinator is lost with its store, and none is rebuilt yet. */
    boolean hasLostStore() {
        return hasLostStore;
    }

    /** When the newest rows were lost. */
    Instant storeLostAt() {
        return storeLostAt;
    }

    /** Starts those that do not run. */
    void startCoordinators() {
        urls().stream()
                .map(URI::getHost)
                .filter(address -> !coordinators.containsKey(address)
                        || coordinators.get(address).isDead())
                .forEach(this::startCoordinator);
    }

    private void startCoordinator(String address) {
        Node process = engine.newNode("coordinator", address);
        coordinators.put(address, process);
        Map<String, String> settings = new HashMap<>();
        settings.put("server.listen", "%s:%d".formatted(address, PORT));
        if (variant.has(Variant.PAIR)) {
            settings.put("store.kind", "etcd");
        }
        settings.put("store.directory", store().toString());
        settings.put("audit.file", "off");
        settings.put("limits.enabled", "false");
        settings.put("lease.duration", "3s");
        settings.put("lease.heartbeat_interval", "1s");
        settings.put("repair.grace", "2s");
        if (variant.has(Variant.REBALANCE)) {
            settings.put("rebalance.enabled", "true");
            settings.put("rebalance.interval", "500ms");
            settings.put("rebalance.idle_faults", "0");
        }
        settings.keySet()
                .removeIf(key -> Settings.SCHEMA.keys().stream()
                        .noneMatch(known -> known.name().equals(key)));
        Config config = Settings.SCHEMA.load(Optional.empty(), Map.of(), settings);
        process.start("main", () -> {
            try {
                Files.createDirectories(store());
                if (hasLostStore) {
                    CoordinatorRun.rebuild(config, Set.copyOf(hosts.keySet()));
                    hasLostStore = false;
                }
                if (variant.has(Variant.PAIR)) {
                    CoordinatorRun.share(config);
                }
                start(config);
            } catch (IOException | InterruptedException | RuntimeException e) {
                engine.fail("the coordinator does not start: " + e);
                e.printStackTrace();
            }
        });
    }

    /** Again and again while the store fails, as a supervisor does. */
    private void start(Config config) {
        while (true) {
            try {
                var _ = Coordinator.start(config, Time.system());
                return;
            } catch (StoreException e) {
                engine.trail().note(engine.elapsed(), "the coordinator does not start: " + e.getMessage());
                engine.pause(1_000_000_000L);
            }
        }
    }

    private Path keeper(Host host) {
        return directory.resolve(host.id + ".keeper");
    }

    /** What the keeper of a host says of itself. */
    KeeperState look(Host host) throws IOException {
        return Standby.look(keeper(host));
    }

    private void startKeeper(Host host) {
        if (host.lives()) {
            return;
        }
        Node process = engine.newNode("keeper of " + host.id, host.address);
        host.keeper = Optional.of(process);
        boolean[] listens = new boolean[1];
        process.start("main", () -> {
            try {
                Keeper keeper = Keeper.listen(keeper(host));
                listens[0] = true;
                keeper.run();
            } catch (IOException e) {
                engine.fail("the keeper of " + host.id + " does not start: " + e);
            }
        });
        while (!listens[0]) {
            engine.pause(1_000_000);
        }
    }

    /** All processes of a host beside its agent end with the host. */
    void endHost(Host host) {
        host.standbys().forEach(Node::kill);
        host.keeper.ifPresent(Node::kill);
    }

    Host add(String id) {
        Host host = new Host(id, "127.0.0." + (hosts.size() + 1), engine.running());
        hosts.put(id, host);
        return host;
    }

    /** Starts what does not run on a host: its keeper, its agent, and a standby. */
    void start(Host host) {
        if (variant.has(Variant.KEEPER)) {
            startKeeper(host);
        }
        while (host.processes() < (variant.has(Variant.STANDBY) ? 2 : 1)) {
            var _ = startProcess(host);
        }
    }

    /** Starts a process that is the agent, or a standby of the process that is. */
    Node startProcess(Host host) {
        Node process = engine.newNode(host.id, host.address);
        if (host.processes() > 0) {
            host.standbys.add(process);
        } else {
            host.process = process;
        }
        Config config = config(host);
        process.start("main", () -> run(host, process, config));
        return process;
    }

    private Config config(Host host) {
        starts++;
        Map<String, String> settings = new HashMap<>();
        settings.put("node.id", host.id);
        settings.put("coordinator.url", urls().stream().map(URI::toString).collect(Collectors.joining(",")));
        settings.put("api.socket", directory.resolve(host.id + starts + ".sock").toString());
        settings.put("audit.file", "off");
        boolean isLarge = variant.has(Variant.LARGE);
        settings.put("pool.exported", isLarge ? "1536MiB" : "8MiB");
        settings.put("pool.staging", isLarge ? "64MiB" : variant.has(Variant.COHERENT) ? "8MiB" : "2MiB");
        settings.put("guest.victim_cache", "1MiB");
        settings.put("pool.hugepages", "off");
        settings.put("pool.lock", "prefer");
        settings.put("tcp.address", host.address);
        settings.put("transport.mode", "tcp");
        settings.put("shard.idle", "block");
        settings.put("shard.realtime_priority", "0");
        settings.put("link.max", "8");
        settings.put(
                "mirror.repair_rate",
                Long.toString(isLarge ? LARGE_TIMES * variant.repairRate() : variant.repairRate()));
        settings.put("guest.park_after", parksIdleGuests(host) ? "3s" : "0ns");
        if (variant.has(Variant.REBALANCE)) {
            // With four nodes too few domains would be left for three homes beside the guest's own node.
            settings.put("node.domain", host.id.equals("b") && variant.nodes() > 4 ? "a" : host.id);
        }
        if (variant.has(Variant.ENCRYPTED)) {
            settings.put("seal.keys", keys().toString());
            settings.put("seal.directory", seals(host.id).toString());
        }
        if (variant.has(Variant.KEEPER)) {
            settings.put("keeper.mode", "process");
            settings.put("keeper.socket", keeper(host).toString());
            settings.put("keeper.standby", Boolean.toString(variant.has(Variant.STANDBY)));
        }
        return AgentKeys.SCHEMA.load(Optional.empty(), Map.of(), settings);
    }

    /** Whether the agent of a host parks guests that are idle: that of every second one does. */
    boolean parksIdleGuests(Host host) {
        return variant.has(Variant.PARK) && host.id.charAt(0) % 2 == 1;
    }

    /** What {@code page-agent run} does. */
    private void run(Host host, Node process, Config config) {
        Providers providers = new Providers(new SimulatedProvider(fabric), new SimulatedProvider(fabric));
        try {
            Optional<KeptMemory> claimed = WarmStart.await(config, providers, () -> {});
            claimed.ifPresent(_ -> hold(host, process));
            // Its threads keep it.
            PageAgent _ = PageAgent.open(
                    new PageAgent.Start(config, providers, ending -> mustEnd(host, process, ending), claimed));
        } catch (Exception e) {
            e.printStackTrace();
            engine.fail("agent " + host.id + " does not start: " + e);
        }
    }

    /** The keeper has made a process the agent: no other may be that. */
    private void hold(Host host, Node process) {
        host.holder
                .filter(one -> !one.isDead())
                .ifPresent(other -> engine.fail("%s has two agents".formatted(host.id)));
        host.holder = Optional.of(process);
        if (host.process != process) {
            host.standbys.remove(process);
            if (host.runs()) {
                host.standbys.add(host.process);
            }
            host.process = process;
            engine.trail().note(engine.elapsed(), "the standby of %s is the agent".formatted(host.id));
        }
    }

    private void mustEnd(Host host, Node process, Ending ending) {
        engine.trail().note(engine.elapsed(), host.id + " must end: " + ending);
        if (ending instanceof Ending.HandedOver) {
            onHandsOver.accept(host);
            process.kill();
            onHandedOver.accept(host);
        }
    }

    /** Calls a task when an agent is about to end, because it hands over. */
    void onHandsOver(Consumer<Host> task) {
        onHandsOver = task;
    }

    /** Calls a task when an agent has handed over, which may be later than the answer to the request. */
    void onHandedOver(Consumer<Host> task) {
        onHandedOver = task;
    }
}
