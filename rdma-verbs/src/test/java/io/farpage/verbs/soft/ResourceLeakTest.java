package io.farpage.verbs.soft;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.deadlines.Deadlines;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Devices and connections that come and go leave nothing behind. */
@Tag("portable")
final class ResourceLeakTest {
    private static final int CYCLES = 200;

    static long descriptors() throws IOException {
        try (Stream<Path> all = Files.list(Path.of("/proc/self/fd"))) {
            return all.count();
        }
    }

    static long threads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(t -> t.getName().startsWith("soft-"))
                .count();
    }

    @Test
    void shouldLeaveNoDescriptorAndNoThreadBehind() throws IOException {
        try (Loopback pair = new Loopback(SoftOptions.DEFAULT)) {
            pair.requireWorking();
        }
        long descriptors = descriptors();
        long threads = threads();
        for (int i = 0; i < CYCLES; i++) {
            try (Loopback pair = new Loopback(SoftOptions.DEFAULT)) {
                pair.requireWorking();
                pair.sleepOnce();
                pair.from.modifyToReset();
                pair.to.modifyToReset();
                pair.connect();
                pair.requireWorking();
            }
        }
        Deadlines.await("threads end", Deadlines.SHORT).until(() -> threads() <= threads);
        assertTrue(
                descriptors() <= descriptors, "descriptors: " + descriptors + " before, " + descriptors() + " after");
    }
}
