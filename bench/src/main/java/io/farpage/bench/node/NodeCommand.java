package io.farpage.bench.node;

import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;

/** What the fetching node is told, a line each. */
@JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "order")
@JsonSubTypes({
    @JsonSubTypes.Type(value = NodeCommand.Fill.class, name = "fill"),
    @JsonSubTypes.Type(value = NodeCommand.Run.class, name = "run"),
    @JsonSubTypes.Type(value = NodeCommand.Quit.class, name = "quit")
})
public sealed interface NodeCommand {
    /** Write every page to the home, then fetch all of them and check every byte. */
    record Fill() implements NodeCommand {}

    /**
     * Fetch by the pattern.
     *
     * @param warmup fetches that come first and are not recorded
     * @param count fetches to record, or 0 to go by time
     * @param millis for how long to record, if count is 0
     */
    record Run(long warmup, long count, long millis) implements NodeCommand {}

    /** Leave the cluster and end. The end of the input means the same. */
    record Quit() implements NodeCommand {}
}
