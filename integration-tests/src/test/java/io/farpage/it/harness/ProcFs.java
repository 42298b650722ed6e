package io.farpage.it.harness;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/** What /proc says of a process. */
public final class ProcFs {
    private static final int UTIME = 11;
    private static final int STIME = 12;
    private static final double TICKS_PER_SECOND = 100;

    private ProcFs() {}

    /** Open file descriptors. */
    public static int descriptors(long pid) {
        return entries(Path.of("/proc", Long.toString(pid), "fd"));
    }

    /** Threads, the JVM's own included. */
    public static int threads(long pid) {
        return entries(Path.of("/proc", Long.toString(pid), "task"));
    }

    /** CPU seconds used so far, in user and in kernel mode. Source: proc_pid_stat(5), fields 14 and 15. */
    public static double cpuSeconds(long pid) {
        try {
            String stat = Files.readString(Path.of("/proc", Long.toString(pid), "stat"));
            String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
            return (Long.parseLong(fields[UTIME]) + Long.parseLong(fields[STIME])) / TICKS_PER_SECOND;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static int entries(Path directory) {
        try (Stream<Path> all = Files.list(directory)) {
            return (int) all.count();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
