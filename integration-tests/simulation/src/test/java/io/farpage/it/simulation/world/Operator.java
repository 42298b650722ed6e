package io.farpage.it.simulation.world;

import io.farpage.coordinator.client.Allegiance;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.CloneRequest;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.it.simulation.engine.Node;
import io.farpage.tls.Credentials;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What an operator asks the coordinator and the agents, and does to their processes. */
final class Operator {
    private static final Pattern STATE = Pattern.compile("\"state\":\"(\\w+)\"");

    private final Cluster cluster;
    private final CoordinatorClient client;
    private final HttpClient http = HttpClient.newBuilder().build();
    private final Map<String, Incarnation> killed = new HashMap<>();

    Operator(Cluster cluster) {
        this.cluster = cluster;
        client = new CoordinatorClient(cluster.urls(), Duration.ofSeconds(5), new Allegiance(), Credentials.NONE);
    }

    CoordinatorClient client() {
        return client;
    }

    /**
     * Kills an agent, whose pool is gone. False if the coordinator does not say which incarnation that is, or is being
     * rebuilt, which takes every agent, or if the agent is dead.
     */
    boolean kill(Cluster.Host host) {
        if (cluster.hasLostStore() || !killAgent(host)) {
            return false;
        }
        cluster.endHost(host);
        return true;
    }

    /** As {@link #kill}, while its host goes on, whose keeper may have the pool and the guests. */
    boolean killAgent(Cluster.Host host) {
        Node process = host.process();
        if (cluster.hasLostStore() && host.runs()) {
            // No coordinator tells its incarnation, and the one that is rebuilt knows that of its successor.
            process.kill();
            return true;
        }
        Optional<Incarnation> known = incarnation(host);
        return host.process() == process
                && known.filter(now -> killAgent(host, now)).isPresent();
    }

    /** The incarnation of the agent of a host, if the coordinator tells. */
    Optional<Incarnation> incarnation(Cluster.Host host) {
        try {
            return Optional.of(client.node(host.id()).orElseThrow().incarnation());
        } catch (CoordinatorException e) {
            return Optional.empty();
        }
    }

    /** As {@link #killAgent(Cluster.Host)}, of an agent whose incarnation is known; at once. */
    boolean killAgent(Cluster.Host host, Incarnation incarnation) {
        if (cluster.hasLostStore() || !host.runs()) {
            return false;
        }
        killed.put(host.id(), incarnation);
        host.process().kill();
        return true;
    }

    /** Notes that the agent with an incarnation has ended. */
    void ended(Cluster.Host host, Incarnation incarnation) {
        killed.put(host.id(), incarnation);
    }

    /** Requests a handover from a host's agent; the answer, or why there is none. */
    String handOver(Cluster.Host host) {
        return answer(HttpRequest.newBuilder(URI.create("http://" + host.address() + ":1/api/v1/handover"))
                .POST(HttpRequest.BodyPublishers.noBody()));
    }

    /**
     * Whether every extent of every space has as many homes as it should, none of them changes, and the coordinator
     * knows of every agent that was killed.
     */
    boolean isWhole() {
        try {
            for (io.farpage.coordinator.model.Node node : client.nodes()) {
                if (node.incarnation().equals(killed.get(node.id()))) {
                    return false;
                }
            }
            for (Space space : client.spaces()) {
                SpaceExtents extents = client.extents(Long.toString(space.id())).orElseThrow();
                if (space.deleting()) {
                    continue;
                }
                if (extents.isMoving() || extents.extents().stream().anyMatch(extents::isDegraded)) {
                    return false;
                }
            }
            return true;
        } catch (CoordinatorException | NoSuchElementException e) {
            return false;
        }
    }

    /** Whether the agent of a host runs, and the coordinator knows it and no earlier one. */
    boolean isRegistered(Cluster.Host host) {
        try {
            return host.runs()
                    && client.node(host.id())
                            .filter(node -> node.status() == NodeStatus.ACTIVE)
                            .filter(node -> !node.incarnation().equals(killed.get(host.id())))
                            .isPresent();
        } catch (CoordinatorException e) {
            return false;
        }
    }

    /** Whether the lease of the agent of a host has run out. */
    boolean hasFailed(Cluster.Host host) {
        try {
            return client.node(host.id())
                    .filter(node -> node.status() == NodeStatus.FAILED)
                    .isPresent();
        } catch (CoordinatorException e) {
            return false;
        }
    }

    /** Whether there is a coherent space with a name now. */
    boolean makeCoherent(String space, long bytes, List<String> homes, int replicas) {
        try {
            return client.space(space).isPresent()
                    || client.createSpace(new SpaceRequest(space, bytes, OptionalInt.empty(), Optional.of(homes))
                                    .withReplicas(replicas)
                                    .asCoherent())
                            .isCoherent();
        } catch (CoordinatorException e) {
            return false;
        }
    }

    /** Whether the coordinator says that a node is not attached to a space. */
    boolean isDetached(String space, String node) {
        try {
            return client.attachments(space).stream()
                    .noneMatch(each -> each.node().equals(node));
        } catch (CoordinatorException e) {
            return false;
        }
    }

    /** Removes the node of a host that has died, as the operator does who knows that. */
    boolean giveUp(Cluster.Host host) {
        try {
            client.deregister(host.id(), killed.get(host.id()), true);
            return true;
        } catch (CoordinatorException e) {
            return e.getMessage().contains("404");
        }
    }

    /** How many there are; -1 if the coordinator does not say. */
    int spaces() {
        try {
            return client.spaces().size();
        } catch (CoordinatorException e) {
            return -1;
        }
    }

    /** Whether a space is a snapshot now. */
    boolean makeSnapshot(String space) {
        try {
            return client.makeSnapshot(space).snapshot().isPresent();
        } catch (CoordinatorException e) {
            return false;
        }
    }

    /** Whether there is a clone of a snapshot with a name now. */
    boolean makeClone(String snapshot, String name) {
        try {
            return client.space(name).isPresent()
                    || client.makeClone(snapshot, new CloneRequest(name)).base().isPresent();
        } catch (CoordinatorException e) {
            return false;
        }
    }

    /** The id of a space; 0 if the coordinator does not say. */
    long id(String space) {
        try {
            return client.space(space).map(Space::id).orElse(0L);
        } catch (CoordinatorException e) {
            return 0;
        }
    }

    boolean areAllActive() {
        try {
            return client.nodes().stream()
                            .filter(node -> node.status() == NodeStatus.ACTIVE)
                            .count()
                    == cluster.hosts().size();
        } catch (CoordinatorException e) {
            return false;
        }
    }

    /** Whether every page that a host has is at another host that runs, and the coordinator knows who runs. */
    boolean isSpare(Cluster.Host host) {
        return isSpare(host, "");
    }

    /** As {@link #isSpare(Cluster.Host)}, but for the pages of one space. */
    boolean isSpare(Cluster.Host host, String except) {
        try {
            Map<String, Incarnation> pools = new HashMap<>();
            for (io.farpage.coordinator.model.Node node : client.nodes()) {
                if (node.incarnation().equals(killed.get(node.id()))) {
                    return false;
                }
                pools.put(node.id(), node.poolId());
            }
            for (Space space : client.spaces()) {
                if (space.name().equals(except)) {
                    continue;
                }
                for (Extent extent :
                        client.extents(Long.toString(space.id())).orElseThrow().extents()) {
                    if (extent.homes().stream()
                            .noneMatch(home -> !home.node().equals(host.id())
                                    && cluster.host(home.node()).runs()
                                    && home.incarnation().equals(pools.get(home.node())))) {
                        return false;
                    }
                }
            }
            return true;
        } catch (CoordinatorException | NoSuchElementException e) {
            return false;
        }
    }

    String state(String on, String space) {
        String status = status(on, space);
        Matcher state = STATE.matcher(status);
        return state.find() ? state.group(1) : status;
    }

    /** What an agent says of a guest; or why there is no answer. */
    String status(String on, String space) {
        return answer(HttpRequest.newBuilder(URI.create(url(on, space))));
    }

    /** What an agent says of the latest snapshot of a guest; or why there is no answer. */
    String snapshot(String on, String space) {
        return answer(HttpRequest.newBuilder(URI.create(url(on, space) + "/guest/snapshot")));
    }

    /** Whether there is a space; empty if the coordinator does not say. */
    Optional<Boolean> exists(String space) {
        try {
            return Optional.of(client.space(space).isPresent());
        } catch (CoordinatorException e) {
            return Optional.empty();
        }
    }

    /** Requests something of a guest; the answer, or why there is none. */
    String post(String on, String space, String what, String fields) {
        return answer(HttpRequest.newBuilder(URI.create(url(on, space) + "/guest/" + what))
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString("{" + fields + "}")));
    }

    private String answer(HttpRequest.Builder request) {
        try {
            HttpResponse<String> answer = send(request);
            return answer.statusCode() + " " + answer.body();
        } catch (IOException e) {
            return e.toString();
        }
    }

    /**
     * Whether an agent has written the pages of a guest that has ended, and says so, or is a successor that knows
     * nothing of it, since its space was detached.
     */
    boolean hasLeft(String host, String space) {
        String state = state(host, space);
        return state.equals("ended") || (state.startsWith("404") && isDetached(space));
    }

    private boolean isDetached(String space) {
        try {
            return client.attachments(space).isEmpty();
        } catch (CoordinatorException e) {
            return false;
        }
    }

    /** Removes a guest that has ended; false if the agent does not answer, or refuses. */
    boolean delete(String on, String space) {
        try {
            int status = send(HttpRequest.newBuilder(URI.create(url(on, space) + "/guest"))
                            .DELETE())
                    .statusCode();
            return status == 204 || status == 404;
        } catch (IOException e) {
            return false;
        }
    }

    private String url(String on, String space) {
        return "http://" + cluster.host(on).address() + ":1/api/v1/spaces/" + space;
    }

    private HttpResponse<String> send(HttpRequest.Builder request) throws IOException {
        try {
            return http.sendAsync(request.build(), HttpResponse.BodyHandlers.ofString())
                    .get(5, TimeUnit.SECONDS);
        } catch (ExecutionException | TimeoutException | InterruptedException e) {
            throw new IOException(e);
        }
    }

    String put(String on, String space, String fields) throws IOException {
        HttpResponse<String> answer = send(request(on, space, cluster.socket(space), "," + fields));
        return answer.statusCode() + " " + (answer.statusCode() >= 300 ? answer.body() : "");
    }

    /**
     * Requests a guest from an agent; the answer, or why there is none.
     *
     * @param socket where the agent waits for the VMM
     * @param fields each with a comma before it
     */
    String put(String on, String space, Path socket, String fields) {
        return answer(request(on, space, socket, fields));
    }

    private HttpRequest.Builder request(String on, String space, Path socket, String fields) {
        return HttpRequest.newBuilder(URI.create(url(on, space) + "/guest"))
                .header("Content-Type", "application/json")
                .PUT(HttpRequest.BodyPublishers.ofString("{\"socket\":\"" + socket + "\"" + fields + "}"));
    }

    /**
     * Begins to delete a space, whether a guest runs on it or not; false if the coordinator does not say that it has.
     */
    boolean deleteByForce(String space) {
        return cluster.urls().stream().anyMatch(url -> deleteByForce(url, space));
    }

    private boolean deleteByForce(URI coordinator, String space) {
        try {
            int status = send(HttpRequest.newBuilder(coordinator.resolve("/api/v1/spaces/" + space + "?force=true"))
                            .DELETE())
                    .statusCode();
            return status < 300 || status == 404;
        } catch (IOException e) {
            return false;
        }
    }
}
