package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import java.util.Optional;

/**
 * Queue pairs over a better transport that a node brings up beside a link that works. Pages move over them once both
 * nodes have proved them; until then the link stays as it is.
 *
 * @param attempt the publisher's mark of this offer
 * @param answers the attempt of the peer's trial offer that this one answers
 * @param proven whether the publisher has read the peer's pool header over these queue pairs
 * @param entries the queue pairs; 1..4096, no two with the same transport, shard and rail
 */
public record TrialOffer(
        @JsonProperty(required = true) Attempt attempt,
        Optional<Attempt> answers,
        @JsonProperty(required = true) boolean proven,
        @JsonProperty(required = true) List<QpEntry> entries) {

    /** Checks the entries. */
    public TrialOffer {
        entries = EndpointRequest.checked(entries);
    }
}
