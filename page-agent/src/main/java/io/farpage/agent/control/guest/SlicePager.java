package io.farpage.agent.control.guest;

import io.farpage.agent.control.latency.LatencySeries;
import io.farpage.agent.control.latency.LatencyTotals;
import io.farpage.agent.data.pager.Pager;
import io.farpage.agent.data.pager.PagerEnd;
import io.farpage.agent.data.pager.memory.PagerCounters;
import io.farpage.agent.data.pager.page.PageCensus;
import io.farpage.coordinator.model.HeatReport;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

/** A pager at work on a slice of a guest's space, and the shard that it is on. Any thread. */
record SlicePager(Slice slice, Pager pager, PagerHost host, Latencies latencies, CompletableFuture<PagerEnd> ended) {
    /**
     * The latencies of a pager's faults, in nanoseconds.
     *
     * @param fault from reading a fault to having installed its page
     * @param fetch the part until the page had arrived
     * @param install the part from then on
     */
    record Latencies(LatencyTotals fault, LatencyTotals fetch, LatencyTotals install) {
        static Latencies of(PagerCounters counters) {
            return new Latencies(
                    new LatencyTotals(counters.fault()),
                    new LatencyTotals(counters.fetch()),
                    new LatencyTotals(counters.install()));
        }

        /** As they are logged and shown. */
        Stream<LatencySeries> series(String space) {
            return Stream.of(
                    LatencySeries.of("fault", space, fault),
                    LatencySeries.of("fetch", space, fetch),
                    LatencySeries.of("install", space, install));
        }
    }

    /** Faults so far that needed a free frame of the limit. */
    long faultsThatTookFrames() {
        return pager.counters().fetched().get() + pager.counters().zeros().get();
    }

    /** How warm its pages are, counted from the first page of the guest. */
    Stream<HeatReport.Range> heat() {
        return pager.heat().report().stream()
                .map(range ->
                        new HeatReport.Range(range.firstPage() + slice.firstPage(), range.count(), range.faults()));
    }

    /** Counts where its pages are. */
    void count(PageCensus census) {
        pager.count(census, slice.firstPage());
    }

    /** The pager's part of the guest's status. */
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
