package io.farpage.bench.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.linux.Errno;
import io.farpage.linux.FileIo;
import io.farpage.linux.PosixException;
import io.farpage.linux.fuse.FuseMounts;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class WatchdogTest {
    private static final Path MOUNTS = Path.of("/proc/self/mounts");

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
    void shouldUnmountWhatAKilledProcessHasLeftMounted() throws Exception {
        Path files = Files.createDirectories(directory.resolve("scratch/files"));
        int fuse;
        try {
            fuse = FuseMounts.mount("farpage-test", files);
        } catch (PosixException e) {
            assumeTrue(false, e.getMessage() + "; run the test as root, on a kernel with the module fuse");
            return;
        }
        try {
            Watchdog watchdog = Watchdog.start(directory.resolve("scratch"), directory.resolve("hugepages"));
            watchdog.mounted(files);
            assertTrue(Files.readString(MOUNTS).contains(files.toString()));
            watchdog.hangUp();
            assertFalse(Files.readString(MOUNTS).contains(files.toString()));
            assertTrue(Files.notExists(files.getParent()));
        } finally {
            var _ = FuseMounts.unmount(files);
            FileIo.close(Errno.create(), fuse);
        }
    }

    @Test
    void shouldRemoveTheZramDeviceThatAKilledProcessSwappedTo() throws Exception {
        Path control = Path.of("/sys/class/zram-control");
        assumeTrue(Files.isWritable(control.resolve("hot_remove")), "needs root, and a kernel with zram");
        int zram = Integer.parseInt(Files.readString(control.resolve("hot_add")).strip());
        Path device = Path.of("/sys/block/zram" + zram);
        try {
            Watchdog watchdog = Watchdog.start(directory.resolve("none"), directory.resolve("hugepages"));
            watchdog.swapped(Optional.of(zram));
            assertTrue(Files.exists(device));
            watchdog.hangUp();
            assertFalse(Files.exists(device));
        } finally {
            if (Files.exists(device)) {
                Files.writeString(control.resolve("hot_remove"), Integer.toString(zram));
            }
        }
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
