package io.farpage.pool;

import io.farpage.pool.hugepages.HugepageSize;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * How much of a pool the kernel made transparent hugepages; advice is taken or not without a word, so it is counted
 * after.
 *
 * @param bytes in transparent hugepages
 * @param step what is missing, if anything
 */
record TransparentPages(long bytes, Optional<BackingStep> step) {
    static final TransparentPages NONE = new TransparentPages(0, Optional.empty());

    private static final Path ENABLED = Path.of("/sys/kernel/mm/transparent_hugepage/enabled");

    static TransparentPages of(long bytes, long wished) {
        // A tail shorter than a hugepage cannot be one.
        long possible = wished / HugepageSize.TWO_MIB.bytes() * HugepageSize.TWO_MIB.bytes();
        if (bytes >= possible) {
            return new TransparentPages(bytes, Optional.empty());
        }
        String enabled = enabled();
        String reason =
                "of %d bytes %d are transparent hugepages; %s is: %s".formatted(wished, bytes, ENABLED, enabled);
        String fix = enabled.contains("[never]")
                ? "echo madvise > " + ENABLED
                : "echo 1 > /proc/sys/vm/compact_memory, then restart; or reserve hugepages";
        return new TransparentPages(
                bytes, Optional.of(new BackingStep(BackingStep.What.NOT_ALL_TRANSPARENT, reason, fix)));
    }

    private static String enabled() {
        try {
            return Files.readString(ENABLED).strip();
        } catch (IOException e) {
            return "missing";
        }
    }
}
