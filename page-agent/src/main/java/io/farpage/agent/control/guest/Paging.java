package io.farpage.agent.control.guest;

import io.farpage.agent.control.latency.LatencySeries;
import io.farpage.agent.control.pins.PinStatus;
import io.farpage.agent.control.space.SpaceUse;
import io.farpage.agent.control.trace.TracedPager;
import io.farpage.agent.data.pager.PagerEnd;
import io.farpage.agent.data.pager.PagerStatus;
import io.farpage.agent.data.pager.page.PresenceMap;
import io.farpage.coordinator.model.CopyReport;
import io.farpage.coordinator.model.HeatReport;
import io.farpage.coordinator.model.PageMap;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeoutException;

/**
 * The pagers of one guest. They serve nothing before {@link #start}. Used by the guest's thread, except for
 * {@link #resize}, {@link #status} and {@link #pins}.
 */
interface Paging {
    /** Process id of the VMM. */
    int pid();

    /** Starts to serve. Called once. */
    void start();

    /** Whether the guest goes on when this process is killed and another one succeeds it. Any thread. */
    default boolean isKept() {
        return false;
    }

    /** Whether the VMM handed over its memory file, so that pages can be evicted. */
    boolean isEvictable();

    /**
     * Waits for all pagers to end.
     *
     * @throws TimeoutException if they have not by then
     */
    PagerEnd await(Duration time) throws InterruptedException, TimeoutException;

    /**
     * Which pages of the space the homes have. Call it when all pagers have ended and have written the guest's memory
     * home, and before {@link #close}.
     *
     * @return empty if the homes of the space know that themselves
     */
    Optional<PresenceMap> presence();

    /** Makes all pagers probe whether their VMM's address space still exists. */
    void probe() throws InterruptedException;

    /** Whether no pager can reach a home or has a transfer under way. */
    boolean isCutOff() throws InterruptedException;

    /** Whether all pagers have ended by themselves and have no transfer under way. */
    boolean hasEnded();

    /**
     * Changes how many pages may be resident. Any thread.
     *
     * @throws IllegalArgumentException if that is too few for the number of pagers
     */
    void resize(int localPages);

    /** The fewest pages that may stay resident while the guest is parked. Any thread. */
    long leastParkedPages();

    /**
     * Parks the guest: all but a few pages leave for their homes. Any thread.
     *
     * @param keepPages that may stay, {@link #leastParkedPages} or more
     * @throws TimeoutException if a shard does not answer; pagers of other shards are parked
     */
    void park(int keepPages) throws TimeoutException;

    /** Ends parking, and brings back what had left, as far as the limit has room. Any thread. */
    void unpark();

    /** Whether the guest is parked. Any thread. */
    Optional<Parked> parked();

    /**
     * Unparks all pagers of a parked guest if one of them was woken by its faults.
     *
     * @return whether that was so
     */
    boolean unparkIfWoken();

    /** The pagers, for a snapshot of the guest. Any thread. */
    default Optional<PagerFreezing> freezing() {
        return Optional.empty();
    }

    /** Gives back room of a thin space whose pages the guest has given up. The guest's thread. */
    default void giveRoomBack(SpaceUse use) throws InterruptedException {}

    /** Processor time that the VMM has used; empty if that is not known. */
    Optional<Duration> processorTime();

    /** Faults so far. Any thread. */
    long faults();

    /** Faults by range of pages. */
    HeatReport heat();

    /** Its faults since the last call, for one caller. Any thread. */
    GuestSample.Faults recentFaults();

    /** How far the copying of its pages to homes that join is, of each extent. Any thread. */
    List<CopyReport.Copy> copies(long space);

    /** Where its pages are, over the address space. */
    PageMap map();

    /** The status of pins on the memory. Any thread. */
    PinStatus pins();

    /** Where the pages of all pagers together are. Any thread. */
    PagerStatus where();

    /** The same with counts and latencies of their faults. Any thread. */
    PagingStatus status();

    /** The latencies of the faults of all pagers together. Any thread. */
    GuestLatencies latencies(String space);

    /** The recorders of those latencies, for the series of the space. Any thread. */
    List<LatencySeries> series(String space);

    /** The pagers, for traces of their faults. Any thread. */
    List<TracedPager> traced(String space);

    /**
     * Removes the pagers from their shards and closes the VMM's descriptors: of a kept guest whose pages are all at
     * their homes when {@link #forget} is called, too.
     */
    void close();

    /** The space is detached, so that no successor needs the guest. Call it after the pagers have ended. Any thread. */
    void forget();
}
