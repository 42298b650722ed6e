package io.farpage.verbs.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.WcStatus;
import io.farpage.verbs.WorkCompletion;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;

/** Polls a completion queue with a deadline. */
final class Polling {
    /** How long anything may take on a quiet machine. */
    static final Duration PATIENCE = Duration.ofSeconds(20);

    private static final long SPIN_NANOS = 10_000_000;
    private static final long PAUSE_NANOS = 10_000;

    private final CompletionQueue queue;

    Polling(CompletionQueue queue) {
        this.queue = queue;
    }

    /** The next completion; fails if none comes in time. */
    WorkCompletion next() {
        WorkCompletion[] one = WorkCompletion.array(1);
        long began = System.nanoTime();
        while (System.nanoTime() - began < SPIN_NANOS) {
            if (queue.poll(one) == 1) {
                return one[0];
            }
            Thread.onSpinWait();
        }
        // The peer may wait for this CPU.
        for (Deadlines.Wait wait = Deadlines.begin("a completion", PATIENCE); queue.poll(one) == 0; wait.check()) {
            LockSupport.parkNanos(PAUSE_NANOS);
        }
        return one[0];
    }

    /** The next {@code count} completions, in order. */
    List<WorkCompletion> next(int count) {
        List<WorkCompletion> all = new ArrayList<>();
        while (all.size() < count) {
            all.add(next());
        }
        return all;
    }

    /** The next completion, which must be of {@code wrId} and successful. */
    WorkCompletion success(long wrId) {
        return expect(wrId, WcStatus.SUCCESS);
    }

    /** The next completion, which must be of {@code wrId} with {@code status}. */
    WorkCompletion expect(long wrId, WcStatus status) {
        return expect(wrId, EnumSet.of(status));
    }

    /** The next completion, which must be of {@code wrId} with one of {@code statuses}. */
    WorkCompletion expect(long wrId, Set<WcStatus> statuses) {
        WorkCompletion completion = next();
        assertEquals(wrId, completion.wrId(), completion::toString);
        assertTrue(statuses.contains(completion.status()), () -> completion + " is none of " + statuses);
        return completion;
    }

    /** What is there now: nothing, if all is as expected. */
    int pollOnce() {
        return queue.poll(WorkCompletion.array(16));
    }
}
