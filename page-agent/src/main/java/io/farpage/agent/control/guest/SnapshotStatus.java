package io.farpage.agent.control.guest;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * How far the snapshot of a running guest is.
 *
 * @param name of the snapshot
 * @param state {@code freezing}: the VMM has to stay paused; {@code saving}: it may run, and its pages are being
 *     written home; {@code made}; or {@code failed}: there is no snapshot, and the guest goes on as before
 * @param frozenBytes of the guest's memory that its homes did not have
 * @param leftBytes of them that they do not have yet
 * @param freezeMicros how long the VMM had to be paused; 0 while it has to
 * @param millis since it began; until its end once it has ended
 * @param detail why it has failed, or what it waits for; else empty
 */
public record SnapshotStatus(
        @JsonProperty(required = true) String name,
        @JsonProperty(required = true) String state,
        @JsonProperty(required = true) long frozenBytes,
        @JsonProperty(required = true) long leftBytes,
        @JsonProperty(required = true) long freezeMicros,
        @JsonProperty(required = true) long millis,
        @JsonProperty(required = true) String detail) {
    /** The VMM may run. */
    static final String SAVING = "saving";

    /** There is a snapshot. */
    public static final String MADE = "made";

    /** There is none. */
    public static final String FAILED = "failed";

    /** Whether nothing of it will change. */
    public boolean hasEnded() {
        return state.equals(MADE) || state.equals(FAILED);
    }
}
