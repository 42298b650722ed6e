package io.farpage.bench.node;

import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;

/** What the fetching node is told, a line each. */
@JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "order")
@JsonSubTypes({
    @JsonSubTypes.Type(value = Order.Fill.class, name = "fill"),
    @JsonSubTypes.Type(value = Order.Run.class, name = "run"),
    @JsonSubTypes.Type(value = Order.Quit.class, name = "quit")
})
public sealed interface Order {
    /** Write every page to the home, then fetch all of them and check every byte. */
    record Fill() implements Order {}

    /**
     * Fetch by the pattern.
     *
     * @param warmup fetches that come first and are not recorded
     * @param count fetches to record, or 0 to go by time
     * @param millis for how long to record, if count is 0
     */
    record Run(long warmup, long count, long millis) implements Order {}

    /** Leave the cluster and end. The end of the input means the same. */
    record Quit() implements Order {}
}
