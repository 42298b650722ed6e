package io.farpage.agent.data.shard;

import io.farpage.linux.PollSet;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The sources of a shard, which ask for pages: pagers, the page tool, a benchmark. One that throws does not end the
 * others.
 */
final class Sources {
    private static final Logger log = LoggerFactory.getLogger(Sources.class);

    /** Other guests' faults wait for so long, and for one cycle more, before they are looked for again. */
    private static final long BUDGET_NANOS = TimeUnit.MICROSECONDS.toNanos(100);

    /** With that number of sources or more, all descriptors are polled before each looks at its own. */
    private static final int MANY = 8;

    private static final int NONE = -1;

    /**
     * None is left out for longer. A source that rests learns no later of what nothing announces, such as a new map of
     * its space.
     */
    private static final long REST_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final List<DutyCycle> cycles = new ArrayList<>();
    private final LongSupplier clock;
    /** Where the next call of {@link #doWork} begins. */
    private int next;
    /** Whether the latest call of {@link #doWork} has reached the last one. */
    private boolean isRoundOver;
    /** By source: its entry in the set that descriptors were added to last, or {@link #NONE}. */
    private int[] entries = new int[MANY];
    /** By source: whether its descriptor was polled for this duty cycle, and is not readable. */
    private boolean[] silent = new boolean[MANY];
    /** How many of {@link #entries} are valid. */
    private int added;
    /** Whether this duty cycle leaves out sources that rest. */
    private boolean leavesOut;
    /** Whether no part of this round has left out any. */
    private boolean isRoundOfAll;
    /** When the last part of the latest round of all began. */
    private long allRan;

    /** @param clock monotonic nanoseconds */
    Sources(LongSupplier clock) {
        this.clock = clock;
        allRan = clock.getAsLong();
    }

    /** Adds a source, before those that are in the background if it is not. */
    void add(DutyCycle cycle) {
        int at = cycles.size();
        while (!cycle.isBackground() && at > 0 && cycles.get(at - 1).isBackground()) {
            at--;
        }
        cycles.add(at, cycle);
        wake();
    }

    void remove(DutyCycle cycle) {
        cycles.remove(cycle);
        wake();
    }

    /** Any of them may have work: the next duty cycle leaves none out. */
    void wake() {
        leavesOut = false;
    }

    private boolean isLeftOut(int index) {
        return leavesOut && silent[index] && cycles.get(index).isAtRest();
    }

    boolean isEmpty() {
        return cycles.isEmpty();
    }

    /** Does the urgent part of the work of each. Returns the amount of work. */
    int doUrgentWork() {
        int work = 0;
        for (int i = 0; i < cycles.size(); i++) {
            if (isLeftOut(i)) {
                continue;
            }
            DutyCycle cycle = cycles.get(i);
            try {
                work += cycle.doUrgentWork();
            } catch (RuntimeException | Error e) {
                failed(cycle, e);
                return work + 1;
            }
        }
        return work;
    }

    /**
     * Runs a duty cycle of each in turn, those in the background last. Once the budget is used up, the others wait for
     * the next call. Returns the amount of work.
     */
    int doWork() {
        int work = 0;
        long start = cycles.size() > 1 ? clock.getAsLong() : 0;
        int from = next < cycles.size() ? next : 0;
        isRoundOfAll = (from == 0 || isRoundOfAll) && !leavesOut;
        next = 0;
        isRoundOver = false;
        for (int i = from; i < cycles.size(); i++) {
            if (isLeftOut(i)) {
                continue;
            }
            DutyCycle cycle = cycles.get(i);
            try {
                work += cycle.doWork();
            } catch (RuntimeException | Error e) {
                failed(cycle, e);
                return work + 1;
            }
            if (i + 1 < cycles.size() && work > 0 && clock.getAsLong() - start >= BUDGET_NANOS) {
                next = i + 1;
                leavesOut = false;
                return work;
            }
        }
        if (isRoundOfAll) {
            allRan = start;
        }
        leavesOut = false;
        isRoundOver = true;
        return from > 0 ? work + 1 : work;
    }

    /** A source has thrown. It may have removed itself, so no index of one is valid any longer. */
    private void failed(DutyCycle cycle, Throwable cause) {
        leavesOut = false;
        if (!outlives(cycle, cause)) {
            cycles.remove(cycle);
        }
    }

    /**
     * Whether a source that threw is run again. If not, its transfers end by themselves. The other sources continue.
     */
    private static boolean outlives(DutyCycle cycle, Throwable cause) {
        if (cause instanceof OutOfMemoryError fatal) {
            throw fatal; // any allocation may throw it, and no source can be relied on to survive it
        }
        log.error("{} threw; the other sources of the shard continue", cycle, cause);
        try {
            return cycle.failed(cause);
        } catch (RuntimeException | Error e) {
            log.error("{} could not handle what it threw and is not run again", cycle, e);
            return false;
        }
    }

    /** The thread has slept. */
    void slept() {
        for (int i = 0; i < cycles.size(); i++) {
            cycles.get(i).slept();
        }
    }

    /** Whether none has work that no event announces. */
    boolean areQuiescent() {
        if (!isRoundOver) {
            return false;
        }
        for (int i = 0; i < cycles.size(); i++) {
            if (!cycles.get(i).isQuiescent()) {
                return false;
            }
        }
        return true;
    }

    /** Whether a source cannot be woken through a file descriptor. */
    boolean needPolling() {
        for (int i = 0; i < cycles.size(); i++) {
            if (cycles.get(i).needsPolling()) {
                return true;
            }
        }
        return false;
    }

    /** Whether time alone brings work to one of them. */
    boolean waitForTime() {
        for (int i = 0; i < cycles.size(); i++) {
            if (cycles.get(i).waitsForTime()) {
                return true;
            }
        }
        return false;
    }

    /** Whether one poll of all descriptors takes less time than a look of each source at its own. */
    boolean areMany() {
        return cycles.size() >= MANY;
    }

    /** Adds the descriptors that sources wait for. */
    void addDescriptors(PollSet to) {
        if (entries.length < cycles.size()) {
            entries = new int[2 * cycles.size()];
            silent = new boolean[2 * cycles.size()];
        }
        added = cycles.size();
        for (int i = 0; i < added; i++) {
            int fd = cycles.get(i).fileDescriptor();
            entries[i] = fd < 0 ? NONE : to.add(fd, PollSet.POLLIN);
        }
    }

    /** Tells each source about its descriptor, in a set that was waited on since {@link #addDescriptors}. */
    void polled(PollSet set) {
        boolean isOfThese = added == cycles.size();
        for (int i = 0; i < added && isOfThese; i++) {
            silent[i] = entries[i] != NONE && set.ready(entries[i]) == 0;
            if (entries[i] != NONE) {
                cycles.get(i).polled(!silent[i]);
            }
        }
        added = 0;
        // The rest of a round of all is one of all.
        leavesOut = isOfThese && cycles.size() > 1 && next == 0 && clock.getAsLong() - allRan < REST_NANOS;
    }

    /** Whether some wait for descriptors. */
    boolean hasDescriptors() {
        for (int i = 0; i < cycles.size(); i++) {
            if (cycles.get(i).fileDescriptor() >= 0) {
                return true;
            }
        }
        return false;
    }
}
