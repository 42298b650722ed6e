package io.farpage.bench.clone;

import io.farpage.bench.baseline.FaultToucher;
import io.farpage.bench.baseline.HeldToucher;
import io.farpage.bench.pattern.PagePattern;
import io.farpage.bench.report.Cost;
import io.farpage.bench.report.FetchRound;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * Processes that map one file at the same time: each touches all of its pages, in an order of its own, and then writes
 * to some. Their memory is read while all of them live. They run on all CPUs.
 */
final class Sharers implements Side {
    private final Bench bench;
    private final MappedFile file;
    private final @Nullable Sharers baseline;
    private long memoryBytes;
    private long fetched;

    /** @param baseline that is measured in the same rounds; null if none is, or this is one */
    Sharers(Bench bench, MappedFile file, @Nullable Sharers baseline) {
        this.bench = bench;
        this.file = file;
        this.baseline = baseline;
    }

    @Override
    public String name() {
        return file.name();
    }

    @Override
    public String backing() {
        return "file";
    }

    @Override
    public FetchRound run(int round) throws InterruptedException {
        if (file.isCold()) {
            // One page is touched, and is in the page cache again.
            var _ = bench.toucher()
                    .touch(
                            bench.setting(file.memory(), 1),
                            FaultToucher.Walk.ofOnePage(bench.plan().pages(), 1));
        }
        long before = bench.agents().fetchedPages();
        FetchRound done = file.use(bench.agents(), this::share);
        fetched = bench.agents().fetchedPages() - before;
        return done;
    }

    private FetchRound share() throws InterruptedException {
        ClonePlan plan = bench.plan();
        long pages = plan.pages();
        int processes = plan.given().sharers;
        FaultToucher.Setting setting = new FaultToucher.Setting(
                new FaultToucher.Mapped(file.path(), false),
                plan.run().seed(),
                OptionalInt.empty(),
                plan.timeout(pages * processes));
        List<HeldToucher> sharers = new ArrayList<>();
        try {
            for (int i = 0; i < processes; i++) {
                FaultToucher.Walk walk = new FaultToucher.Walk(
                        pages, pages, PagePattern.RANDOM, 1, 0, plan.run().seed() + i, false);
                sharers.add(bench.toucher().hold(setting, walk, plan.dirtyPages()));
            }
            long began = System.nanoTime();
            sharers.forEach(HeldToucher::go);
            Histogram latencies = FetchRound.newHistogram();
            long mismatches = 0;
            for (HeldToucher sharer : sharers) {
                FetchRound one = sharer.touched().measured().round();
                latencies.add(one.latencies());
                mismatches += one.mismatches();
            }
            Duration elapsed = Duration.ofNanos(System.nanoTime() - began);
            memoryBytes = memory(sharers);
            return new FetchRound(latencies, mismatches, elapsed);
        } finally {
            sharers.forEach(HeldToucher::close);
        }
    }

    /** The memory of all of them. */
    private static long memory(List<HeldToucher> sharers) throws InterruptedException {
        // A sharer that answers has written to its pages.
        long cachedBytes = 0;
        for (HeldToucher sharer : sharers) {
            cachedBytes = sharer.cachedPages() * ClonePlan.PAGE_BYTES;
        }
        ProcessMemory all = sharers.stream()
                .map(sharer -> ProcessMemory.of(sharer.pid()))
                .reduce(new ProcessMemory(0, 0), ProcessMemory::plus);
        return all.bytes() + Math.max(0, cachedBytes - all.fileBytes());
    }

    @Override
    public Cost cost() {
        ClonePlan plan = bench.plan();
        int processes = plan.given().sharers;
        return new Cost.OfSharing(
                processes,
                plan.given().memory,
                processes * plan.dirtyPages() * ClonePlan.PAGE_BYTES,
                memoryBytes,
                baseline == null ? null : baseline.memoryBytes,
                new Cost.OfTouches(processes * plan.pages(), plan.pages(), fetched));
    }
}
