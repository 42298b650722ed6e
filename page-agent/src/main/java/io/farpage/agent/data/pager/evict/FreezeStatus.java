package io.farpage.agent.data.pager.evict;

/**
 * How far a pager is with its part of a snapshot.
 *
 * @param state of it
 * @param pages that its homes did not have as they were at the moment of the snapshot
 * @param left that they do not have yet
 * @param failure why the snapshot cannot be made; empty unless it has failed
 */
public record FreezeStatus(State state, int pages, int left, String failure) {
    /** No snapshot is being made. */
    public static final FreezeStatus OFF = new FreezeStatus(State.OFF, 0, 0, "");

    /** In the order in which they follow each other. */
    public enum State {
        /** No snapshot is being made. */
        OFF,
        /** Pages are being write-protected, and the guest runs. */
        PREPARING,
        /** Pages are write-protected, apart from those that the guest has written to since. */
        PREPARED,
        /** Pages are being write-protected; the guest must not run yet. */
        FREEZING,
        /** The pages of the moment are being written home. */
        SAVING,
        /** The homes have all pages of the moment. */
        SAVED,
        /** As before, and nothing is written to these homes any longer, not even when the guest ends. */
        HANDING_OVER,
        /** The snapshot cannot be made; the guest goes on as before. */
        FAILED
    }
}
