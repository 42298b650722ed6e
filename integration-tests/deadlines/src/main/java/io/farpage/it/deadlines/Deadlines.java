package io.farpage.it.deadlines;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionEvaluationListener;
import org.awaitility.core.ConditionFactory;
import org.awaitility.core.EvaluatedCondition;
import org.awaitility.core.TimeoutEvent;
import org.awaitility.pollinterval.IterativePollInterval;

/**
 * How long a test waits for what it does not control. Each time is that of a quiet machine; on a loaded one it is up to
 * {@value Deadline#LONGEST} times as long, by what the machine gives when the wait begins and while it lasts. A wait
 * that fails tells what the machine gave.
 *
 * <p>Not for times that are under test: a rule of time is tested on a clock that the test holds.
 */
public final class Deadlines {
    /** For what a quiet machine does within a few seconds. */
    public static final Duration SHORT = Duration.ofSeconds(10);
    /** How long anything may take on a quiet machine that starts processes. */
    public static final Duration LONG = Duration.ofSeconds(30);

    private static final Duration LONGEST_INTERVAL = Duration.ofSeconds(1);
    /**
     * How old a reading may be that a wait begins with. Most waits end before they read the machine themselves, and a
     * reading costs milliseconds of CPU.
     */
    private static final Duration FRESH = Duration.ofSeconds(5);

    private static final Duration SHORTEST_INTERVAL = Duration.ofMillis(100);
    private static final int READINGS = 4;
    /**
     * Awaitility ends a wait this long after the longest deadline. That happens only if a condition does not return.
     */
    private static final Duration UNTIL_AWAITILITY_ENDS = Duration.ofSeconds(30);

    /** Between polls: short at first, as most conditions hold soon, and then ever longer. */
    private static final Duration FIRST_POLL = Duration.ofMillis(2);

    private static final Duration LONGEST_POLL = Duration.ofMillis(100);

    private static final Machine MACHINE = new CpuProbe();

    private Deadlines() {}

    /**
     * The time that a machine needs for {@code quiet}, if it goes on as it is: for waits that take one duration and
     * cannot be asked again.
     */
    public static Duration of(Duration quiet) {
        return Duration.ofNanos((long)
                (quiet.toNanos() / MACHINE.recent(LONGEST_INTERVAL.toNanos()).given()));
    }

    /**
     * A wait of Awaitility that ends with the deadline. An {@code atMost} of the caller's own would bring the fixed one
     * back.
     */
    public static ConditionFactory await(String what, Duration quiet) {
        return await(what, quiet, MACHINE);
    }

    static ConditionFactory await(String what, Duration quiet, Machine machine) {
        Wait wait = new Wait(what, quiet, machine);
        return Awaitility.await(what)
                .atMost(quiet.multipliedBy(Deadline.LONGEST).plus(UNTIL_AWAITILITY_ENDS))
                .pollDelay(Duration.ZERO)
                .pollInterval(IterativePollInterval.iterative(Deadlines::nextPoll, FIRST_POLL))
                .failFast("the deadline is over", wait::check)
                .conditionEvaluationListener(wait.listener());
    }

    private static Duration nextPoll(Duration latest) {
        Duration next = latest.multipliedBy(2);
        return next.compareTo(LONGEST_POLL) < 0 ? next : LONGEST_POLL;
    }

    /** A wait that the caller does by itself, between calls of {@link Wait#check}. */
    public static Wait begin(String what, Duration quiet) {
        return new Wait(what, quiet, MACHINE);
    }

    /** Waits for the result of a task, or for its failure. */
    public static <T> T get(String what, Duration quiet, Future<T> task)
            throws InterruptedException, ExecutionException {
        for (Wait wait = begin(what, quiet); ; wait.check()) {
            try {
                return task.get(wait.intervalNanos, TimeUnit.NANOSECONDS);
            } catch (TimeoutException e) {
                // Not yet.
            }
        }
    }

    /** Waits for the end of a process and gives its exit code. */
    public static int exit(String what, Duration quiet, Process process) throws InterruptedException {
        for (Wait wait = begin(what, quiet);
                !process.waitFor(wait.intervalNanos, TimeUnit.NANOSECONDS);
                wait.check()) {}
        return process.exitValue();
    }

    /** Lets time pass, in which something must not happen. Fails nothing on a loaded machine: less happens there. */
    public static void pass(Duration time) {
        long end = System.nanoTime() + time.toNanos();
        for (long left = time.toNanos(); left > 0; left = end - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }

    /** Waits until a latch is down. */
    public static void down(String what, Duration quiet, CountDownLatch latch) throws InterruptedException {
        for (Wait wait = begin(what, quiet); !latch.await(wait.intervalNanos, TimeUnit.NANOSECONDS); wait.check()) {}
    }

    /** Waits for the end of a thread. */
    public static void join(String what, Duration quiet, Thread thread) throws InterruptedException {
        for (Wait wait = begin(what, quiet); !thread.join(Duration.ofNanos(wait.intervalNanos)); wait.check()) {}
    }

    /** A wait that is under way, and reads the machine now and then. Used by one thread. */
    public static final class Wait {
        private final Machine machine;
        private final Deadline deadline;
        private final long intervalNanos;
        private long readNanos;
        private volatile Optional<String> mismatch = Optional.empty();
        private boolean said;

        Wait(String what, Duration quiet, Machine machine) {
            this.machine = machine;
            intervalNanos =
                    Math.clamp(quiet.toNanos() / READINGS, SHORTEST_INTERVAL.toNanos(), LONGEST_INTERVAL.toNanos());
            Reading first = machine.recent(FRESH.toNanos());
            deadline = new Deadline(what, quiet, first);
            readNanos = first.nanos();
        }

        /** Fails if the deadline is over. */
        public void check() {
            if (isOver()) {
                throw failed("");
            }
        }

        /** Whether the deadline is over. */
        public boolean isOver() {
            if (machine.nanos() - readNanos >= intervalNanos) {
                read();
                if (deadline.isProlonged() && !said) {
                    said = true; // once: the time limit of the test may end this wait, and then nothing else tells
                    System.err.println(deadline.describe() + "; goes on");
                }
            }
            return deadline.isOver();
        }

        private void read() {
            Reading now = machine.read();
            readNanos = now.nanos();
            deadline.onReading(now);
        }

        private AssertionError failed(String why) {
            return new AssertionError(deadline.describe()
                    + why
                    + mismatch.map(last -> "\n" + last).orElse(""));
        }

        private ConditionEvaluationListener<Object> listener() {
            return new ConditionEvaluationListener<>() {
                @Override
                public void conditionEvaluated(EvaluatedCondition<Object> condition) {
                    mismatch = Optional.ofNullable(condition.getDescription());
                }

                // Awaitility's own clock ended the wait. What it would throw tells nothing of the machine.
                @Override
                public void onTimeout(TimeoutEvent event) {
                    read();
                    throw failed("; ended by Awaitility, the condition has not returned in time");
                }
            };
        }
    }
}
