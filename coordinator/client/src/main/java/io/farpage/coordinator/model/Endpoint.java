package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import java.util.Optional;

/**
 * One side of a link: the queue pairs that {@code node} has made for {@code peer} and no other.
 *
 * @param node who published it
 * @param peer whom it is for
 * @param incarnation of the node
 * @param peerIncarnation of the peer
 * @param attempt the publisher's mark of this publication
 * @param answers the attempt of the peer's endpoint that this one answers
 * @param entries its queue pairs
 * @param trial queue pairs that are brought up beside these, to take their place
 * @param index of the event that reported the endpoint
 */
public record Endpoint(
        @JsonProperty(required = true) String node,
        @JsonProperty(required = true) String peer,
        @JsonProperty(required = true) Incarnation incarnation,
        @JsonProperty(required = true) Incarnation peerIncarnation,
        Optional<Attempt> attempt,
        Optional<Attempt> answers,
        @JsonProperty(required = true) List<QpEntry> entries,
        Optional<TrialOffer> trial,
        @JsonProperty(required = true) long index) {

    /** Copies the entries. */
    public Endpoint {
        entries = EndpointRequest.checked(entries);
    }
}
