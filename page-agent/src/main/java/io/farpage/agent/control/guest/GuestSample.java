package io.farpage.agent.control.guest;

import io.farpage.agent.data.pager.PagerStatus;
import io.farpage.coordinator.model.FaultFigures;
import io.farpage.coordinator.model.FiguresReport;
import io.farpage.coordinator.model.GuestPages;
import io.farpage.coordinator.model.PageMap;
import java.util.Optional;
import java.util.OptionalLong;
import org.HdrHistogram.Histogram;

/**
 * The faults of a guest since its last sample, and where its pages are.
 *
 * @param space id of its space
 * @param where its pages are
 * @param faults since the last sample
 * @param parked if it is parked
 * @param map of its pages over the address space, if one was requested
 */
record GuestSample(long space, PagerStatus where, Faults faults, Optional<Parked> parked, Optional<PageMap> map) {
    /**
     * Faults that were counted for a while.
     *
     * @param count all of them
     * @param fault latencies from reading a fault to having installed its page, nanoseconds
     * @param fetch the part until the page had arrived
     */
    record Faults(long count, Histogram fault, Histogram fetch) {
        static Faults none() {
            return new Faults(0, new Histogram(3), new Histogram(3));
        }

        Faults plus(Faults other) {
            Histogram allFaults = fault.copy();
            allFaults.add(other.fault);
            Histogram allFetches = fetch.copy();
            allFetches.add(other.fetch);
            return new Faults(count + other.count, allFaults, allFetches);
        }

        FaultFigures figures() {
            return new FaultFigures(
                    count,
                    fault.getTotalCount(),
                    fault.getValueAtPercentile(50),
                    fault.getValueAtPercentile(99),
                    fetch.getValueAtPercentile(50),
                    fetch.getValueAtPercentile(99));
        }
    }

    /** The sample in the form that is reported to the coordinator. */
    FiguresReport.Guest report() {
        return new FiguresReport.Guest(
                space,
                new GuestPages(
                        where.pages(),
                        where.localLimitPages(),
                        where.residentPages(),
                        where.dirtyPages(),
                        where.remotePages(),
                        where.zeroPages(),
                        where.lostPages(),
                        where.strandedPages()),
                faults.figures(),
                parked.map(as -> OptionalLong.of(as.since())).orElse(OptionalLong.empty()),
                map);
    }
}
