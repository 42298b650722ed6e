package io.farpage.it.harness;

import static io.farpage.it.deadlines.Deadlines.await;

import io.farpage.coordinator.client.Allegiance;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.it.deadlines.Deadlines;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * A coordinator and its agents, by node id. What is started here runs in this JVM, where a start takes a tenth of a
 * second; what a test kills or stops, or whose descriptors, memory or output it looks at, is a process. One thread.
 */
public final class Cluster implements AutoCloseable {
    private static final Map<String, String> SHORT_LEASES =
            Map.of("lease.duration", "4s", "lease.heartbeat_interval", "300ms");

    private final Path directory;
    private final Coordinator coordinator;
    private final CoordinatorClient client;
    private final Map<String, Agent> agents = new LinkedHashMap<>();
    private final List<Agent> all = new ArrayList<>();
    private final List<CoordinatorProcess> others = new ArrayList<>();

    private Cluster(Path directory, Coordinator coordinator) {
        this.directory = directory;
        this.coordinator = coordinator;
        this.client = new CoordinatorClient(
                coordinator.rest().base(), Duration.ofSeconds(10), new Allegiance(), coordinator.credentials());
    }

    /** Starts a coordinator with short leases, in this JVM. */
    public static Cluster start() {
        return start(SHORT_LEASES);
    }

    /** Starts a coordinator with other settings, in this JVM. */
    public static Cluster start(Map<String, String> coordinatorSettings) {
        return start(directory -> new LocalCoordinator(directory, coordinatorSettings));
    }

    /** Starts a coordinator with short leases that is a process. */
    public static Cluster startProcess() {
        return startProcess(SHORT_LEASES);
    }

    /** Starts a coordinator with other settings that is a process. */
    public static Cluster startProcess(Map<String, String> coordinatorSettings) {
        return start(directory -> CoordinatorProcess.start(directory, coordinatorSettings));
    }

    private static Cluster start(Function<Path, Coordinator> coordinator) {
        Path directory;
        try {
            directory = Files.createTempDirectory("farpage-it");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        try {
            return new Cluster(directory, coordinator.apply(directory));
        } catch (RuntimeException | Error e) {
            Directories.delete(directory);
            throw e;
        }
    }

    /** Starts a coordinator and agents that have certificates, in this JVM, and waits for all links. */
    public static Cluster secured(Certificates certificates, Map<String, String> coordinatorSettings, String... nodes) {
        return whole(start(secured(certificates, coordinatorSettings)), cluster -> {
            for (String node : nodes) {
                cluster.openAgent(node, certificates.node(node));
            }
        });
    }

    /** As {@link #secured(Certificates, Map, String...)}, as processes. */
    public static Cluster securedProcesses(
            Certificates certificates, Map<String, String> coordinatorSettings, String... nodes) {
        return whole(startProcess(secured(certificates, coordinatorSettings)), cluster -> {
            for (String node : nodes) {
                cluster.launchAgent(node, certificates.node(node));
            }
        });
    }

    private static Map<String, String> secured(Certificates certificates, Map<String, String> more) {
        Map<String, String> settings = new LinkedHashMap<>(SHORT_LEASES);
        settings.putAll(certificates.settings("coordinator"));
        settings.putAll(more);
        return settings;
    }

    /** Starts agents and waits for all links; closes the cluster if that fails. */
    private static Cluster whole(Cluster cluster, Consumer<Cluster> agents) {
        try {
            agents.accept(cluster);
            cluster.awaitAllLinks();
            return cluster;
        } catch (RuntimeException | Error e) {
            System.err.println(cluster.describe());
            cluster.close();
            throw e;
        }
    }

    /** Starts a coordinator and agents in this JVM, and waits for all links. */
    public static Cluster of(String... nodes) {
        return of(Map.of(), nodes);
    }

    /** As {@link #of(String...)}, with settings for every agent. */
    public static Cluster of(Map<String, String> settings, String... nodes) {
        return whole(start(), cluster -> {
            for (String node : nodes) {
                cluster.openAgent(node, settings);
            }
        });
    }

    /** Starts a coordinator in this JVM and agents that are processes, and waits for all links. */
    public static Cluster ofProcesses(Map<String, String> settings, String... nodes) {
        return whole(start(), cluster -> {
            for (String node : nodes) {
                cluster.launchAgent(node, settings);
            }
        });
    }

    /** Opens an agent in this JVM. It replaces an earlier agent of the same node in {@link #agents}. */
    public Agent openAgent(String node, Map<String, String> settings) {
        Path socket = directory.resolve("agent-" + all.size() + ".sock");
        return add(new LocalAgent(node, coordinator.rest().base(), socket, settings));
    }

    private <A extends Agent> A add(A agent) {
        agents.put(agent.node(), agent);
        all.add(agent);
        return agent;
    }

    /**
     * Launches an agent that is a process and does not wait. It replaces an earlier agent of the same node in
     * {@link #agents}.
     */
    public AgentProcess launchAgent(String node, Map<String, String> settings) {
        Path portFile = directory.resolve("agent-" + all.size() + ".port");
        return add(AgentProcess.launch(node, coordinator.rest().base(), portFile, settings));
    }

    /** As {@link #launchAgent}, and waits until the agent listens. */
    public AgentProcess startAgent(String node, Map<String, String> settings) {
        return launchAgent(node, settings).awaitListening();
    }

    public Agent agent(String node) {
        Agent agent = agents.get(node);
        if (agent == null) {
            throw new IllegalArgumentException("no agent " + node);
        }
        return agent;
    }

    /** An agent that is a process. */
    public AgentProcess process(String node) {
        if (agent(node) instanceof AgentProcess process) {
            return process;
        }
        throw new IllegalArgumentException("the agent of " + node + " runs in this JVM");
    }

    public Collection<Agent> agents() {
        return agents.values();
    }

    /** The agents that are processes. */
    public List<AgentProcess> processes() {
        return agents.values().stream()
                .filter(AgentProcess.class::isInstance)
                .map(AgentProcess.class::cast)
                .toList();
    }

    public Coordinator coordinator() {
        return coordinator;
    }

    /** The coordinator, if it is a process. */
    public CoordinatorProcess coordinatorProcess() {
        if (coordinator instanceof CoordinatorProcess process) {
            return process;
        }
        throw new IllegalStateException("the coordinator runs in this JVM");
    }

    public CoordinatorClient client() {
        return client;
    }

    /** Starts one more coordinator, on the store in a directory's {@code store}, at a port of its own. */
    public CoordinatorProcess startAnotherCoordinator(Path parentOfStore) {
        CoordinatorProcess other = CoordinatorProcess.start(parentOfStore, SHORT_LEASES);
        others.add(other);
        return other;
    }

    /** A directory that goes with the cluster. */
    public Path directory() {
        return directory;
    }

    /** Waits until every agent's link to every other is up. */
    public void awaitAllLinks() {
        await("all links up", Deadlines.LONG)
                .pollInterval(Duration.ofMillis(50))
                .untilAsserted(() -> {
                    for (Agent from : agents.values()) {
                        for (Agent to : agents.values()) {
                            if (!from.node().equals(to.node()) && !from.isLinkedTo(to.node())) {
                                throw new AssertionError(from.node() + " is not linked to " + to.node() + ": "
                                        + from.rest().get("/api/v1/links").text());
                            }
                        }
                    }
                });
    }

    /** Waits until the coordinator has a node as active, and in another incarnation than {@code before}. */
    public void awaitActive(String node, String before) {
        await(node + " active", Deadlines.LONG)
                .ignoreExceptions()
                .until(() -> client().node(node)
                        .filter(n -> n.status() == NodeStatus.ACTIVE)
                        .filter(n -> !n.incarnation().toString().equals(before))
                        .isPresent());
    }

    /** The incarnation of a node that is registered now. */
    public String incarnation(String node) throws CoordinatorException {
        return client().node(node).orElseThrow().incarnation().toString();
    }

    /** Makes a space with given homes. */
    public void makeSpace(String name, long pages, int pageSize, String... homes) throws CoordinatorException {
        client().createSpace(new SpaceRequest(
                name,
                pages * pageSize,
                OptionalInt.of(pageSize),
                homes.length == 0 ? Optional.empty() : Optional.of(List.of(homes))));
    }

    /** The output of all processes. Nodes in this JVM write to the output of the test. */
    public String describe() {
        List<ChildJvm> children = new ArrayList<>();
        if (coordinator instanceof CoordinatorProcess process) {
            children.addAll(process.lives());
        }
        others.forEach(other -> children.addAll(other.lives()));
        for (Agent agent : all) {
            if (agent instanceof AgentProcess process) {
                children.add(process.process());
            }
        }
        return children.stream().map(ChildJvm::describe).collect(Collectors.joining("\n"));
    }

    @Override
    public void close() {
        client.close();
        all.forEach(Agent::close);
        coordinator.close();
        others.forEach(CoordinatorProcess::close);
        Directories.delete(directory);
    }
}
