package io.farpage.agent.data.shard;

import java.util.concurrent.TimeUnit;

/**
 * Judges by completions whether the peer behind a link answers. Each {@link PeerLink} has one, so all pagers of a shard
 * judge a home alike. What is not posted, since there is no link or no key yet, says nothing about a peer.
 *
 * <p>All bounds by which a home counts as slow, silent or failed are these, by the shard's {@link SilenceClock}:
 *
 * <ul>
 *   <li>{@code mirror.hedge}, 20 ms: a READ that takes longer is repeated at another home, which is read from until
 *       this one completes something;
 *   <li>{@link #QUIET_NANOS}, 100 ms: a home that has completed nothing for so long does not answer; it delays its own
 *       pages only, and is asked for one page at a time;
 *   <li>{@code mirror.drop_after}, 1 s: a home of several that has completed nothing for this time must be dropped;
 *   <li>a link that is down: its home must be dropped at once, unless this process stood still within the last {@code
 *       mirror.drop_after} ({@link SilenceClock#hasStoodStillWithin}), since then the peer may have given the link up
 *       for that reason, and another is made; a link that is {@link PeerLink#isSwitching() switched} to another device
 *       is not down;
 *   <li>{@link #FIRST_LINK_NANOS}, 10 s: a link that was never up since the pager began has so long to come up;
 *   <li>{@link #REPEAT_NANOS}, 100 ms: while a failure lasts, it is reported again after this time.
 * </ul>
 *
 * <p>The shard's thread only.
 */
public final class FailureDetector {
    /** A peer that has requests to answer and has completed none for so long does not answer. */
    public static final long QUIET_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    /** How long a link may take to come up for the first time before its home counts as failed. */
    public static final long FIRST_LINK_NANOS = TimeUnit.SECONDS.toNanos(10);

    /** A failure that lasts is reported again after this time. */
    public static final long REPEAT_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private long answeredAt;
    /** Another home was asked for what this one has not sent for long; it has completed nothing since. */
    private boolean slow;
    /** It has not answered, and has completed nothing since. */
    private boolean silent;

    FailureDetector() {}

    /** A request is posted and no other is under way. */
    void asked(long now) {
        answeredAt = now;
    }

    /** The link has come up: the peer is not slow now. Whether it answers, one request shows. */
    void connected(long now) {
        answeredAt = now;
        slow = false;
    }

    /** A request has succeeded. */
    void answered(long now) {
        answeredAt = now;
        slow = false;
        silent = false;
    }

    void markSlow() {
        slow = true;
    }

    boolean isSlow() {
        return slow;
    }

    /** Whether the peer has completed nothing for longer than {@link #QUIET_NANOS}, although a request is under way. */
    boolean isQuiet(long now) {
        boolean quiet = isQuietFor(QUIET_NANOS, now);
        silent |= quiet;
        return quiet;
    }

    /** Whether the peer has completed nothing for longer than this, although a request is under way. */
    boolean isQuietFor(long nanos, long now) {
        return now - answeredAt > nanos;
    }

    /** Whether {@link #isQuiet} was found since the peer has completed a request. */
    boolean wasQuiet() {
        return silent;
    }
}
