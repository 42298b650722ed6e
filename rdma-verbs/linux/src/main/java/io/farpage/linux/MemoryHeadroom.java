package io.farpage.linux;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * How much memory this process may still take before something is reclaimed by force.
 *
 * @param bytes that are left
 * @param source where that was read
 */
public record MemoryHeadroom(long bytes, String source) {
    /** The least of what the machine has available and every control group above this process (v1 and v2) allows. */
    public static Optional<MemoryHeadroom> ofThisProcess() {
        return of(Path.of("/proc"), Path.of("/sys/fs/cgroup"));
    }

    static Optional<MemoryHeadroom> of(Path proc, Path cgroups) {
        return least(Stream.concat(
                available(proc.resolve("meminfo")).stream(),
                groups("self", proc, cgroups).flatMap(group -> inGroup(group).stream())));
    }

    /**
     * The least that the control groups above a process leave, the machine aside. The page cache of files counts as
     * left: the kernel drops it before a group is full.
     */
    public static Optional<MemoryHeadroom> ofGroups(int pid) {
        return ofGroups(pid, Path.of("/proc"), Path.of("/sys/fs/cgroup"));
    }

    static Optional<MemoryHeadroom> ofGroups(int pid, Path proc, Path cgroups) {
        return least(groups(Integer.toString(pid), proc, cgroups)
                .flatMap(group ->
                        inGroup(group)
                                .map(left -> new MemoryHeadroom(left.bytes + fileCache(group), left.source))
                                .stream()));
    }

    private static Stream<Path> groups(String process, Path proc, Path cgroups) {
        return ControlGroups.above(process, "memory", proc, cgroups);
    }

    private static Optional<MemoryHeadroom> least(Stream<MemoryHeadroom> all) {
        return all.min((a, b) -> Long.compare(a.bytes, b.bytes));
    }

    /** The first version adds up the groups below under names of their own. */
    private static long fileCache(Path group) {
        return lines(group.resolve("memory.stat"))
                .filter(line -> line.matches("(total_)?(in)?active_file \\d{1,18}"))
                .collect(Collectors.groupingBy(
                        line -> line.startsWith("total_"), Collectors.summingLong(MemoryHeadroom::lastNumber)))
                .values()
                .stream()
                .mapToLong(Long::longValue)
                .max()
                .orElse(0);
    }

    private static long lastNumber(String line) {
        return Long.parseLong(line.substring(line.indexOf(' ') + 1));
    }

    private static Optional<MemoryHeadroom> available(Path meminfo) {
        return lines(meminfo)
                .filter(line -> line.startsWith("MemAvailable:"))
                .map(line -> new MemoryHeadroom(
                        Long.parseLong(line.replaceAll("\\D", "")) << 10, "MemAvailable of " + meminfo))
                .findFirst();
    }

    private static Optional<MemoryHeadroom> inGroup(Path group) {
        return inGroup(group, "memory.max", "memory.current")
                .or(() -> inGroup(group, "memory.limit_in_bytes", "memory.usage_in_bytes"));
    }

    private static Optional<MemoryHeadroom> inGroup(Path group, String limitName, String usageName) {
        Path limitFile = group.resolve(limitName);
        Optional<Long> limit = number(limitFile);
        Optional<Long> usage = number(group.resolve(usageName));
        if (limit.isEmpty() || usage.isEmpty()) {
            return Optional.empty();
        }
        return Optional.of(new MemoryHeadroom(
                Math.max(0, limit.get() - usage.get()), "%s = %d".formatted(limitFile, limit.get())));
    }

    /** Nothing if there is no such file, or it says {@code max}. */
    private static Optional<Long> number(Path file) {
        return lines(file)
                .filter(line -> line.matches("\\d{1,18}|[1-8]\\d{18}"))
                .map(Long::parseLong)
                .findFirst();
    }

    private static Stream<String> lines(Path file) {
        try {
            return Files.readAllLines(file).stream();
        } catch (IOException e) {
            return Stream.empty();
        }
    }
}
