package io.farpage.bench.coherent;

import io.farpage.bench.report.FetchRound;
import io.farpage.guest.command.CommandException;
import io.farpage.linux.uffd.PagedAccess;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.HdrHistogram.Histogram;

/** Loads and stores the memory of members, and records how long that takes. Used by one thread. */
final class Hand {
    private static final int WORDS = CoherentPlan.PAGE_BYTES / Long.BYTES;

    private final Histogram latencies = FetchRound.newHistogram();
    private final MemorySegment word = Arena.ofAuto().allocate(Long.BYTES, Long.BYTES);
    private final MemorySegment page = Arena.ofAuto().allocate(CoherentPlan.PAGE_BYTES, Long.BYTES);

    /** Loads the first word of a page, which must have a value. */
    void load(Member member, int number, long expected) {
        long began = System.nanoTime();
        PagedAccess.read(member.address(number), word);
        latencies.recordValue(System.nanoTime() - began);
        long found = word.get(ValueLayout.JAVA_LONG, 0);
        if (found != expected) {
            throw new CommandException("page %d holds %d, expected %d".formatted(number, found, expected));
        }
    }

    /** Stores to the first word of a page. */
    void store(Member member, int number, long value) {
        word.set(ValueLayout.JAVA_LONG, 0, value);
        long began = System.nanoTime();
        PagedAccess.write(member.address(number), word);
        latencies.recordValue(System.nanoTime() - began);
    }

    /** The sum of all words of a page. */
    long sum(Member member, int number) {
        long began = System.nanoTime();
        PagedAccess.read(member.address(number), page);
        latencies.recordValue(System.nanoTime() - began);
        long sum = 0;
        for (int i = 0; i < WORDS; i++) {
            sum += page.getAtIndex(ValueLayout.JAVA_LONG, i);
        }
        return sum;
    }

    Histogram latencies() {
        return latencies;
    }
}
