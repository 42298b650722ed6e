package io.farpage.agent.control.guest;

import io.farpage.agent.control.latency.LatencyTotals;
import io.farpage.agent.data.pager.PagerStatus;
import io.farpage.agent.data.pager.memory.PagerCounters;
import io.farpage.agent.data.pager.page.PageCensus;
import io.farpage.agent.data.pager.page.PageCensus.Where;
import io.farpage.coordinator.model.PageMap;
import java.util.List;
import java.util.function.Function;
import java.util.function.ToLongFunction;
import java.util.stream.IntStream;
import org.HdrHistogram.Histogram;

/**
 * The status of a guest's memory at one moment, over all its pagers.
 *
 * @param where its pages are
 * @param faults counts of its faults
 * @param parts each pager's share of it
 */
record PagingStatus(PagerStatus where, GuestStatus.Faults faults, List<GuestStatus.Part> parts) {
    /** The status before there is a guest. */
    static final PagingStatus NONE = new PagingStatus(PagerStatus.NONE, GuestStatus.Faults.NONE, List.of());

    /**
     * @param cap pages that all may hold together
     * @param ceiling the most pages that all can have held at once
     */
    static PagingStatus of(List<SlicePager> pagers, int cap, long ceiling) {
        return new PagingStatus(
                where(pagers, cap, ceiling),
                faults(
                        pagers.stream().map(one -> one.pager().counters()).toList(),
                        pagers.stream().map(SlicePager::latencies).toList()),
                pagers.stream().map(SlicePager::status).toList());
    }

    /** The status of memory that one source serves. */
    static PagingStatus of(
            PagerStatus where, PagerCounters counters, SlicePager.Latencies latencies, GuestStatus.Part part) {
        return new PagingStatus(where, faults(List.of(counters), List.of(latencies)), List.of(part));
    }

    /** Where the pages are; see {@link #of}. */
    static PagerStatus where(List<SlicePager> pagers, int cap, long ceiling) {
        List<PagerStatus> all = pagers.stream().map(one -> one.pager().status()).toList();
        if (all.size() == 1) {
            return all.getFirst();
        }
        return new PagerStatus(
                sum(all, PagerStatus::pages),
                all.getFirst().pageSize(),
                sum(all, PagerStatus::residentPages),
                Math.min(ceiling, sum(all, PagerStatus::peakResidentPages)),
                cap,
                sum(all, PagerStatus::remotePages),
                sum(all, PagerStatus::zeroPages),
                sum(all, PagerStatus::dirtyPages),
                sum(all, PagerStatus::lostPages),
                sum(all, PagerStatus::strandedPages),
                sum(all, PagerStatus::evictions),
                sum(all, PagerStatus::writtenBackPages),
                sum(all, PagerStatus::elidedPages),
                sum(all, PagerStatus::prefetchHits),
                sum(all, PagerStatus::prefetchWaste),
                all.stream().mapToInt(PagerStatus::children).max().orElse(0));
    }

    private static GuestStatus.Faults faults(List<PagerCounters> all, List<SlicePager.Latencies> latencies) {
        Histogram fault = latency(latencies, SlicePager.Latencies::fault);
        Histogram fetch = latency(latencies, SlicePager.Latencies::fetch);
        Histogram install = latency(latencies, SlicePager.Latencies::install);
        return new GuestStatus.Faults(
                sum(all, PagerCounters::faults),
                sum(all, counters -> counters.fetched().get()),
                sum(all, counters -> counters.victims().get()),
                sum(all, counters -> counters.zeros().get()),
                sum(all, counters -> counters.writeProtect().get()),
                sum(all, counters -> counters.repeated().get()),
                sum(all, counters -> counters.waits().get()),
                sum(all, counters -> counters.removed().get()),
                sum(all, counters -> counters.prefetched().get()),
                sum(all, counters -> counters.integrityFailures().get()),
                sum(all, counters -> counters.foreign().get()),
                sum(all, counters -> counters.hedged().get()),
                sum(all, counters -> counters.repaired().get()),
                fault.getValueAtPercentile(50),
                fault.getValueAtPercentile(99),
                fault.getValueAtPercentile(99.9),
                fault.getMaxValue(),
                fetch.getValueAtPercentile(50),
                fetch.getValueAtPercentile(99),
                install.getValueAtPercentile(50),
                install.getValueAtPercentile(99));
    }

    /** The latencies of all pagers together. */
    static GuestLatencies latencies(String space, List<SlicePager> pagers) {
        return allLatencies(space, pagers.stream().map(SlicePager::latencies).toList());
    }

    /** As {@link #latencies}. */
    static GuestLatencies allLatencies(String space, List<SlicePager.Latencies> all) {
        return new GuestLatencies(
                space,
                latency(all, SlicePager.Latencies::fault),
                latency(all, SlicePager.Latencies::fetch),
                latency(all, SlicePager.Latencies::install));
    }

    /** The latencies of all pagers together since the last call, for one caller. */
    static GuestSample.Faults recent(long faults, List<SlicePager> pagers) {
        return recentFaults(faults, pagers.stream().map(SlicePager::latencies).toList());
    }

    /** As {@link #recent}. */
    static GuestSample.Faults recentFaults(long faults, List<SlicePager.Latencies> all) {
        Histogram fault = new Histogram(3);
        Histogram fetch = new Histogram(3);
        for (SlicePager.Latencies one : all) {
            fault.add(one.fault().recent());
            fetch.add(one.fetch().recent());
        }
        return new GuestSample.Faults(faults, fault, fetch);
    }

    private static Histogram latency(
            List<SlicePager.Latencies> latencies, Function<SlicePager.Latencies, LatencyTotals> which) {
        Histogram all = which.apply(latencies.getFirst()).sample();
        latencies.stream().skip(1).forEach(one -> all.add(which.apply(one).sample()));
        return all;
    }

    /** Where the pages are, over the address space. */
    static PageMap map(PageCensus census) {
        return new PageMap(
                percents(census, Where.RESIDENT),
                percents(census, Where.DIRTY),
                percents(census, Where.REMOTE),
                percents(census, Where.ZERO),
                percents(census, Where.LOST));
    }

    private static List<Integer> percents(PageCensus census, Where where) {
        return IntStream.range(0, census.parts())
                .mapToObj(part -> census.percent(where, part))
                .toList();
    }

    private static <T> long sum(List<T> all, ToLongFunction<T> what) {
        return all.stream().mapToLong(what).sum();
    }
}
