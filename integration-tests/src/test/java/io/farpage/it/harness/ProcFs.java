package io.farpage.it.harness;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Stream;

/** What /proc says of a process. */
public final class ProcFs {
    private static final int UTIME = 11;
    private static final int STIME = 12;
    private static final int POLICY = 38;
    /** SCHED_FIFO and SCHED_RR. */
    private static final Set<String> REAL_TIME = Set.of("1", "2");

    private static final double TICKS_PER_SECOND = 100;
    private static final int BLOCKS_PER_PAGE = 8;

    private ProcFs() {}

    /** Open file descriptors. */
    public static int descriptors(long pid) {
        return entries(Path.of("/proc", Long.toString(pid), "fd"));
    }

    /** How many open descriptors lead to each kind of file; sockets, pipes and the like without their numbers. */
    public static SortedMap<String, Integer> descriptorKinds(long pid) {
        try (Stream<Path> all = Files.list(Path.of("/proc", Long.toString(pid), "fd"))) {
            SortedMap<String, Integer> kinds = new TreeMap<>();
            all.map(ProcFs::kind).forEach(kind -> kinds.merge(kind, 1, Integer::sum));
            return kinds;
        } catch (IOException e) {
            return new TreeMap<>(); // the process has ended
        }
    }

    private static String kind(Path descriptor) {
        try {
            return Files.readSymbolicLink(descriptor).toString().replaceAll("\\d+", "N");
        } catch (IOException e) {
            return "closed meanwhile";
        }
    }

    /** The limit of descriptors (RLIMIT_NOFILE) that is in force. */
    public static String descriptorLimit(long pid) {
        try (Stream<String> limits = Files.lines(Path.of("/proc", Long.toString(pid), "limits"))) {
            return limits.filter(line -> line.startsWith("Max open files"))
                    .map(line -> line.split("\\s+")[3])
                    .findFirst()
                    .orElseThrow();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The limit of descriptors (RLIMIT_NOFILE) at which a process can open {@code spare} more. */
    public static String descriptorLimitFor(long pid, int spare) {
        int left = spare;
        int number = 0;
        while (left > 0 || Files.isSymbolicLink(Path.of("/proc", Long.toString(pid), "fd", Integer.toString(number)))) {
            left -= Files.isSymbolicLink(Path.of("/proc", Long.toString(pid), "fd", Integer.toString(number))) ? 0 : 1;
            number++;
        }
        return Integer.toString(number);
    }

    /** Whether every thread is stopped by a signal. */
    public static boolean isStopped(long pid) {
        try (Stream<Path> tasks = Files.list(Path.of("/proc", Long.toString(pid), "task"))) {
            for (Path task : tasks.toList()) {
                String stat = Files.readString(task.resolve("stat"));
                // The name of the thread, in parentheses, may hold anything.
                if (stat.charAt(stat.lastIndexOf(')') + 2) != 'T') {
                    return false;
                }
            }
            return true;
        } catch (IOException e) {
            return false; // a thread ended meanwhile
        }
    }

    /** Whether a process ignores a signal. One that a shell started in the background has inherited that for SIGINT. */
    public static boolean isIgnored(long pid, int signal) {
        try {
            return Files.readAllLines(Path.of("/proc", Long.toString(pid), "status")).stream()
                    .filter(line -> line.startsWith("SigIgn:"))
                    .map(line -> Long.parseUnsignedLong(
                            line.substring("SigIgn:".length()).strip(), 16))
                    .anyMatch(ignored -> (ignored >> (signal - 1) & 1) == 1);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Threads, the JVM's own included. */
    public static int threads(long pid) {
        return entries(Path.of("/proc", Long.toString(pid), "task"));
    }

    /** Names of the threads, cut to 15 characters. */
    public static List<String> threadNames(long pid) {
        try (Stream<Path> all = Files.list(Path.of("/proc", Long.toString(pid), "task"))) {
            return all.map(ProcFs::threadName).toList();
        } catch (IOException e) {
            return List.of(); // the process has ended
        }
    }

    private static String threadName(Path task) {
        try {
            return Files.readString(task.resolve("comm")).strip();
        } catch (IOException e) {
            return ""; // ended meanwhile
        }
    }

    /** CPU seconds used so far, in user and in kernel mode. Source: proc_pid_stat(5), fields 14 and 15. */
    public static double cpuSeconds(long pid) {
        try {
            String stat = Files.readString(Path.of("/proc", Long.toString(pid), "stat"));
            String[] fields = afterName(stat);
            return (Long.parseLong(fields[UTIME]) + Long.parseLong(fields[STIME])) / TICKS_PER_SECOND;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * The memfd of a guest's memory, among a process's descriptors.
     *
     * @throws java.util.NoSuchElementException if it has none
     */
    public static Path memoryFile(long pid) {
        try (Stream<Path> all = Files.list(Path.of("/proc", Long.toString(pid), "fd"))) {
            return all.filter(ProcFs::isMemoryFile).findFirst().orElseThrow();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * The descriptor of an open file of this process.
     *
     * @throws java.util.NoSuchElementException if it is not open
     */
    public static int descriptorOf(Path file) {
        try (Stream<Path> all = Files.list(Path.of("/proc/self/fd"))) {
            return all.filter(descriptor -> leadsTo(descriptor, file))
                    .mapToInt(descriptor ->
                            Integer.parseInt(descriptor.getFileName().toString()))
                    .findFirst()
                    .orElseThrow();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static boolean leadsTo(Path descriptor, Path file) {
        try {
            return Files.readSymbolicLink(descriptor).equals(file);
        } catch (IOException e) {
            return false; // closed meanwhile
        }
    }

    private static boolean isMemoryFile(Path descriptor) {
        try {
            return Files.readSymbolicLink(descriptor).toString().startsWith("/memfd:farpage-guest");
        } catch (IOException e) {
            return false; // closed meanwhile
        }
    }

    /** Pages that a file in memory has at this moment, as the kernel counts them; empty if it is gone. */
    public static OptionalLong pages(Path file) {
        try {
            Process stat = new ProcessBuilder("stat", "-L", "-c", "%b", file.toString())
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            String blocks = new String(stat.getInputStream().readAllBytes(), StandardCharsets.US_ASCII).strip();
            return blocks.isEmpty() ? OptionalLong.empty() : OptionalLong.of(Long.parseLong(blocks) / BLOCKS_PER_PAGE);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Threads that the kernel schedules with a real-time priority at this moment, by their names. */
    public static List<String> realTimeThreads(long pid) {
        try (Stream<Path> tasks = Files.list(Path.of("/proc", Long.toString(pid), "task"))) {
            return tasks.flatMap(task -> stat(task).stream())
                    .filter(stat -> REAL_TIME.contains(afterName(stat)[POLICY]))
                    .map(stat -> stat.substring(stat.indexOf('(') + 1, stat.lastIndexOf(')')))
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The fields of a {@code stat} file from the third one on (proc_pid_stat(5)). */
    private static String[] afterName(String stat) {
        return stat.substring(stat.lastIndexOf(')') + 2).split(" ");
    }

    private static Optional<String> stat(Path task) {
        try {
            return Optional.of(Files.readString(task.resolve("stat")));
        } catch (IOException e) {
            return Optional.empty(); // the thread has ended
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
