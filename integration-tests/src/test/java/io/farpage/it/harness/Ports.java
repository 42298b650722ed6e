package io.farpage.it.harness;

import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

/** Learns which port a child listens on. */
final class Ports {
    private static final Duration START_TIMEOUT = Duration.ofSeconds(60);

    private Ports() {}

    static int of(ChildJvm child, Path portFile) {
        await("the port of " + child.name())
                .atMost(START_TIMEOUT)
                .pollInterval(Duration.ofMillis(20))
                .until(() -> Files.exists(portFile) || !child.isAlive());
        if (!Files.exists(portFile)) {
            throw new AssertionError(child.name() + " did not start\n" + child.describe());
        }
        try {
            return Integer.parseInt(Files.readString(portFile).strip());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
