package io.farpage.coordinator.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A commit is acknowledged once its bytes are on the disk. A kill of the process does not tell whether they are, since
 * the kernel has them; the order of the system calls does.
 */
class StoreSyncTest {
    private static final int COMMITS = 20;

    @TempDir
    private Path directory = Path.of("");

    @Test
    void shouldSyncTheFileAfterLastWriteAndBeforeAcknowledgement() throws Exception {
        assumeTrue(canTrace(), "strace is missing or may not trace; apt-get install strace");
        Path trace = directory.resolve("trace");
        Process writer = startTraced(trace);
        try (BufferedReader out = writer.inputReader(StandardCharsets.UTF_8)) {
            for (int commit = 1; commit <= COMMITS; commit++) {
                assertEquals(Integer.toString(commit), out.readLine());
            }
        } finally {
            writer.descendants().forEach(ProcessHandle::destroyForcibly);
            writer.destroyForcibly().waitFor();
        }

        int acknowledged = 0;
        boolean dirty = false;
        boolean written = false;
        for (String line : Files.readAllLines(trace)) {
            if (line.contains(" write(1<")) {
                if (++acknowledged > COMMITS) {
                    break; // the writer was being killed
                }
                assertTrue(written, "nothing was written for commit " + acknowledged);
                assertTrue(!dirty, "commit " + acknowledged + " was acknowledged before the file was synced");
                written = false;
            } else if (line.contains(MvStore.FILE)) {
                boolean sync = line.contains("fsync(") || line.contains("fdatasync(");
                dirty = !sync;
                written |= !sync;
            }
        }
        assertTrue(acknowledged >= COMMITS, acknowledged + " acknowledgements in the trace");
    }

    private boolean canTrace() throws InterruptedException {
        try {
            Process process = new ProcessBuilder("strace", "-o", "/dev/null", "true").start();
            return process.waitFor(20, TimeUnit.SECONDS) && process.exitValue() == 0;
        } catch (IOException e) {
            return false;
        }
    }

    private Process startTraced(Path trace) throws IOException {
        // The trace has the path of each descriptor, one line a call, and only of these calls.
        List<String> command = List.of(
                "strace",
                "--follow-forks",
                "--decode-fds=path",
                "--trace=write,pwrite64,writev,pwritev,fsync,fdatasync",
                "--output=" + trace,
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "@" + Path.of(System.getProperty("farpage.root"), "bin", "java-flags"),
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                StoreWriter.class.getName(),
                directory.toString());
        return new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
    }
}
