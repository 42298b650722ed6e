package io.farpage.agent.data.pager.home;

import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.SilenceClock;

/**
 * A home, the pool of another node, and the transfers that one pager has under way with it. Times are by the shard's
 * {@link SilenceClock}, unless a method says otherwise. The shard's thread only.
 */
public final class Home {
    /** After a page came from it other than it was sealed, other homes are preferred for this time. */
    private static final long DISTRUST_NANOS = 60_000_000_000L;

    private final int number;
    private final PeerLink link;
    private final long pool;
    private int transfers;
    private int incoming;
    private int writing;
    /** A page came from it other than it was sealed. */
    private boolean distrusted;

    private long distrustedAt;

    private boolean suspected;
    private long suspectedAt;
    /** Whether the map names it. */
    private boolean named;

    private boolean wasNamed;

    /**
     * @param number counted from 1 among the homes of a pager
     * @param pool as extents name it
     */
    Home(int number, PeerLink link, long pool) {
        this.number = number;
        this.link = link;
        this.pool = pool;
    }

    public int number() {
        return number;
    }

    public PeerLink link() {
        return link;
    }

    /** Whether it is this pool of the node behind a link. */
    boolean is(PeerLink behind, long itsPool) {
        return link == behind && pool == itsPool;
    }

    /** Slots that its transfers hold: those under way, and those of pages that have arrived and are not installed. */
    int transfers() {
        return transfers;
    }

    /** A new map begins, which has not named it yet. */
    void beginMap() {
        wasNamed = named;
        named = false;
    }

    /** The map names it, as a home or as one that joins. */
    void name() {
        named = true;
    }

    /** Whether neither the map nor the one before names it, and no transfer with it is left. */
    boolean isForgotten() {
        return !named && !wasNamed && transfers == 0;
    }

    public boolean isNamed() {
        return named;
    }

    /** Pages on their way from the home. */
    public int incoming() {
        return incoming;
    }

    /** Pages on their way to the home. */
    int writing() {
        return writing;
    }

    /** Whether its link is up, and leads to this pool. */
    public boolean isUp() {
        return link.leadsTo(pool);
    }

    /** Whether its link is up, and it has completed a transfer recently, has none to complete, or has just come up. */
    public boolean answers(long nowNanos) {
        return isUp() && link.answers(nowNanos);
    }

    /**
     * Whether a READ may begin: the link is up, and a home that has not answered has nothing under way, so that the
     * READ shows whether it does now.
     */
    boolean takesReads(long nowNanos) {
        return isUp() && link.takesReads(nowNanos);
    }

    void begin(int pages, boolean write) {
        transfers++;
        if (write) {
            writing += pages;
        } else {
            incoming += pages;
        }
    }

    void end(int pages, boolean write) {
        transfers--;
        if (write) {
            writing -= pages;
        } else {
            incoming -= pages;
        }
    }

    /** Another home was asked for what this one has not sent for long. */
    public void markSlow() {
        link.markSlow();
    }

    /**
     * A page came from this home other than it was sealed.
     *
     * @param nowNanos by the clock
     */
    void distrust(long nowNanos) {
        distrusted = true;
        distrustedAt = nowNanos;
    }

    /**
     * Whether a page came from it other than it was sealed within the last minute.
     *
     * @param nowNanos by the clock
     */
    boolean isDistrusted(long nowNanos) {
        distrusted &= nowNanos - distrustedAt < DISTRUST_NANOS;
        return distrusted;
    }

    /**
     * Whether pages are better read from here, unless it is distrusted, than from a home for which this does not hold.
     */
    boolean isPreferred(long nowNanos) {
        return !link.isSlow() && answers(nowNanos);
    }

    /** Whether transfers are under way, and none has completed for longer than this. */
    public boolean isQuietFor(long nanos, long nowNanos) {
        return isUp() && link.isQuietFor(nanos, nowNanos);
    }

    /**
     * Whether the failure of this home must be reported now: at first, and from time to time while it lasts.
     *
     * @param nowNanos by the clock
     */
    boolean suspect(long nowNanos, long pauseNanos) {
        if (suspected && nowNanos - suspectedAt < pauseNanos) {
            return false;
        }
        suspected = true;
        suspectedAt = nowNanos;
        return true;
    }
}
