package io.farpage.bench.stall;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The kernel's counters: {@code /proc/pressure/cpu} (Documentation/accounting/psi.rst), and of each thread {@code
 * status} (proc_pid_status(5)) and {@code schedstat} (Documentation/scheduler/sched-stats.rst). Only threads
 * that are bound to one CPU count: those move pages, while a JVM's compiler and collector may well give way to
 * them.
 */
final class ProcFiles {
    private static final Path PRESSURE = Path.of("/proc/pressure/cpu");
    private static final Path SCHEDSTAT = Path.of("/proc/self/schedstat");
    private static final Pattern SOME = Pattern.compile("(?m)^some .*\\btotal=(\\d+)$");
    private static final Pattern ONE_CPU = Pattern.compile("(?m)^Cpus_allowed_list:\\s*\\d+$");
    private static final Pattern INVOLUNTARY = Pattern.compile("(?m)^nonvoluntary_ctxt_switches:\\s*(\\d+)$");
    private static final double MICROS = 1e6;
    private static final double NANOS = 1e9;

    private ProcFiles() {}

    /**
     * What the kernel has counted of a thread since it began.
     *
     * @param preemptions involuntary context switches
     * @param waitedNs on a run queue, nanoseconds
     */
    record Counted(long preemptions, long waitedNs) {
        private static final Counted NOTHING = new Counted(0, 0);

        private Counted plus(Counted other) {
            return new Counted(preemptions + other.preemptions, waitedNs + other.waitedNs);
        }

        private Counted since(Counted before) {
            return new Counted(preemptions - before.preemptions, waitedNs - before.waitedNs);
        }
    }

    static CpuWatch.Watched begin(List<Long> processes) {
        Map<Path, Counted> before = threads(processes);
        OptionalLong pressure = pressure();
        long began = System.nanoTime();
        return ended -> {
            double nanos = System.nanoTime() - began;
            OptionalLong after = pressure();
            Counted counted = threads(processes).entrySet().stream()
                    .map(thread -> thread.getValue().since(before.getOrDefault(thread.getKey(), Counted.NOTHING)))
                    .reduce(new Counted(ended.preemptions(), ended.waitedNs()), Counted::plus);
            return new Contention(
                    pressure.isPresent() && after.isPresent()
                            ? OptionalDouble.of((after.getAsLong() - pressure.getAsLong()) / MICROS * NANOS / nanos)
                            : OptionalDouble.empty(),
                    Files.exists(SCHEDSTAT) ? OptionalDouble.of(counted.waitedNs() / nanos) : OptionalDouble.empty(),
                    counted.preemptions() * NANOS / nanos);
        };
    }

    /** Microseconds since the machine was started in which a runnable thread waited. */
    private static OptionalLong pressure() {
        try {
            return some(Files.readString(PRESSURE));
        } catch (IOException missing) {
            return OptionalLong.empty();
        }
    }

    static OptionalLong some(String pressure) {
        Matcher total = SOME.matcher(pressure);
        return total.find() ? OptionalLong.of(Long.parseLong(total.group(1))) : OptionalLong.empty();
    }

    /** By the directory of each thread that is bound to one CPU. */
    private static Map<Path, Counted> threads(List<Long> processes) {
        Map<Path, Counted> found = new HashMap<>();
        for (long process : processes) {
            try (Stream<Path> threads = Files.list(Path.of("/proc", Long.toString(process), "task"))) {
                threads.forEach(thread -> {
                    OptionalLong preemptions = preemptions(text(thread.resolve("status")));
                    if (preemptions.isPresent()) {
                        long waited = waitedNs(text(thread.resolve("schedstat")));
                        found.put(thread, new Counted(preemptions.getAsLong(), waited));
                    }
                });
            } catch (IOException | UncheckedIOException ended) {
                // What needs the process notices its end.
            }
        }
        return found;
    }

    /** Empty if the thread has ended, or the kernel has no such file. */
    private static String text(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException ended) {
            return "";
        }
    }

    /** Empty for a thread that may run on several CPUs. */
    static OptionalLong preemptions(String status) {
        Matcher count = INVOLUNTARY.matcher(status);
        return ONE_CPU.matcher(status).find() && count.find()
                ? OptionalLong.of(Long.parseLong(count.group(1)))
                : OptionalLong.empty();
    }

    /** The second of three numbers: time on the CPU, time on a run queue, and time slices. */
    static long waitedNs(String schedstat) {
        String[] numbers = schedstat.strip().split(" ");
        return numbers.length < 2 ? 0 : Long.parseLong(numbers[1]);
    }
}
