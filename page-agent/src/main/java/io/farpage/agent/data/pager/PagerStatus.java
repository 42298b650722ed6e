package io.farpage.agent.data.pager;

/**
 * How many pages of a guest are in which state, at one moment.
 *
 * @param pages all pages
 * @param pageSize bytes of a page
 * @param residentPages resident pages
 * @param peakResidentPages the most that were resident at once; with several pagers an upper bound of it
 * @param localLimitPages the most that may be resident, apart from stranded ones
 * @param remotePages at their homes, or being fetched
 * @param zeroPages never written, or given up
 * @param dirtyPages resident, and newer than at their homes
 * @param lostPages lost with their homes
 * @param strandedPages resident while their home is lost: the only copies, which are never evicted and not counted
 *     against the limit
 * @param evictions pages evicted so far
 * @param writtenBackPages pages written to their homes so far
 * @param elidedPages pages that were evicted without a write because they were zeros, so far
 * @param prefetchHits prefetched pages that the guest reached
 * @param prefetchWaste prefetched pages of streams that ended before them
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

    /** The status before there is a guest. */
    public static final PagerStatus NONE = new PagerStatus(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
}
