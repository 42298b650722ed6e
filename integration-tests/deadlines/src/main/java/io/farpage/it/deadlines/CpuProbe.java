package io.farpage.it.deadlines;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reads what the machine gives: the CPU time that a fixed piece of work needs against the time that it takes, and the
 * kernel's CPU pressure.
 */
final class CpuProbe implements Machine {
    /** Takes some milliseconds, longer than the scheduler lets a thread run at once while others are runnable. */
    private static final int ROUNDS = 3_000_000;

    private static final int CALIBRATIONS = 4;
    /** See Documentation/accounting/psi.rst of the kernel. */
    private static final Path PRESSURE = Path.of("/proc/pressure/cpu");

    private static final Pattern SOME = Pattern.compile("^some avg10=(\\d+\\.\\d+)", Pattern.MULTILINE);
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    /** The least CPU time that the work has taken. Time in which the thread waits for a CPU does not count in it. */
    private long needsNanos = Long.MAX_VALUE;

    private long mixed = 1;
    private Optional<Reading> last = Optional.empty();

    CpuProbe() {
        for (int i = 0; i < CALIBRATIONS; i++) {
            read();
        }
    }

    @Override
    public long nanos() {
        return System.nanoTime();
    }

    /** Does the work on the calling thread. */
    @Override
    public synchronized Reading read() {
        long cpu = THREADS.getCurrentThreadCpuTime();
        long began = System.nanoTime();
        work();
        long ended = System.nanoTime();
        needsNanos = Math.min(needsNanos, Math.max(1, THREADS.getCurrentThreadCpuTime() - cpu));
        Reading now = new Reading(ended, Math.min(1, (double) needsNanos / Math.max(1, ended - began)), pressure());
        last = Optional.of(now);
        return now;
    }

    /** Does the work only if that was done longer ago than {@code nanos}. */
    @Override
    public synchronized Reading recent(long nanos) {
        long now = System.nanoTime();
        return last.filter(reading -> now - reading.nanos() <= nanos)
                .map(reading -> new Reading(now, reading.share(), reading.pressure()))
                .orElseGet(this::read);
    }

    private void work() {
        long x = mixed;
        for (int i = 0; i < ROUNDS; i++) {
            x ^= x << 13;
            x ^= x >>> 7;
            x ^= x << 17;
        }
        mixed = x;
    }

    private static OptionalDouble pressure() {
        try {
            return pressure(Files.readString(PRESSURE));
        } catch (IOException e) {
            return OptionalDouble.empty(); // the kernel is built without CONFIG_PSI, or started with psi=0
        }
    }

    static OptionalDouble pressure(String file) {
        Matcher some = SOME.matcher(file);
        return some.find()
                ? OptionalDouble.of(Math.min(1, Double.parseDouble(some.group(1)) / 100))
                : OptionalDouble.empty();
    }
}
