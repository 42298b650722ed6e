package io.farpage.agent.data.shard;

/** How a fetch or a write back ended. */
public enum FetchStatus {
    /** Still under way. */
    PENDING,
    /** Done: every byte is where it should be. */
    OK,
    /** The deadline passed before the home could be asked or had answered. The page is not lost; its home could not be reached in time. */
    DEADLINE,
    /** The home that held the page has restarted since: its memory is gone. */
    PAGE_LOST,
    /**
     * The home refused the request more than once: a sign of wrong extents or keys, or of queue pairs that do not fit each other. Says
     * nothing about the page, which is where it was; only {@link #PAGE_LOST} does.
     */
    REFUSED,
    /** The shard was closed meanwhile. */
    CLOSED;
}
