package io.farpage.coordinator.cluster;

import io.farpage.config.HostPort;
import io.farpage.coordinator.model.Cluster;
import io.farpage.coordinator.model.ClusterRequest;
import io.farpage.coordinator.model.EventKind;
import io.farpage.coordinator.model.ExpectedNode;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Lease;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.Registration;
import io.farpage.rest.ProblemException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Who is in the cluster: registrations, incarnations, leases. Thread-safe. */
public final class Membership {

    private static final Logger LOG = LoggerFactory.getLogger(Membership.class);
    private static final String THE_CLUSTER = "cluster";

    private final Ledger ledger;
    private final Attachments attachments;
    private final Time time;
    private final Leases leases;
    private final Duration leaseDuration;
    private final Duration heartbeatInterval;

    /**
     * What nodes that have failed had said of themselves. A coordinator that was started since takes them for active.
     */
    private final Map<String, NodeStatus> failedAs = new ConcurrentHashMap<>();

    /** Begins with a whole lease for every node that the ledger knows and that has not failed. */
    public Membership(Ledger ledger, Time time, Duration leaseDuration, Duration heartbeatInterval) {
        this.ledger = ledger;
        this.attachments = new Attachments(ledger, time);
        this.time = time;
        this.leases = new Leases(time, leaseDuration, heartbeatInterval);
        this.leaseDuration = leaseDuration;
        this.heartbeatInterval = heartbeatInterval;
        ledger.state().nodes().values().stream()
                .filter(node -> node.status() != NodeStatus.FAILED)
                .forEach(node -> leases.renew(node.id()));
    }

    /** All nodes, with their leases. */
    public List<Node> nodes() {
        return ledger.state().nodes().values().stream().map(leases::withLease).toList();
    }

    /** A node, with its lease. */
    public Optional<Node> node(String id) {
        return Optional.ofNullable(ledger.state().nodes().get(id)).map(leases::withLease);
    }

    /** Registers a node or changes what is registered. */
    public Node register(String id, Registration said) {
        Node node = ledger.change(draft -> {
            Optional<Node> known = draft.nodes.find(id);
            checkNotRetired(draft, id, said.incarnation(), known);
            checkInventory(draft, id, said);
            known.ifPresent(before -> checkNotAnother(before, said));
            checkPool(id, known, said);
            Node now;
            if (known.isPresent() && known.get().incarnation().equals(said.incarnation())) {
                now = changed(draft, known.get(), said);
            } else {
                if (known.isEmpty()) {
                    Bounds.checkNewNode(draft, id);
                }
                now = Node.of(id, said, time.now());
                if (known.isPresent() && known.get().poolId().equals(now.poolId())) {
                    draft.nodes.put(id, now);
                    Departure.succeedIncarnation(draft, attachments, known.get(), now, said::adopts);
                } else {
                    known.ifPresent(
                            before -> Departure.retireIncarnation(draft, attachments, before, "was started anew"));
                    draft.nodes.put(id, now);
                }
                draft.emit(EventKind.NODE_REGISTERED, id);
            }
            leases.renew(id);
            return now;
        });
        return leases.withLease(node);
    }

    private static Node changed(Draft draft, Node before, Registration said) {
        Node now = Node.of(before.id(), said, before.registeredAt());
        if (!now.pool().equals(before.pool())) {
            throw poolChanged(before);
        }
        if (!now.equals(before)) {
            draft.nodes.put(now.id(), now);
            draft.emit(
                    before.status() == NodeStatus.FAILED ? EventKind.NODE_REVIVED : EventKind.NODE_CHANGED, now.id());
            Fences.endWithoutFailed(draft);
        }
        return now;
    }

    private static void checkNotRetired(Draft draft, String id, Incarnation given, Optional<Node> known) {
        boolean retired =
                draft.retired.find(id).stream().anyMatch(of -> of.incarnations().contains(given));
        if (retired) {
            throw ProblemException.conflict(
                    "stale-incarnation",
                    "incarnation %s of node '%s' was superseded; registered now is %s"
                            .formatted(
                                    given,
                                    id,
                                    known.map(node -> node.incarnation().toString())
                                            .orElse("none")));
        }
    }

    /**
     * An adopted pool must be the one that is registered: the pages of any other are lost, and its room may hold what
     * no space has.
     */
    private static void checkPool(String id, Optional<Node> known, Registration said) {
        if (said.poolId().equals(said.incarnation())) {
            return;
        }
        Optional<Node> before = known.filter(node -> node.poolId().equals(said.poolId()));
        if (before.isEmpty()) {
            throw ProblemException.conflict(
                    "pool-retired",
                    ("the pool that incarnation %s of node '%s' made is not registered, and its pages are lost;"
                                    + " registered now is %s; the agent drops that pool and starts with an empty one")
                            .formatted(
                                    said.poolId(),
                                    id,
                                    known.map(node -> "that of " + node.poolId())
                                            .orElse("none")));
        }
        if (!before.get().pool().hasShapeOf(said.pool())) {
            throw poolChanged(before.get());
        }
    }

    private static ProblemException poolChanged(Node before) {
        return ProblemException.conflict(
                "pool-changed",
                "node '%s' cannot change its pool within one incarnation, since extents lie in it; start the agent anew"
                        .formatted(before.id()));
    }

    /**
     * A new incarnation from another host, while the old one is alive, is a second agent with the same id. From the
     * same host, whatever the port, it is the agent started again, and takes over.
     */
    private void checkNotAnother(Node before, Registration said) {
        boolean elsewhere = !before.hostname().equals(said.hostname())
                || !hostOf(before.address()).equals(hostOf(said.address()));
        if (elsewhere && !before.incarnation().equals(said.incarnation()) && leases.isLive(before.id())) {
            throw ProblemException.conflict(
                    "node-conflict",
                    ("node id '%s' is held by %s at %s whose lease is live, and %s at %s asks for it; give one of the"
                                    + " two another id")
                            .formatted(
                                    before.id(), before.hostname(), before.address(), said.hostname(), said.address()));
        }
    }

    private static String hostOf(String address) {
        return HostPort.parse(address).host();
    }

    /** The inventory of a cluster that is formed is a closed list, unless it is empty. */
    private static void checkInventory(Draft draft, String id, Registration said) {
        draft.cluster.find(THE_CLUSTER).ifPresent(cluster -> {
            if (!cluster.nodes().isEmpty()
                    && cluster.nodes().stream()
                            .noneMatch(expected -> expected.id().equals(id))) {
                throw new ProblemException(
                        403,
                        "not-in-inventory",
                        ("node '%s' is not in the inventory of cluster '%s'; to add it, form the cluster anew: DELETE"
                                        + " /api/v1/cluster, then 'coordinator up' with the longer inventory")
                                .formatted(id, cluster.name()));
            }
        });
        draft.cluster.find(THE_CLUSTER).stream()
                .flatMap(cluster -> cluster.nodes().stream())
                .filter(expected -> expected.id().equals(id))
                .forEach(expected -> {
                    match("hostname", id, expected.hostname(), said.hostname());
                    match("address", id, expected.address(), said.address());
                });
    }

    private static void match(String field, String id, Optional<String> expected, String said) {
        if (expected.isPresent() && !expected.get().equals(said)) {
            throw ProblemException.conflict(
                    "inventory-mismatch",
                    "the inventory has %s '%s' for node '%s' and the agent says '%s'; correct one of them"
                            .formatted(field, expected.get(), id, said));
        }
    }

    /** A node that is registered with an incarnation. Refused if it is not, or with another one. */
    public Node require(String id, Incarnation incarnation) {
        Node known = Optional.ofNullable(ledger.state().nodes().get(id)).orElseThrow(() -> Draft.unknownNode(id));
        if (!known.incarnation().equals(incarnation)) {
            throw Draft.stale(id, incarnation, known.incarnation());
        }
        return known;
    }

    /** Renews a lease; revives a node that had failed. */
    public Lease heartbeat(String id, Incarnation incarnation) {
        NodeStatus status = require(id, incarnation).status();
        if (status == NodeStatus.FAILED || !leases.isLive(id)) {
            status = ledger.change(draft -> {
                Node node = draft.requireNode(id, incarnation);
                leases.renew(id);
                if (node.status() != NodeStatus.FAILED) {
                    return node.status();
                }
                Node revived = node.withStatus(failedAs.getOrDefault(id, NodeStatus.ACTIVE));
                draft.nodes.put(id, revived);
                draft.emit(EventKind.NODE_REVIVED, id);
                Fences.endWithoutFailed(draft);
                return revived.status();
            });
        } else {
            leases.renew(id);
        }
        return new Lease(
                leaseDuration.toMillis(),
                heartbeatInterval.toMillis(),
                status,
                ledger.state().index());
    }

    /**
     * Takes a node out with all it has published.
     *
     * @param force whether to take it out although extents are lost with it
     * @return the extents that no other live home has a copy of
     * @throws ProblemException 409 if there are such extents, without force
     */
    public long deregister(String id, Incarnation incarnation, boolean force) {
        long lost = ledger.change(draft -> {
            Node node = draft.requireNode(id, incarnation);
            long last = Departure.lastCopies(draft, node);
            if (last > 0 && !force) {
                throw ProblemException.conflict(
                        "last-copies",
                        ("node '%s' has the only copies of %d extents, and no other home of these is alive; drain the"
                                        + " node first, start the agents of their other homes, or say force=true: the"
                                        + " pages are lost")
                                .formatted(id, last));
            }
            Departure.retireIncarnation(draft, attachments, node, "was taken out of the cluster");
            draft.nodes.remove(id);
            draft.drains.remove(id);
            draft.emit(EventKind.NODE_REMOVED, id);
            leases.end(id);
            failedAs.remove(id);
            return last;
        });
        if (lost > 0) {
            LOG.warn("node {} was taken out with the only copies of {} extents", id, lost);
        }
        return lost;
    }

    /** How long until the first lease runs out, unless it is renewed; a whole lease if no node has one. */
    public Duration untilExpiry() {
        return ledger.state().nodes().values().stream()
                .filter(node -> node.status() != NodeStatus.FAILED)
                .map(node -> leases.remaining(node.id()))
                .min(Comparator.naturalOrder())
                .orElse(leaseDuration);
    }

    /**
     * Marks the nodes whose leases have run out as failed, and returns them. To be called whenever {@link #untilExpiry}
     * has passed. A check that comes later than announced fails no node for the time in which the coordinator stood
     * still.
     *
     * @param next time within which the next check follows
     */
    public List<String> expire(Duration next) {
        Duration stood = leases.check(next);
        if (!stood.isZero()) {
            LOG.warn(
                    "the check of leases is {} ms late: this process stood still, and all leases run that much longer",
                    stood.toMillis());
        }
        return expire();
    }

    /** As {@link #expire(Duration)}, without announcing the next check. */
    public List<String> expire() {
        boolean any = ledger.state().nodes().values().stream().anyMatch(this::isOverdue);
        if (!any) {
            return List.of();
        }
        return ledger.change(draft -> {
            List<String> failed = new ArrayList<>();
            for (Node node : draft.nodes.values()) {
                if (isOverdue(node)) {
                    leases.end(node.id());
                    failedAs.put(node.id(), node.status());
                    draft.nodes.put(node.id(), node.withStatus(NodeStatus.FAILED));
                    draft.emit(EventKind.NODE_FAILED, node.id());
                    Attachments.failed(draft, node);
                    failed.add(node.id());
                }
            }
            Fences.endWithoutFailed(draft);
            return failed;
        });
    }

    private boolean isOverdue(Node node) {
        return node.status() != NodeStatus.FAILED && !leases.isLive(node.id());
    }

    /** The cluster, with the nodes that are missing now. */
    public Optional<Cluster> cluster() {
        State state = ledger.state();
        return Optional.ofNullable(state.cluster().get(THE_CLUSTER)).map(cluster -> withMissing(cluster, state));
    }

    private static Cluster withMissing(Cluster cluster, State state) {
        List<String> missing = cluster.nodes().stream()
                .map(ExpectedNode::id)
                .filter(id -> !state.nodes().containsKey(id))
                .toList();
        return new Cluster(cluster.name(), cluster.formedAt(), cluster.nodes(), missing);
    }

    /** Forms the cluster; the same request again changes nothing. */
    public Cluster form(ClusterRequest request) {
        Cluster formed = ledger.change(draft -> {
            Optional<Cluster> known = draft.cluster.find(THE_CLUSTER);
            if (known.isPresent()) {
                if (known.get().name().equals(request.name())
                        && known.get().nodes().equals(request.nodes())) {
                    return known.get();
                }
                throw ProblemException.conflict(
                        "cluster-exists",
                        "cluster '%s' of %d nodes was formed already; DELETE /api/v1/cluster first to form another"
                                .formatted(
                                        known.get().name(), known.get().nodes().size()));
            }
            Cluster cluster = new Cluster(request.name(), time.now(), request.nodes(), List.of());
            draft.cluster.put(THE_CLUSTER, cluster);
            draft.emit(EventKind.CLUSTER_FORMED, Optional.empty(), Optional.empty());
            return cluster;
        });
        return withMissing(formed, ledger.state());
    }

    /** Whether a node is of the cluster: it is registered, or in the inventory. */
    public boolean isExpected(String id) {
        State now = ledger.state();
        return now.nodes().containsKey(id)
                || now.cluster().values().stream()
                        .flatMap(cluster -> cluster.nodes().stream())
                        .anyMatch(expected -> expected.id().equals(id));
    }

    /** Dissolves the cluster; its nodes and spaces stay. */
    public void dissolve() {
        ledger.change(draft -> {
            if (!draft.cluster.remove(THE_CLUSTER)) {
                throw ProblemException.notFound("no cluster has been formed");
            }
            return draft.emit(EventKind.CLUSTER_DISSOLVED, Optional.empty(), Optional.empty());
        });
    }
}
