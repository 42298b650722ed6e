package io.farpage.agent.data.pager.home;

import java.time.Duration;

/**
 * What a pager does with the homes of an extent that has several, and what it tells the control plane about them. The
 * methods are called on the shard's thread, seldom, and must not wait.
 */
public interface Mirroring {
    /** The mirroring of a space whose pages have one home each. */
    Mirroring NONE = new Mirroring() {};

    /** The default of {@code mirror.hedge}. */
    Duration HEDGE = Duration.ofMillis(20);

    /** The default of {@code mirror.drop_after}. */
    Duration DROP_AFTER = Duration.ofSeconds(1);

    /** The default of {@code mirror.repair_rate}, bytes a second. */
    long REPAIR_RATE = 100L << 20;

    /** Bytes a second, at most, that a pager copies to homes that join. */
    default long repairBytesPerSecond() {
        return REPAIR_RATE;
    }

    /** How long a READ may take before another home is asked as well. */
    default long hedgeNanos() {
        return HEDGE.toNanos();
    }

    /** How long a WRITE may take before its home must be dropped. */
    default long dropNanos() {
        return DROP_AFTER.toNanos();
    }

    /**
     * A home does not take WRITEs and another one does: it must be dropped from the space.
     *
     * @param silent whether its link is up and it does not answer
     */
    default void suspect(String node, long incarnation, boolean silent) {}

    /**
     * The pager notes from now on which pages of an extent it writes, so the home that joins may copy the others from
     * the homes. Told again while the map says that this is awaited.
     *
     * @param firstPage of the extent in the whole space
     * @param epoch of the extent
     */
    default void mayPull(long firstPage, long epoch) {}

    /**
     * All pages of an extent, as far as this pager has them, are at the home that joins it. Told again while that
     * lasts.
     *
     * @param firstPage of the extent in the whole space
     * @param epoch of the extent
     */
    default void copied(long firstPage, long epoch) {}

    /** A home that joins has missed a page and must be dropped. The call is repeated while that lasts. */
    default void joiningFailed(String node, long incarnation) {}

    /**
     * Pages of an extent without homes have to be written: it needs room. Told again while that lasts.
     *
     * @param firstPage of the extent in the whole space
     * @param epoch of the extent
     */
    default void needsRoom(long firstPage, long epoch) {}

    /**
     * Whether no home has room for what was asked for last: pages of extents without homes stay in the guest's memory.
     */
    default boolean hasNoRoom() {
        return false;
    }

    /** No transfer that began under an earlier map than this revision is under way. */
    default void settled(long revision) {}
}
