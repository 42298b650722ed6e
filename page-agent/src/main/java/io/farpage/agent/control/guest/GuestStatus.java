package io.farpage.agent.control.guest;

import com.fasterxml.jackson.annotation.JsonUnwrapped;
import io.farpage.agent.control.pins.PinStatus;
import io.farpage.agent.data.pager.PagerStatus;
import java.util.List;
import java.util.Optional;

/**
 * A guest as the REST API shows it.
 *
 * @param space name of the space whose pages are its memory
 * @param spaceId id of that space
 * @param state waiting for its VMM, attached, or ended
 * @param socket where the VMM hands its memory over
 * @param pid of the VMM, once attached
 * @param encrypted whether the homes can neither read its pages nor alter them unnoticed
 * @param evictable whether the VMM handed over what backs its memory, so that it can be kept under a limit
 * @param pins whether pages stay resident because a device may write to them
 * @param parked if its memory was made to leave for its homes
 * @param roomless whether pages of a thin space stay in its memory because no home has room for them
 * @param detail how it ended, or why the last handoff was refused; empty if there is no more to report
 * @param where its pages are
 * @param faults counts and latencies of its faults
 * @param pagers that serve it, one for each userfaultfd of the VMM; empty before the handoff
 */
public record GuestStatus(
        String space,
        long spaceId,
        String state,
        String socket,
        Optional<Integer> pid,
        boolean encrypted,
        boolean evictable,
        PinStatus pins,
        Optional<Parked> parked,
        boolean roomless,
        String detail,
        @JsonUnwrapped PagerStatus where,
        @JsonUnwrapped Faults faults,
        List<Part> pagers) {

    /**
     * What one pager serves.
     *
     * @param shard whose thread it is on
     * @param firstPage of its slice of the space
     * @param pages of its slice
     * @param residentPages of them that are resident
     * @param localLimitPages the most of them that may be resident at the moment
     * @param faults so far
     */
    public record Part(int shard, int firstPage, int pages, long residentPages, int localLimitPages, long faults) {}

    /**
     * Faults so far. Latencies are in nanoseconds, from reading the fault to having installed the page.
     *
     * @param faults all
     * @param fetchedFaults of pages at their homes
     * @param victimFaults of pages that were evicted a moment ago, and were not fetched
     * @param zeroFaults of pages of zeros
     * @param writeProtectFaults of stores to clean pages
     * @param repeatedFaults of pages that were resident, or being fetched
     * @param waitedFaults that waited for a free frame
     * @param removedPages that the guest discarded, such as by its balloon
     * @param prefetchedPages installed before a fault asked for them
     * @param integrityFailures pages of an encrypted space that came from their homes other than they were sealed; each
     *     is lost, unless another home has it
     * @param foreignPages at their homes that the memory file had although the agent had not installed them
     * @param hedgedReads reads of pages with several homes that took so long that another home was asked as well
     * @param repairedPages copied to homes that join, in place of lost homes or of those on nodes that are drained
     * @param faultP50Ns median
     * @param faultP99Ns 99th percentile
     * @param faultP999Ns 99.9th percentile
     * @param faultMaxNs the longest
     * @param fetchP50Ns median of the part until the page had arrived
     * @param fetchP99Ns its 99th percentile
     * @param installP50Ns median of the part from then on
     * @param installP99Ns its 99th percentile
     */
    public record Faults(
            long faults,
            long fetchedFaults,
            long victimFaults,
            long zeroFaults,
            long writeProtectFaults,
            long repeatedFaults,
            long waitedFaults,
            long removedPages,
            long prefetchedPages,
            long integrityFailures,
            long foreignPages,
            long hedgedReads,
            long repairedPages,
            long faultP50Ns,
            long faultP99Ns,
            long faultP999Ns,
            long faultMaxNs,
            long fetchP50Ns,
            long fetchP99Ns,
            long installP50Ns,
            long installP99Ns) {

        /** Before there is a guest. */
        static final Faults NONE = new Faults(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    }
}
