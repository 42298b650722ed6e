package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * What happened after an index.
 *
 * @param index to ask from the next time
 * @param resync true when the index asked from is too old for the log, or newer than the coordinator's own: events were
 *     missed, so read everything anew and go on from {@code index}
 * @param events in order; empty after a wait in which nothing happened, and always when {@code resync}
 */
public record EventBatch(
        @JsonProperty(required = true) long index,
        @JsonProperty(required = true) boolean resync,
        @JsonProperty(required = true) List<Event> events) {

    /** Copies the events. */
    public EventBatch {
        events = List.copyOf(events);
    }
}
