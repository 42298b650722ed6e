package io.farpage.agent.data.shard;

/** How a fetch or a write back ended. */
public enum FetchStatus {
    /** Still under way. */
    PENDING,
    /** Completed: all bytes are in place. */
    OK,
    /** The deadline passed before the home could be asked or had answered. The page is not lost. */
    DEADLINE,
    /** The homes that held the page have restarted since: its memory is gone. Said of a page, never of a transfer. */
    PAGE_LOST,
    /**
     * The home refused the request more than once, because of wrong extents or keys, or queue pairs whose attributes do
     * not match. The page is not lost.
     */
    REFUSED,
    /** The link to the home broke or is down, and the transfer was not to wait for it. The page is not lost. */
    UNREACHABLE,
    /** The shard was closed. */
    CLOSED;
}
