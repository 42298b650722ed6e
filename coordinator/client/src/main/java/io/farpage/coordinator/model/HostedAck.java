package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * Says that a node has applied what it hosts, the body of {@code POST /nodes/{id}/hosted/ack}: it keeps the document,
 * and has revoked all access that the document does not list. Fences and releases take longer, and are named one by
 * one.
 *
 * @param incarnation of the node
 * @param revision of the {@link Hosted} that it has applied
 * @param fenced the incarnations that it has cut off; one that no fence names does no harm
 * @param zeroed ids of the releases that it has carried out; those already acknowledged do no harm
 */
public record HostedAck(
        @JsonProperty(required = true) Incarnation incarnation,
        @JsonProperty(required = true) long revision,
        @JsonProperty(required = true) List<Fenced> fenced,
        @JsonProperty(required = true) List<Long> zeroed) {

    /** The most releases in one acknowledgement. */
    public static final int MAX_ZEROED = 65_536;

    /** Copies the lists. */
    public HostedAck {
        Check.range("zeroed: number of elements", zeroed.size(), 0, MAX_ZEROED);
        fenced = List.copyOf(fenced);
        zeroed = List.copyOf(zeroed);
    }

    /** An incarnation of another node that can no longer write to the pool of the home. */
    public record Fenced(
            @JsonProperty(required = true) String node,
            @JsonProperty(required = true) Incarnation incarnation) {}
}
