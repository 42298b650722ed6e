package io.farpage.pool.hugepages;

import io.farpage.linux.ControlGroups;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * What a control group allows of hugepages of one size (hugetlb controller, both versions), however many of them the
 * system has.
 *
 * @param file that holds the limit
 * @param bytes the limit
 * @param left of it
 */
public record HugetlbLimit(Path file, long bytes, long left) {
    /** Names of a limit and of what counts against it. Reservations, which mmap(2) makes, count by themselves. */
    private static final List<List<String>> NAMES = List.of(
            List.of("max", "current"),
            List.of("rsvd.max", "rsvd.current"),
            List.of("limit_in_bytes", "usage_in_bytes"),
            List.of("rsvd.limit_in_bytes", "rsvd.usage_in_bytes"));

    /** The limit of this process that leaves the least; empty if there is none. */
    public static Optional<HugetlbLimit> tightest(HugepageSize size) {
        return tightest(ControlGroups.above("hugetlb"), size);
    }

    static Optional<HugetlbLimit> tightest(Stream<Path> groups, HugepageSize size) {
        String prefix = "hugetlb." + (size == HugepageSize.ONE_GIB ? "1GB" : "2MB") + ".";
        return groups.flatMap(group -> NAMES.stream()
                        .flatMap(pair ->
                                limit(group.resolve(prefix + pair.getFirst()), group.resolve(prefix + pair.getLast()))
                                        .stream()))
                .min((a, b) -> Long.compare(a.left, b.left));
    }

    /** The command, for a root shell, that leaves {@code wanted} bytes. */
    public String raiseCommand(long wanted) {
        return "echo %d > %s".formatted(bytes - left + wanted, file);
    }

    private static Optional<HugetlbLimit> limit(Path limitFile, Path usageFile) {
        try {
            long limit = Long.parseLong(Files.readString(limitFile).strip());
            long usage = Long.parseLong(Files.readString(usageFile).strip());
            return Optional.of(new HugetlbLimit(limitFile, limit, Math.max(0, limit - usage)));
        } catch (IOException | NumberFormatException e) {
            return Optional.empty(); // no such group, or "max"
        }
    }
}
