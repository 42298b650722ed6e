package io.farpage.agent.control.mount;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import java.util.Optional;

/**
 * A line that the agent sends to a mount process.
 *
 * @param open ids of the snapshots that the agent has open: all of them, each time they change
 * @param refused why the agent does not serve the file system; empty if it does
 */
record MountReply(@JsonProperty(required = true) List<Long> open, Optional<String> refused) {
    /** Copies the list. */
    MountReply {
        open = List.copyOf(open);
    }
}
