package io.farpage.it.harness;

import io.farpage.it.harness.DocumentedRefusals.Port;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * What is tried at the sockets on which VMMs hand their memory over: each attempt has a guest of its own, since a guest
 * logs one refusal a second.
 */
public final class HandoffAttempts {
    private static final Duration SOON = Duration.ofSeconds(25);
    private static final int CONNECTIONS = 8;
    private static final int MOST_BYTES = 1 << 20;
    private static final int DAEMON = 1;
    private static final int PAGES = 64;

    private final Attempts attempts;
    private final Path directory;
    private final Guests guests;
    private int count;

    /** @param directory where other users may reach the sockets */
    public HandoffAttempts(Attempts attempts, Path directory, Guests guests) {
        this.attempts = attempts;
        this.directory = directory;
        this.guests = guests;
    }

    /** What is said on a socket. */
    @FunctionalInterface
    private interface Speech {
        String at(Path socket) throws Exception;
    }

    /** Adds the attempts. */
    public void add() {
        add("user without a role", HandoffAttempts::asDaemon);
        add("noise, or HTTP without TLS", socket -> say(socket, "GET /health HTTP/1.1\r\n"));
        add("header or message not complete", socket -> {
            try (Stranger slow = Stranger.unix(socket)) {
                return slow.dribble(new byte[] {'[', ' '}).untilItEnds(SOON);
            }
        });
        add("body or message too long", socket -> say(socket, "[" + " ".repeat(MOST_BYTES)));
        add("one connection too many", HandoffAttempts::beyond);
    }

    private void add(String attempt, Speech speech) {
        String space = "vm" + ++count;
        Path socket = directory.resolve(space + ".sock");
        guests.attach(space, socket, PAGES * 4096L, PAGES * 4096L);
        attempts.add(attempt, Port.HANDOFF, () -> speech.at(socket));
    }

    /**
     * The kernel alone decides whether a process may connect. After the mode of the file was changed the agent has to
     * refuse by SO_PEERCRED.
     */
    private static String asDaemon(Path socket) throws IOException, InterruptedException {
        Files.setPosixFilePermissions(socket, PosixFilePermissions.fromString("rw-rw-rw-"));
        return Attempts.asUser(DAEMON, socket, "http://a/");
    }

    private static String say(Path socket, String text) throws IOException, InterruptedException {
        try (Stranger client = Stranger.unix(socket)) {
            return client.say(text).untilItEnds(SOON);
        }
    }

    /** The oldest connection ends. */
    private static String beyond(Path socket) throws IOException, InterruptedException {
        List<Stranger> held = new ArrayList<>();
        try {
            for (int i = 0; i <= CONNECTIONS; i++) {
                held.add(Stranger.unix(socket));
            }
            return held.getFirst().untilItEnds(SOON);
        } finally {
            held.forEach(Stranger::close);
        }
    }
}
