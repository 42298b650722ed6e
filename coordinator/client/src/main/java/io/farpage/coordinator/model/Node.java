package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * A node as the coordinator knows it.
 *
 * @param id its name
 * @param incarnation the one that is registered now
 * @param hostname as the host calls itself
 * @param address host:port of the agent's REST interface
 * @param cpus how many it has
 * @param memoryBytes of the host
 * @param devices the ports it has open
 * @param pool what it exports
 * @param transports what it can offer a peer, best first
 * @param linkKey with which peers derive the secrets of their links, if the agent registered one
 * @param status where it is in its life
 * @param leaseExpiry when its lease runs out if no heartbeat comes; empty once it has failed
 * @param registeredAt when this incarnation first registered
 * @param domain failure domain, if it is not the node itself
 */
public record Node(
        @JsonProperty(required = true) String id,
        @JsonProperty(required = true) Incarnation incarnation,
        @JsonProperty(required = true) String hostname,
        @JsonProperty(required = true) String address,
        @JsonProperty(required = true) int cpus,
        @JsonProperty(required = true) long memoryBytes,
        @JsonProperty(required = true) List<DeviceInfo> devices,
        @JsonProperty(required = true) PoolInfo pool,
        @JsonProperty(required = true) List<TransportKind> transports,
        Optional<LinkKey> linkKey,
        @JsonProperty(required = true) NodeStatus status,
        Optional<Instant> leaseExpiry,
        @JsonProperty(required = true) Instant registeredAt,
        Optional<String> domain) {

    /** Checks the id and copies the lists. */
    public Node {
        checkId(id);
        devices = List.copyOf(devices);
        transports = List.copyOf(transports);
    }

    /** From what an agent said. */
    public static Node of(String id, Registration said, Instant registeredAt) {
        return new Node(
                id,
                said.incarnation(),
                said.hostname(),
                said.address(),
                said.cpus(),
                said.memoryBytes(),
                said.devices(),
                said.pool(),
                said.transports(),
                said.linkKey(),
                said.status().orElse(NodeStatus.ACTIVE),
                Optional.empty(),
                registeredAt,
                said.domain());
    }

    /** What fails together with it: its domain, or the node alone. */
    public String failureDomain() {
        return domain.orElse(id);
    }

    /** The pool, as extents and releases name it: the incarnation that made it. */
    public Incarnation poolId() {
        return pool.id().orElse(incarnation);
    }

    /** The same with another status. */
    public Node withStatus(NodeStatus other) {
        return with(other, leaseExpiry);
    }

    /** The same with another lease expiry. */
    public Node withLeaseExpiry(Optional<Instant> other) {
        return with(status, other);
    }

    private Node with(NodeStatus newStatus, Optional<Instant> newExpiry) {
        return new Node(
                id,
                incarnation,
                hostname,
                address,
                cpus,
                memoryBytes,
                devices,
                pool,
                transports,
                linkKey,
                newStatus,
                newExpiry,
                registeredAt,
                domain);
    }

    /**
     * Checks a node id: 1 to 63 characters of a-z, 0-9, '.' and '-', the first and the last a letter or digit.
     *
     * @return the id
     * @throws IllegalArgumentException if it is none
     */
    public static String checkId(String id) {
        return Check.name("node id", id);
    }
}
