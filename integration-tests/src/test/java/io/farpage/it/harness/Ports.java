package io.farpage.it.harness;

import static io.farpage.it.deadlines.Deadlines.await;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;

/** Ports of children. */
public final class Ports {
    private static final Duration START_TIMEOUT = Duration.ofSeconds(60);

    private Ports() {}

    /**
     * A port on which nothing listened a moment ago, below those that Linux gives to connections, so that none of these
     * takes it before a child does.
     */
    public static int free() {
        for (int i = 0; i < 100; i++) {
            int port = ThreadLocalRandom.current().nextInt(20_000, 32_000);
            if (isFree(port)) {
                return port;
            }
        }
        throw new IllegalStateException("no port between 20000 and 32000 is free");
    }

    private static boolean isFree(int port) {
        try (ServerSocket _ = new ServerSocket(port)) {
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    static int of(ChildJvm child, Path portFile) {
        await("the port of " + child.name(), START_TIMEOUT)
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
