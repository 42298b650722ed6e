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
import java.util.stream.Collectors;

/** A coordinator and its agents, by node id. */
public final class Cluster implements AutoCloseable {
    private static final Map<String, String> SHORT_LEASES =
            Map.of("lease.duration", "4s", "lease.heartbeat_interval", "300ms");

    private final Path directory;
    private final CoordinatorProcess coordinator;
    private final Map<String, AgentProcess> agents = new LinkedHashMap<>();
    private final List<AgentProcess> all = new ArrayList<>();
    private final List<CoordinatorProcess> others = new ArrayList<>();
    private Optional<CoordinatorClient> client = Optional.empty();

    private Cluster(Map<String, String> coordinatorSettings) {
        try {
            directory = Files.createTempDirectory("farpage-it");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        coordinator = new CoordinatorProcess(directory, coordinatorSettings);
    }

    /** Starts a coordinator with short leases. */
    public static Cluster start() {
        return start(SHORT_LEASES);
    }

    /** Starts a coordinator with other settings. */
    public static Cluster start(Map<String, String> coordinatorSettings) {
        Cluster cluster = new Cluster(coordinatorSettings);
        try {
            cluster.coordinator.launch();
            cluster.client = Optional.of(new CoordinatorClient(
                    cluster.coordinator.rest().base(),
                    Duration.ofSeconds(10),
                    new Allegiance(),
                    cluster.coordinator.credentials()));
            return cluster;
        } catch (RuntimeException | Error e) {
            cluster.close();
            throw e;
        }
    }

    /** Starts a coordinator and agents that have certificates, and waits for all links. */
    public static Cluster secured(Certificates certificates, Map<String, String> coordinatorSettings, String... nodes) {
        Map<String, String> settings = new LinkedHashMap<>(SHORT_LEASES);
        settings.putAll(certificates.settings("coordinator"));
        settings.putAll(coordinatorSettings);
        Cluster cluster = start(settings);
        try {
            List<AgentProcess> launched = new ArrayList<>();
            for (String node : nodes) {
                launched.add(cluster.launchAgent(node, certificates.node(node)));
            }
            launched.forEach(AgentProcess::awaitListening);
            cluster.awaitAllLinks();
            return cluster;
        } catch (RuntimeException | Error e) {
            System.err.println(cluster.describe());
            cluster.close();
            throw e;
        }
    }

    /** Starts a coordinator and agents, and waits for all links. */
    public static Cluster of(String... nodes) {
        return of(Map.of(), nodes);
    }

    /** As {@link #of(String...)}, with settings for every agent. */
    public static Cluster of(Map<String, String> settings, String... nodes) {
        Cluster cluster = start();
        try {
            List<AgentProcess> launched = new ArrayList<>();
            for (String node : nodes) {
                launched.add(cluster.launchAgent(node, settings));
            }
            launched.forEach(AgentProcess::awaitListening);
            cluster.awaitAllLinks();
            return cluster;
        } catch (RuntimeException | Error e) {
            System.err.println(cluster.describe());
            cluster.close();
            throw e;
        }
    }

    /** Launches an agent, in the place of one with that node id, and does not wait. */
    public AgentProcess launchAgent(String node, Map<String, String> settings) {
        Path portFile = directory.resolve("agent-" + all.size() + ".port");
        AgentProcess agent = AgentProcess.launch(node, coordinator.rest().base(), portFile, settings);
        agents.put(node, agent);
        all.add(agent);
        return agent;
    }

    /** Starts an agent, in the place of one with that node id, and waits until it listens. */
    public AgentProcess startAgent(String node, Map<String, String> settings) {
        return launchAgent(node, settings).awaitListening();
    }

    public AgentProcess agent(String node) {
        AgentProcess agent = agents.get(node);
        if (agent == null) {
            throw new IllegalArgumentException("no agent " + node);
        }
        return agent;
    }

    public Collection<AgentProcess> agents() {
        return agents.values();
    }

    public CoordinatorProcess coordinator() {
        return coordinator;
    }

    public CoordinatorClient client() {
        return client.orElseThrow();
    }

    /** Starts one more coordinator, on the store in a directory's {@code store}, at a port of its own. */
    public CoordinatorProcess startAnotherCoordinator(Path parentOfStore) {
        CoordinatorProcess other = new CoordinatorProcess(parentOfStore, SHORT_LEASES);
        others.add(other);
        other.launch();
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
                    for (AgentProcess from : agents.values()) {
                        for (AgentProcess to : agents.values()) {
                            if (from != to && !from.isLinkedTo(to.node())) {
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

    /** The output of all processes, for whoever looks at a failure. */
    public String describe() {
        List<ChildJvm> children = new ArrayList<>(coordinator.lives());
        others.forEach(other -> children.addAll(other.lives()));
        all.forEach(agent -> children.add(agent.process()));
        return children.stream().map(ChildJvm::describe).collect(Collectors.joining("\n"));
    }

    @Override
    public void close() {
        client.ifPresent(CoordinatorClient::close);
        all.forEach(AgentProcess::close);
        coordinator.close();
        others.forEach(CoordinatorProcess::close);
        Directories.delete(directory);
    }
}
