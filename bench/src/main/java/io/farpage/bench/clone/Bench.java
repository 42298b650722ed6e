package io.farpage.bench.clone;

import io.farpage.bench.baseline.FaultToucher;
import io.farpage.bench.baseline.HeldToucher;
import io.farpage.bench.pattern.PagePattern;
import io.farpage.bench.report.FetchRound;
import java.time.Duration;
import java.util.Locale;
import java.util.OptionalInt;
import org.HdrHistogram.Histogram;

/**
 * What all sides share: the agents, the program that touches memory, and which pages it touches.
 *
 * @param toucher the C program
 */
record Bench(ClonePlan plan, CloneAgents agents, FaultToucher toucher) {
    private static final long ROUNDS_SEED = 1_000_003;

    /** Starts one process that touches a page. */
    @FunctionalInterface
    interface Start {
        /** Returns what the process has measured, and the time until the process had its first page. */
        HeldToucher.Touched start(FaultToucher.Walk walk) throws InterruptedException;
    }

    /** As many starts as a round has, one after another, each with another page. */
    FetchRound starts(int round, Start start) throws InterruptedException {
        Histogram times = FetchRound.newHistogram();
        Duration elapsed = Duration.ZERO;
        long mismatches = 0;
        for (int i = 0; i < plan.clonesOf(round); i++) {
            long seed = plan.run().seed() * ROUNDS_SEED + (long) round * plan.given().clones + i;
            HeldToucher.Touched touched = start.start(FaultToucher.Walk.ofOnePage(plan.pages(), seed));
            times.recordValue(Math.min(touched.first().toNanos(), FetchRound.LONGEST_NS));
            mismatches += touched.measured().round().mismatches();
            elapsed = elapsed.plus(touched.first());
        }
        return new FetchRound(times, mismatches, elapsed);
    }

    /** The pages that are touched in each round in which touches are timed. */
    FaultToucher.Walk walk() {
        return new FaultToucher.Walk(
                plan.pages(),
                plan.given().touches,
                PagePattern.RANDOM,
                1,
                plan.settle(),
                plan.run().seed(),
                false);
    }

    /** How a process of one thread runs that touches pages. */
    FaultToucher.Setting setting(FaultToucher.Memory memory, long touches) {
        return new FaultToucher.Setting(
                memory, plan.run().seed(), OptionalInt.of(plan.placement().toucherCpu()), plan.timeout(touches));
    }

    /** What the memory of clones is. */
    String clonesBacking() {
        return plan.given().backing.name().toLowerCase(Locale.ROOT);
    }
}
