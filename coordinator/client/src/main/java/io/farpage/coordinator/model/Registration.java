package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import java.util.Optional;

/**
 * What an agent says of its node, the body of {@code PUT /nodes/{id}}.
 *
 * @param incarnation of this start of the agent
 * @param hostname as the host calls itself
 * @param address host:port where the agent's own REST interface is reachable
 * @param cpus how many it has, 1..65536
 * @param memoryBytes of the host
 * @param devices the ports it has open; at most 64
 * @param pool what it exports
 * @param transports what it can offer a peer, best first
 * @param linkKey with which peers derive the secrets of their links; agents before 0.3 leave it out
 * @param status joining, active (when left out) or leaving; failed is for the coordinator to say
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
        Optional<NodeStatus> status) {

    /** Checks the fields. */
    public Registration {
        Check.notBlank("hostname", hostname);
        Addresses.check("address", address);
        Check.range("cpus", cpus, 1, 65536);
        Check.range("memoryBytes", memoryBytes, 0, Long.MAX_VALUE);
        devices = List.copyOf(devices);
        Check.range("devices: number of elements", devices.size(), 0, 64);
        transports = transports.stream().distinct().toList();
        if (status.filter(NodeStatus.FAILED::equals).isPresent()) {
            throw new IllegalArgumentException(
                    "status: 'failed' is for the coordinator to say; use joining, active or leaving");
        }
    }

    /** The same with another status. */
    public Registration withStatus(NodeStatus other) {
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
                Optional.of(other));
    }
}
