package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * What a node has zeroed, the body of {@code POST /nodes/{id}/releases/ack}.
 *
 * @param incarnation of the node
 * @param ids of the releases; those already acknowledged do no harm
 */
public record ReleaseAck(
        @JsonProperty(required = true) Incarnation incarnation,
        @JsonProperty(required = true) List<Long> ids) {

    /** Copies the ids. */
    public ReleaseAck {
        Check.range("ids: number of elements", ids.size(), 0, 65536);
        ids = List.copyOf(ids);
    }
}
