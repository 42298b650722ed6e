package io.farpage.it.deadlines;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.function.BooleanSupplier;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionEvaluationListener;
import org.awaitility.core.ConditionFactory;

/**
 * How long a test waits for what it does not control. Each time is that of a quiet machine; on a loaded one it is up to {@value Deadline#LONGEST} times as long, by
 * what the machine gives when the wait begins and while it lasts. A wait that fails tells what the machine gave.
 *
 * <p>Not for times that are under test: a rule of time is tested on a clock that the test holds.
 */
public final class Deadlines {
    /** For what a quiet machine does within a few seconds. */
    public static final Duration SHORT = Duration.ofSeconds(10);
    /** How long anything may take on a quiet machine that starts processes. */
    public static final Duration LONG = Duration.ofSeconds(30);

    private static final Duration LONGEST_INTERVAL = Duration.ofSeconds(1);
    private static final Duration SHORTEST_INTERVAL = Duration.ofMillis(100);
    private static final int READINGS = 4;
    private static final Duration POLL_INTERVAL = Duration.ofMillis(20);
    private static final CpuProbe PROBE = new CpuProbe();

    private Deadlines() {}

    /** The time that a machine needs for {@code quiet}, if it goes on as it is: for waits that take one duration and cannot be asked again. */
    public static Duration of(Duration quiet) {
        return Duration.ofNanos((long)
                (quiet.toNanos() / PROBE.recent(LONGEST_INTERVAL.toNanos()).given()));
    }

    /** A wait of Awaitility that ends with the deadline. An {@code atMost} of the caller's own would bring the fixed one back. */
    public static ConditionFactory await(String what, Duration quiet) {
        Wait wait = new Wait(what, quiet);
        return Awaitility.await(what)
                .atMost(quiet.multipliedBy(Deadline.LONGEST + 1))
                .failFast("the deadline is over", wait::check)
                .conditionEvaluationListener(wait.listener());
    }

    /** Waits for a result, which an exception of the task's is too. */
    public static <T> T get(String what, Duration quiet, Future<T> task)
            throws InterruptedException, ExecutionException {
        until(what, quiet, task::isDone);
        return task.get();
    }

    /** Waits for the end of a process and gives its exit code. */
    public static int exit(String what, Duration quiet, Process process) {
        until(what, quiet, () -> !process.isAlive());
        return process.exitValue();
    }

    /** Waits for the end of a thread. */
    public static void join(String what, Duration quiet, Thread thread) {
        until(what, quiet, () -> !thread.isAlive());
    }

    private static void until(String what, Duration quiet, BooleanSupplier condition) {
        await(what, quiet).pollDelay(Duration.ZERO).pollInterval(POLL_INTERVAL).until(condition::getAsBoolean);
    }

    /** A wait that is under way, and reads the machine now and then. */
    private static final class Wait {
        private final Deadline deadline;
        private final long intervalNanos;
        private long readNanos;
        private volatile Optional<String> mismatch = Optional.empty();
        private boolean said;

        Wait(String what, Duration quiet) {
            intervalNanos =
                    Math.clamp(quiet.toNanos() / READINGS, SHORTEST_INTERVAL.toNanos(), LONGEST_INTERVAL.toNanos());
            Reading first = PROBE.recent(LONGEST_INTERVAL.toNanos());
            deadline = new Deadline(what, quiet, first);
            readNanos = first.nanos();
        }

        void check() {
            if (System.nanoTime() - readNanos < intervalNanos) {
                return;
            }
            Reading now = PROBE.read();
            readNanos = now.nanos();
            deadline.onReading(now);
            if (deadline.isOver()) {
                throw new AssertionError(
                        deadline.describe() + mismatch.map(last -> "\n" + last).orElse(""));
            }
            if (deadline.isProlonged() && !said) {
                said = true; // once: the time limit of the test may end this wait, and then nothing else tells
                System.err.println(deadline.describe() + "; goes on");
            }
        }

        ConditionEvaluationListener<Object> listener() {
            return condition -> mismatch = Optional.ofNullable(condition.getDescription());
        }
    }
}
