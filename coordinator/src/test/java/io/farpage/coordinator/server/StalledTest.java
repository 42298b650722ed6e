package io.farpage.coordinator.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.deadlines.Deadlines;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A coordinator whose leases are no longer checked. It takes the 20 s that a check may take. */
@Tag("soak")
class StalledTest {
    @TempDir
    private Path directory;

    @Test
    void shouldBeStalledOnceTheThreadThatChecksLeasesHasEnded() throws Exception {
        try (Running running = new Running(directory)) {
            assertEquals(Optional.empty(), running.coordinator.stalled());
            Thread watch = Thread.getAllStackTraces().keySet().stream()
                    .filter(thread -> thread.getName().equals("lease-watch"))
                    .findFirst()
                    .orElseThrow();
            watch.interrupt();
            Deadlines.await("the stall", Duration.ofSeconds(90))
                    .until(() -> running.coordinator.stalled().isPresent());
            String reason = running.coordinator.stalled().orElseThrow();
            assertTrue(reason.contains("should have gone on"), reason);
            assertEquals(503, running.send("GET", "/live", "").statusCode());
        }
    }
}
