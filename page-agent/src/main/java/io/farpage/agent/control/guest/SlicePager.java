package io.farpage.agent.control.guest;

import io.farpage.agent.data.pager.Pager;
import io.farpage.agent.data.pager.PagerEnd;
import io.farpage.coordinator.model.HeatReport;
import io.farpage.linux.uffd.Userfaultfd;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

/** A pager at work on a slice of a guest's space, and what it was given. Any thread. */
record SlicePager(
        Slice slice,
        Pager pager,
        PagerHost host,
        Userfaultfd uffd,
        LatencyTotals fault,
        LatencyTotals fetch,
        LatencyTotals install,
        CompletableFuture<PagerEnd> ended) {

    static SlicePager of(
            Slice slice, Pager pager, PagerHost host, Userfaultfd uffd, CompletableFuture<PagerEnd> ended) {
        return new SlicePager(
                slice,
                pager,
                host,
                uffd,
                new LatencyTotals(pager.counters().fault()),
                new LatencyTotals(pager.counters().fetch()),
                new LatencyTotals(pager.counters().install()),
                ended);
    }

    /** Faults so far of pages that had to be given room. */
    long faultsOfRoom() {
        return pager.counters().fetched().get() + pager.counters().zeros().get();
    }

    /** How warm its pages are, counted as the space counts them. */
    Stream<HeatReport.Range> heat() {
        return pager.heat().report().stream()
                .map(range ->
                        new HeatReport.Range(range.firstPage() + slice.firstPage(), range.count(), range.faults()));
    }

    /** What there is to see of it. */
    GuestStatus.Part status() {
        return new GuestStatus.Part(
                host.number(),
                slice.firstPage(),
                slice.pages(),
                pager.status().residentPages(),
                pager.limit(),
                pager.counters().faults());
    }
}
