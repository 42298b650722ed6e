package io.farpage.verbs;

/** Flags of a send work request: {@code enum ibv_send_flags} (ibv_post_send(3)), or-ed together. */
public final class SendFlag {
    /** No flag: the work request completes silently unless it fails. */
    public static final int NONE = 0;

    /** Do not start before all earlier READs of this queue pair are done. */
    public static final int FENCE = 1;

    /** Yield a work completion on success. */
    public static final int SIGNALED = 1 << 1;

    /** Raise a solicited event at the receiver (SEND). */
    public static final int SOLICITED = 1 << 2;

    /**
     * Copy the data into the work request when it is prepared: the buffer is free at once and its lkey is not looked
     * at.
     */
    public static final int INLINE = 1 << 3;

    private SendFlag() {}
}
