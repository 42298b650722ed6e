package io.farpage.agent.control.mount;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * What a mount process sends with the descriptor of its file system.
 *
 * @param version 1
 * @param directory where the file system is mounted, for messages
 * @param mode permissions of the files, such as 0440
 * @param user that the files belong to
 * @param group that the files belong to
 * @param readahead bytes that the kernel may read before they are asked for, 0 to {@link #MAX_READAHEAD}
 * @param open ids of the snapshots that the agent before had open
 */
record MountHello(
        @JsonProperty(required = true) int version,
        @JsonProperty(required = true) String directory,
        @JsonProperty(required = true) int mode,
        @JsonProperty(required = true) int user,
        @JsonProperty(required = true) int group,
        @JsonProperty(required = true) int readahead,
        @JsonProperty(required = true) List<Long> open) {
    static final int VERSION = 1;
    static final int MAX_READAHEAD = 1 << 20;
    private static final int MAX_MODE = 0777;

    /** Checks the ranges, and copies the list. */
    MountHello {
        if (version != VERSION) {
            throw new IllegalArgumentException(
                    "version: %d; this agent knows %d. Run both from one package".formatted(version, VERSION));
        }
        if (mode < 0 || mode > MAX_MODE) {
            throw new IllegalArgumentException("mode: 0%o; 0 to 0777 is allowed".formatted(mode));
        }
        if (readahead < 0 || readahead > MAX_READAHEAD) {
            throw new IllegalArgumentException(
                    "readahead: %d; 0 to %d bytes are allowed".formatted(readahead, MAX_READAHEAD));
        }
        open = List.copyOf(open);
    }

    /** The same, for the agent that comes next. */
    MountHello withOpen(List<Long> ids) {
        return new MountHello(version, directory, mode, user, group, readahead, ids);
    }
}
