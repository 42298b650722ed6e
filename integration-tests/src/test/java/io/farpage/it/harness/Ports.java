package io.farpage.it.harness;

import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

/** Ports of children. */
public final class Ports {
    private static final Duration START_TIMEOUT = Duration.ofSeconds(60);

    private Ports() {}

    /** A port on which nothing listened a moment ago. */
    public static int free() {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

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
