package io.farpage.bench.clone;

import io.farpage.guest.command.CommandException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * The memory of a process that shares pages with others: a page of n processes counts as an n-th.
 *
 * @param bytes all of it (Pss in proc_pid_smaps(5))
 * @param fileBytes the part of it that is pages of files (Pss_File)
 */
record ProcessMemory(long bytes, long fileBytes) {
    /** That of a process now. */
    static ProcessMemory of(long pid) {
        Path rollup = Path.of("/proc", Long.toString(pid), "smaps_rollup");
        try {
            List<String> lines = Files.readAllLines(rollup);
            return new ProcessMemory(kib(rollup, lines, "Pss:") << 10, kib(rollup, lines, "Pss_File:") << 10);
        } catch (IOException e) {
            throw new CommandException("cannot read " + rollup + ": " + e.getMessage(), e);
        }
    }

    private static long kib(Path rollup, List<String> lines, String field) {
        return lines.stream()
                .filter(line -> line.startsWith(field))
                .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
                .findFirst()
                .orElseThrow(() -> new CommandException(rollup + " has no " + field + " Linux 5.4 or later is needed"));
    }

    ProcessMemory plus(ProcessMemory other) {
        return new ProcessMemory(bytes + other.bytes, fileBytes + other.fileBytes);
    }
}
