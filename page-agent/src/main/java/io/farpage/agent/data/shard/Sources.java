package io.farpage.agent.data.shard;

import io.farpage.linux.PollSet;
import java.util.ArrayList;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The sources of a shard, which ask for pages: pagers, the page tool, a benchmark. One that throws does not end the
 * others.
 */
final class Sources {
    private static final Logger log = LoggerFactory.getLogger(Sources.class);

    private final List<DutyCycle> cycles = new ArrayList<>();

    /** Adds a source, before those that are in the background if it is not. */
    void add(DutyCycle cycle) {
        int at = cycles.size();
        while (!cycle.isBackground() && at > 0 && cycles.get(at - 1).isBackground()) {
            at--;
        }
        cycles.add(at, cycle);
    }

    void remove(DutyCycle cycle) {
        cycles.remove(cycle);
    }

    boolean isEmpty() {
        return cycles.isEmpty();
    }

    /** Runs a duty cycle of each. Returns the amount of work. */
    int doWork() {
        int work = 0;
        for (int i = 0; i < cycles.size(); i++) {
            DutyCycle cycle = cycles.get(i);
            try {
                work += cycle.doWork();
            } catch (RuntimeException | Error e) {
                // A source may have removed itself, so the index is no longer valid.
                if (!outlives(cycle, e)) {
                    cycles.remove(cycle);
                }
                return work + 1;
            }
        }
        return work;
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

    /** Adds the descriptors that sources wait for. */
    void addDescriptors(PollSet to) {
        for (int i = 0; i < cycles.size(); i++) {
            int fd = cycles.get(i).fileDescriptor();
            if (fd >= 0) {
                to.add(fd, PollSet.POLLIN);
            }
        }
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
