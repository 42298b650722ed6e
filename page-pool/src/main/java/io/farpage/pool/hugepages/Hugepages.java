package io.farpage.pool.hugepages;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Reads the kernel's hugepage pools from {@code /sys/kernel/mm/hugepages} and {@code /proc/meminfo}. Every answer is of
 * the moment: other processes take and give pages at any time. Thread-safe.
 */
public final class Hugepages {
    private final Path sizes;
    private final Path meminfo;

    Hugepages(Path sizes, Path meminfo) {
        this.sizes = sizes;
        this.meminfo = meminfo;
    }

    /** Those of this machine. */
    public static Hugepages ofThisMachine() {
        return new Hugepages(Path.of("/sys/kernel/mm/hugepages"), Path.of("/proc/meminfo"));
    }

    /** The pool of this size, or nothing if the kernel or the processor does not offer the size. */
    public Optional<HugepageCounts> counts(HugepageSize size) {
        Path folder = folder(size);
        try {
            return Optional.of(new HugepageCounts(
                    size,
                    number(folder.resolve("nr_hugepages")),
                    number(folder.resolve("free_hugepages")),
                    number(folder.resolve("resv_hugepages")),
                    number(folder.resolve("surplus_hugepages")),
                    number(folder.resolve("nr_overcommit_hugepages"))));
        } catch (IOException | NumberFormatException e) {
            return Optional.empty();
        }
    }

    /** The bytes of the size that {@code /proc/sys/vm/nr_hugepages} counts, or nothing without hugepage support. */
    public Optional<Long> defaultBytes() {
        try {
            return Files.readAllLines(meminfo).stream()
                    .filter(line -> line.startsWith("Hugepagesize:"))
                    .map(line -> Long.parseLong(line.replaceAll("\\D", "")) << 10)
                    .findFirst();
        } catch (IOException | NumberFormatException e) {
            return Optional.empty();
        }
    }

    /** The command, for a root shell, that leaves at least {@code pages} available beside those now in use. */
    public String reserveCommand(HugepageSize size, long pages) {
        long wanted = counts(size).map(counts -> afterRaise(counts, pages)).orElse(pages);
        return "echo %d > %s".formatted(wanted, control(size));
    }

    private static long afterRaise(HugepageCounts counts, long pages) {
        long missing = pages - counts.available();
        // Raising turns surplus pages, which are in use, into configured ones before it makes new ones.
        return missing > 0 ? counts.total() + missing : counts.configured();
    }

    /** Where the kernel has the counts of this size, and where they are set. */
    Path folder(HugepageSize size) {
        return sizes.resolve(size.folder());
    }

    private Path control(HugepageSize size) {
        boolean isDefault =
                defaultBytes().filter(bytes -> bytes == size.bytes()).isPresent();
        return isDefault ? Path.of("/proc/sys/vm/nr_hugepages") : folder(size).resolve("nr_hugepages");
    }

    private static long number(Path file) throws IOException {
        return Long.parseLong(Files.readString(file).strip());
    }
}
