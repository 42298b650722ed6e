package io.farpage.bench.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.deadlines.Deadlines;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class WatchdogTest {
    @TempDir
    private Path directory;

    private static Process sleeper() throws Exception {
        return new ProcessBuilder("sleep", "100").start();
    }

    @Test
    void shouldReturnBorrowedHugepagesOnlyWhenTheProcessDidNot() throws Exception {
        Path number = Files.writeString(directory.resolve("hugepages"), "10\n");
        try (Watchdog orderly = Watchdog.start(directory.resolve("none"), number)) {
            orderly.borrowed(3);
        }
        assertEquals("10", Files.readString(number).strip());
        Watchdog left = Watchdog.start(directory.resolve("none"), number);
        left.borrowed(3);
        left.hangUp();
        assertEquals("7", Files.readString(number).strip());
    }

    @Test
    void shouldKillOnlyAddedProcessesWhenItsParentEnds() throws Exception {
        Path scratch = Files.createDirectory(directory.resolve("scratch"));
        Files.writeString(scratch.resolve("file"), "text");
        Process first = sleeper();
        Process second = sleeper();
        Process forgotten = sleeper();
        try {
            try (Watchdog watchdog = Watchdog.start(scratch, directory.resolve("hugepages"))) {
                watchdog.add(first.pid());
                watchdog.add(forgotten.pid());
                watchdog.add(second.pid());
                watchdog.remove(forgotten.pid());
            }
            Deadlines.exit("the end of the process", Deadlines.SHORT, first);
            Deadlines.exit("the end of the process", Deadlines.SHORT, second);
            assertTrue(forgotten.isAlive());
            assertFalse(Files.exists(scratch));
        } finally {
            first.destroyForcibly();
            second.destroyForcibly();
            forgotten.destroyForcibly();
        }
    }
}
