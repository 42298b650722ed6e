package io.farpage.agent.data.pager;

/**
 * Where the pages of a guest are, at one moment.
 *
 * @param pages how many there are
 * @param pageSize bytes of one
 * @param residentPages here
 * @param peakResidentPages the most that were here at once; with several pagers an upper bound of that
 * @param localLimitPages the most that may be here, apart from stranded ones
 * @param remotePages at their homes, or on their way here
 * @param zeroPages zeros, and so nowhere
 * @param dirtyPages here, and newer than at their homes
 * @param lostPages gone with their homes
 * @param strandedPages resident while their home is lost: the only copies, which are never evicted and not counted against the limit
 * @param evictions pages taken out so far
 * @param writtenBackPages pages written to their homes so far
 * @param elidedPages pages that were zeros when they were taken out, so far
 * @param prefetchHits pages prefetched, behind which the guest went on
 * @param prefetchWaste pages prefetched in streams that ended
 * @param children processes that the VMM forked and that have its memory; nothing is evicted while they share it
 */
public record PagerStatus(
        long pages,
        int pageSize,
        long residentPages,
        long peakResidentPages,
        int localLimitPages,
        long remotePages,
        long zeroPages,
        long dirtyPages,
        long lostPages,
        long strandedPages,
        long evictions,
        long writtenBackPages,
        long elidedPages,
        long prefetchHits,
        long prefetchWaste,
        int children) {

    /** Before there is a guest. */
    public static final PagerStatus NONE = new PagerStatus(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
}
