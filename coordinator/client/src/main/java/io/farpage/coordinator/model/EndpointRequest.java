package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;

/**
 * What a node publishes toward one peer, the body of {@code PUT /nodes/{id}/endpoints/{peer}}.
 *
 * @param incarnation of the publishing node
 * @param peerIncarnation of the peer that it was made for
 * @param attempt the publisher's mark of this publication
 * @param answers the attempt of the peer's endpoint that this one was made in answer to
 * @param entries one for each queue pair that the node can offer this peer; 1..{@value #MAX_ENTRIES}, no two with the
 *     same transport, shard and rail
 * @param trial queue pairs that are brought up beside these, to take their place
 */
public record EndpointRequest(
        @JsonProperty(required = true) Incarnation incarnation,
        @JsonProperty(required = true) Incarnation peerIncarnation,
        Optional<Attempt> attempt,
        Optional<Attempt> answers,
        @JsonProperty(required = true) List<QpEntry> entries,
        Optional<TrialOffer> trial) {

    /** Queue pairs of a link: of up to 16 shards on up to 8 RDMA devices and TCP, rounded up. */
    public static final int MAX_ENTRIES = 256;

    /** Checks the entries. */
    public EndpointRequest {
        entries = checked(entries);
    }

    /**
     * The same without what a coordinator of an earlier release refuses as unknown fields: what devices may reach, and
     * whether queue pairs receive messages.
     */
    public EndpointRequest reduced() {
        return new EndpointRequest(
                incarnation,
                peerIncarnation,
                attempt,
                answers,
                reduced(entries),
                trial.map(offer ->
                        new TrialOffer(offer.attempt(), offer.answers(), offer.proven(), reduced(offer.entries()))));
    }

    private static List<QpEntry> reduced(List<QpEntry> entries) {
        return entries.stream()
                .map(entry -> entry.withFabric(Optional.empty()).withMessages(OptionalInt.empty()))
                .toList();
    }

    static List<QpEntry> checked(List<QpEntry> entries) {
        Check.range("entries: number of elements", entries.size(), 1, MAX_ENTRIES);
        Set<QpEntry.Slot> seen = new HashSet<>();
        for (QpEntry entry : entries) {
            if (!seen.add(entry.slot())) {
                throw new IllegalArgumentException("entries: two for transport %s, shard %d, rail %d"
                        .formatted(entry.transport(), entry.shard(), entry.rail()));
            }
        }
        return List.copyOf(entries);
    }
}
