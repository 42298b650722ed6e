package io.farpage.linux;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * How the kernel schedules one thread that moves pages: with a real-time priority (SCHED_FIFO) where that is permitted,
 * else with the shortest slice that an ordinary thread may have (Linux 6.12).
 *
 * <p>Real-time priority is bounded, so that ordinary threads keep at least half of every CPU: in each window of
 * {@value #WINDOW_MILLIS} ms, the threads of this process together may run on one CPU with real-time priority for
 * {@value #BUDGET_MILLIS} ms. A thread that finds the budget of its CPU used up is an ordinary thread until the next
 * window.
 *
 * <p>All but {@link #describe}, {@link #isRealTime} and {@link #pauses} is for the thread itself.
 */
public final class ThreadScheduling {
    static final int WINDOW_MILLIS = 100;
    static final int BUDGET_MILLIS = 50;

    /** The shortest that the kernel takes. */
    private static final long SLICE_NANOS = 100_000;

    private static final long WINDOW_NANOS = TimeUnit.MILLISECONDS.toNanos(WINDOW_MILLIS);
    private static final long BUDGET_MICROS = TimeUnit.MILLISECONDS.toMicros(BUDGET_MILLIS);
    private static final long CHECK_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
    private static final int CYCLES_PER_CHECK = 32;
    private static final String FIX =
            "grant CAP_SYS_NICE, or a real-time priority: RLIMIT_RTPRIO (ulimit -r 1; systemd: LimitRTPRIO=1)";

    /** For each CPU, the number of a window in the upper half and the microseconds used in it in the lower half. */
    private static final AtomicLongArray USED = new AtomicLongArray(NativeThread.MAX_CPUS);

    private final int priority;
    private final boolean bounded;
    private int nice;
    private int cycles;
    private long checkedAt;
    private long cpuNanos;
    private long pausedIn;
    private boolean paused;
    private volatile boolean realTime;
    private volatile long pauses;
    private volatile String description = "not started";

    private ThreadScheduling(int priority, boolean bounded) {
        this.priority = priority;
        this.bounded = bounded;
    }

    /**
     * Real-time priority within the budget.
     *
     * @param priority 1 to 99
     */
    public static ThreadScheduling realTime(int priority) {
        return new ThreadScheduling(priority, true);
    }

    /**
     * Real-time priority without a bound, for a thread that spins on a CPU of its own.
     *
     * @param priority 1 to 99
     */
    public static ThreadScheduling unbounded(int priority) {
        return new ThreadScheduling(priority, false);
    }

    /** As the process is scheduled. */
    public static ThreadScheduling ordinary() {
        return new ThreadScheduling(0, false);
    }

    /** Sets the priority or the slice. If that is not permitted, only {@link #describe} shows it. */
    public void start() {
        if (priority == 0) {
            description = "ordinary";
            return;
        }
        try {
            nice = NativeThread.nice();
            NativeThread.schedule(NativeThread.SCHED_FIFO, 0, priority, 0);
            realTime = true;
            description = "real-time priority %d%s"
                    .formatted(
                            priority,
                            bounded ? ", at most %d of %d ms on each CPU".formatted(BUDGET_MILLIS, WINDOW_MILLIS) : "");
            checkedAt = System.nanoTime();
            cpuNanos = NativeThread.cpuNanos();
        } catch (PosixException e) {
            description = "%s; real-time priority %d is not permitted (%s): %s"
                    .formatted(shortSlice(), priority, ErrnoName.of(e.errno()), FIX);
        }
    }

    private String shortSlice() {
        try {
            NativeThread.schedule(NativeThread.SCHED_OTHER, nice, 0, SLICE_NANOS);
            long slice = NativeThread.sliceNanos();
            return slice == SLICE_NANOS
                    ? "ordinary with slices of %d us".formatted(TimeUnit.NANOSECONDS.toMicros(slice))
                    : "ordinary (shorter slices need Linux 6.12)";
        } catch (PosixException e) {
            return "ordinary (no shorter slices: " + e.getMessage() + ")";
        }
    }

    /** To be called in each duty cycle of the thread. */
    public void onDutyCycle() {
        if (!bounded || !(realTime || paused)) {
            return;
        }
        if (++cycles < CYCLES_PER_CHECK && !paused) {
            return;
        }
        cycles = 0;
        check(System.nanoTime());
    }

    private void check(long now) {
        if (now - checkedAt < CHECK_NANOS) {
            return;
        }
        checkedAt = now;
        long window = Math.floorDiv(now, WINDOW_NANOS);
        if (paused) {
            if (window != pausedIn) {
                resume();
            }
            return;
        }
        long cpuBefore = cpuNanos;
        cpuNanos = NativeThread.cpuNanos();
        long ran = TimeUnit.NANOSECONDS.toMicros(cpuNanos - cpuBefore);
        if (charge(NativeThread.currentCpu(), window, Math.min(ran, BUDGET_MICROS)) > BUDGET_MICROS) {
            pause(window);
        }
    }

    private static long charge(int cpu, long window, long micros) {
        long mark = (window & 0xffff_ffffL) << 32;
        while (true) {
            long seen = USED.get(cpu);
            long used = (seen & 0xffff_ffff_0000_0000L) == mark ? seen & 0xffff_ffffL : 0;
            if (USED.compareAndSet(cpu, seen, mark | (used + micros))) {
                return used + micros;
            }
        }
    }

    private void pause(long window) {
        pausedIn = window;
        paused = true;
        realTime = false;
        long count = pauses + 1;
        pauses = count;
        NativeThread.schedule(NativeThread.SCHED_OTHER, nice, 0, SLICE_NANOS);
    }

    private void resume() {
        paused = false;
        try {
            NativeThread.schedule(NativeThread.SCHED_FIFO, 0, priority, 0);
            cpuNanos = NativeThread.cpuNanos();
            realTime = true;
        } catch (PosixException e) {
            description = "ordinary; real-time priority %d is no longer permitted (%s): %s"
                    .formatted(priority, ErrnoName.of(e.errno()), FIX);
        }
    }

    /** How the thread is scheduled, and what would be better. Any thread. */
    public String describe() {
        return description;
    }

    /** Whether the thread has real-time priority at this moment. Any thread. */
    public boolean isRealTime() {
        return realTime;
    }

    /** How often the budget of a CPU was used up. Any thread. */
    public long pauses() {
        return pauses;
    }
}
