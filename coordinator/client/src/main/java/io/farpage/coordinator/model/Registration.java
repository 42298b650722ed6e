package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import java.util.Optional;

/**
 * What an agent says of its node, the body of {@code PUT /nodes/{id}}.
 *
 * @param incarnation of this start of the agent
 * @param hostname as the host calls itself
 * @param address host:port where the agent's own REST interface is reachable; port 0: over its Unix socket only
 * @param cpus how many it has, 1..65536
 * @param memoryBytes of the host
 * @param devices the ports it has open; at most 64
 * @param pool what it exports
 * @param transports what it can offer a peer, best first
 * @param linkKey with which peers derive the secrets of their links; agents before 0.3 leave it out
 * @param status active (when left out) or leaving; failed is for the coordinator to say
 * @param domain failure domain, for the placement of copies; the node itself when left out
 * @param adopts ids of the spaces whose guests the process before has left running and this one takes over; at most
 *     4096, none when left out
 */
public record Registration(
        @JsonProperty(required = true) Incarnation incarnation,
        @JsonProperty(required = true) String hostname,
        @JsonProperty(required = true) String address,
        @JsonProperty(required = true) int cpus,
        @JsonProperty(required = true) long memoryBytes,
        @JsonProperty(required = true) List<DeviceInfo> devices,
        @JsonProperty(required = true) PoolInfo pool,
        @JsonProperty(required = true) List<TransportKind> transports,
        Optional<LinkKey> linkKey,
        Optional<NodeStatus> status,
        Optional<String> domain,
        Optional<List<Long>> adopts) {

    private static final int MOST_ADOPTED = 4096;

    /** Checks the fields. */
    public Registration {
        adopts = adopts.map(List::copyOf);
        Check.range("adopts: number of elements", adopts.map(List::size).orElse(0), 0, MOST_ADOPTED);
        Check.notBlank("hostname", hostname);
        Addresses.checkOptional("address", address);
        Check.range("cpus", cpus, 1, 65536);
        Check.range("memoryBytes", memoryBytes, 0, Long.MAX_VALUE);
        devices = List.copyOf(devices);
        Check.range("devices: number of elements", devices.size(), 0, 64);
        transports = transports.stream().distinct().toList();
        if (status.filter(NodeStatus.FAILED::equals).isPresent()) {
            throw new IllegalArgumentException("status: 'failed' is for the coordinator to say; use active or leaving");
        }
        domain.ifPresent(name -> Check.name("domain", name));
    }

    /** The same, which adopts the guests of spaces. */
    public Registration withAdopted(List<Long> spaces) {
        return with(status, spaces.isEmpty() ? Optional.empty() : Optional.of(spaces));
    }

    /** The same with another status. */
    public Registration withStatus(NodeStatus other) {
        return with(Optional.of(other), adopts);
    }

    private Registration with(Optional<NodeStatus> newStatus, Optional<List<Long>> adopted) {
        return new Registration(
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
                domain,
                adopted);
    }

    /** Whether the guest of a space that the process before has left running goes on in this one. */
    public boolean adopts(long space) {
        return adopts.map(ids -> ids.contains(space)).orElse(false);
    }

    /** The pool, as extents and releases name it: the incarnation that made it. */
    public Incarnation poolId() {
        return pool.id().orElse(incarnation);
    }
}
