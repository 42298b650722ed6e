package io.farpage.bench.footprint;

import io.farpage.guest.command.CommandException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** What the kernel says of a process: {@code smaps_rollup}, {@code status}, {@code stat} and {@code fd} of proc(5). */
final class ProcFigures {
    private static final long KIB = 1024;
    /** Where {@code utime} is in the fields behind the name of the program, see proc_pid_stat(5). */
    private static final int UTIME = 11;

    /** USER_HZ of Linux, in which the kernel tells CPU times. */
    private static final double TICKS_PER_SECOND = 100;

    private ProcFigures() {}

    /**
     * A process now. Pages of hugetlbfs are in none of the figures.
     *
     * @param pool bytes of a pool that is not on hugetlbfs, which are taken off
     */
    static Figures of(long pid, long pool) {
        Path process = Path.of("/proc", Long.toString(pid));
        Path rollup = process.resolve("smaps_rollup");
        Path status = process.resolve("status");
        List<String> memory = lines(rollup);
        List<String> state = lines(status);
        Map<Measure, Double> values = new EnumMap<>(Measure.class);
        double rss = kib(rollup, memory, "Rss:");
        values.put(Measure.RSS, rss - pool);
        values.put(Measure.PSS, kib(rollup, memory, "Pss:") - pool);
        values.put(
                Measure.PRIVATE, kib(rollup, memory, "Private_Clean:") + kib(rollup, memory, "Private_Dirty:") - pool);
        values.put(Measure.FILES, rss - kib(rollup, memory, "Anonymous:"));
        values.put(Measure.ALLOCATED, kib(status, state, "VmData:") - pool);
        values.put(Measure.THREADS, number(status, state, "Threads:"));
        values.put(Measure.DESCRIPTORS, (double) descriptors(process));
        return new Figures(values);
    }

    /** Milliseconds of CPU that a process takes in a second, over some seconds. */
    static Figures cpu(long pid, int seconds) throws InterruptedException {
        double before = cpuSeconds(pid);
        TimeUnit.SECONDS.sleep(seconds);
        return new Figures(Map.of(Measure.CPU, (cpuSeconds(pid) - before) * 1000 / seconds));
    }

    private static double cpuSeconds(long pid) {
        Path stat = Path.of("/proc", Long.toString(pid), "stat");
        String text = String.join("", lines(stat));
        String[] fields = text.substring(text.lastIndexOf(')') + 1).strip().split(" ");
        return (Long.parseLong(fields[UTIME]) + Long.parseLong(fields[UTIME + 1])) / TICKS_PER_SECOND;
    }

    private static long descriptors(Path process) {
        try (Stream<Path> open = Files.list(process.resolve("fd"))) {
            return open.count();
        } catch (IOException e) {
            throw unreadable(process.resolve("fd"), e);
        }
    }

    private static double kib(Path file, List<String> lines, String field) {
        return number(file, lines, field) * KIB;
    }

    private static double number(Path file, List<String> lines, String field) {
        return lines.stream()
                .filter(line -> line.startsWith(field))
                .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
                .findFirst()
                .orElseThrow(() -> new CommandException(file + " has no " + field + " Linux 5.4 or later is needed"));
    }

    private static List<String> lines(Path file) {
        try {
            return Files.readAllLines(file);
        } catch (IOException e) {
            throw unreadable(file, e);
        }
    }

    private static CommandException unreadable(Path file, IOException e) {
        return new CommandException("cannot read " + file + ": " + e.getMessage(), e);
    }
}
