package io.farpage.it.harness;

import static io.farpage.it.deadlines.Deadlines.await;

import io.farpage.access.Role;
import io.farpage.certs.Subject;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Attempts.Attempt;
import io.farpage.it.harness.DocumentedRefusals.Port;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSocket;

/** What is tried at a REST API over TLS, and at one on a Unix socket. */
public final class HttpAttempts {
    private static final Duration SOON = Duration.ofSeconds(25);
    private static final String SPACE = "{\"name\":\"x\",\"sizeBytes\":8192}";
    private static final String POST = """
            POST /api/v1/spaces HTTP/1.1\r
            Host: localhost\r
            Content-Type: application/json\r
            Content-Length: %d\r
            \r
            """;
    private static final byte[] CLIENT_HELLO = {0x16, 3, 1, 0x02, 0, 1, 0, 1, (byte) 0xfc, 3, 3, 0};
    private static final int ACCEPTED_BEFORE_COUNTED = 16;
    private static final int NOBODY = 65_534;
    private static final int DAEMON = 1;

    private final Attempts attempts;
    private final Certificates certificates;
    private final Certificates foreign;

    /** @param foreign another CA */
    public HttpAttempts(Attempts attempts, Certificates certificates, Certificates foreign) {
        this.attempts = attempts;
        this.certificates = certificates;
        this.foreign = foreign;
        certificates.issue("ann", Subject.role("ann", Role.VIEWER), Duration.ofDays(1));
        certificates.issue("late", Subject.node("a", List.of()), Duration.ofMillis(1));
        foreign.issue("intruder", Subject.node("a", List.of()), Duration.ofDays(1));
    }

    /** A connection on which HTTP is spoken. */
    @FunctionalInterface
    private interface Door {
        Stranger knock() throws Exception;
    }

    /**
     * Adds the attempts at a REST API over TLS.
     *
     * @param own name of a certificate that may do everything
     * @param other what another node's certificate may not do: a method and a path
     * @param connections that an address may have
     */
    public void addTls(Port at, Rest rest, String own, String[] other, int connections) {
        int port = rest.base().getPort();
        add(
                at,
                "no certificate, no token",
                () -> status(rest.with(certificates.anonymous()).get("/metrics")));
        add(at, "expired certificate", () -> {
            await("the end of the certificate", Deadlines.SHORT)
                    .until(() -> certificates.isOver("late")); // certificates count seconds
            return handshake(port, certificates.insisting(certificates, "late"));
        });
        add(at, "certificate of another CA", () -> handshake(port, certificates.insisting(foreign, "intruder")));
        add(
                at,
                "another node's id",
                () -> status(rest.with(certificates.tls(other[0])).sendJson(other[1], other[2], other[3])));
        add(
                at,
                "a role that is too low",
                () -> status(rest.with(certificates.tls("ann")).sendJson("POST", "/api/v1/spaces", SPACE)));
        add(
                at,
                "web page of another origin",
                () -> status(certificates
                        .as(Role.OPERATOR, rest)
                        .with("Origin", "https://evil.example")
                        .sendJson("POST", "/api/v1/spaces", SPACE)));
        add(at, "handshake or proof sent again", () -> replay(port, own));
        add(at, "noise, or HTTP without TLS", () -> {
            try (Stranger plain = Stranger.tcp(port)) {
                String said = plain.say("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
                        .untilItEnds(SOON);
                return said.contains("HTTP/1.1") ? said : Attempts.ENDS;
            }
        });
        add(at, "handshake not complete", () -> {
            try (Stranger slow = Stranger.tcp(port)) {
                var _ = slow.dribble(CLIENT_HELLO).untilItEnds(SOON);
                return Attempts.ENDS;
            }
        });
        add(at, "one connection too many", () -> beyond(port, connections));
        addHttp(at, () -> Stranger.tls(port, certificates.insisting(certificates, own)));
    }

    /**
     * Adds the attempts at a REST API on a Unix socket where user 65534 has the role metrics.
     *
     * @param connections limit of connections of the socket
     */
    public void addSocket(Path socket, int connections) {
        add(
                Port.SOCKET,
                "a role that is too low",
                () -> statusOf(Attempts.asUser(
                        NOBODY,
                        socket,
                        "-H",
                        "Content-Type: application/json",
                        "-d",
                        SPACE,
                        "http://a/api/v1/spaces")));
        add(
                Port.SOCKET,
                "user without a role",
                () -> statusOf(Attempts.asUser(DAEMON, socket, "http://a/api/v1/links")));
        add(
                Port.SOCKET,
                "noise, or HTTP without TLS",
                () -> statusOf(say(
                        () -> Stranger.unix(socket), new String(CLIENT_HELLO, StandardCharsets.ISO_8859_1) + "\n")));
        add(Port.SOCKET, "one connection too many", () -> waits(socket, connections));
        addHttp(Port.SOCKET, () -> Stranger.unix(socket));
    }

    private void addHttp(Port at, Door door) {
        add(at, "header or message not complete", () -> {
            try (Stranger slow = door.knock()) {
                String said = slow.dribble("GET /health HTTP/1.1\r\nHost: xxxx".getBytes(StandardCharsets.US_ASCII))
                        .untilItEnds(SOON);
                return said.isEmpty() ? Attempts.ENDS : said;
            }
        });
        add(at, "body not complete", () -> {
            try (Stranger slow = door.knock()) {
                return statusOf(slow.say(POST.formatted(1_000))
                        .dribble("{ ".getBytes(StandardCharsets.US_ASCII))
                        .untilItEnds(SOON));
            }
        });
        add(
                at,
                "header longer than 8 KiB",
                () -> statusOf(say(door, "GET / HTTP/1.1\r\nHost: localhost\r\nX: " + "x".repeat(9_000) + "\r\n\r\n")));
        add(
                at,
                "path longer than 8 KiB",
                () -> statusOf(say(door, "GET /" + "x".repeat(9_000) + " HTTP/1.1\r\nHost: localhost\r\n\r\n")));
        add(at, "body or message too long", () -> statusOf(say(door, POST.formatted((64 << 20) + 1))));
    }

    /**
     * Adds the attempt to write the memory of a space too slowly.
     *
     * @param own name of a certificate that may do that
     */
    public void addMemory(Rest rest, String own, Path socket) {
        addMemory(Port.AGENT, () -> Stranger.tls(rest.base().getPort(), certificates.insisting(certificates, own)));
        addMemory(Port.SOCKET, () -> Stranger.unix(socket));
    }

    private void addMemory(Port at, Door door) {
        add(at, "memory of a space not complete", () -> {
            try (Stranger slow = door.knock()) {
                return statusOf(slow.say("""
                                PUT /api/v1/spaces/memory-%s/memory HTTP/1.1\r
                                Host: localhost\r
                                Content-Type: application/octet-stream\r
                                Content-Length: 65536\r
                                \r
                                """.formatted(at.ordinal()))
                        .dribble(new byte[1])
                        .untilItEnds(SOON));
            }
        });
    }

    private void add(Port at, String attempt, Attempt made) {
        attempts.add(attempt, at, made);
    }

    private static String status(Answer answer) {
        return Integer.toString(answer.status());
    }

    private static String statusOf(String said) {
        return said.contains("application/problem+json") ? said.replaceFirst("(?s)^HTTP/1.1 (\\d+).*", "$1") : said;
    }

    private static String say(Door door, String request) throws Exception {
        try (Stranger client = door.knock()) {
            return client.say(request).untilItEnds(SOON);
        }
    }

    /**
     * Nothing is sent after the handshake, so that no reset overtakes the alert. The server may close the connection
     * while the client writes its last message: the alert is lost then, and the attempt is made again.
     */
    private static String handshake(int port, SSLContext context) throws IOException {
        Deadlines.Wait wait = Deadlines.begin("an alert, or none", Deadlines.SHORT);
        while (true) {
            try (SSLSocket socket = (SSLSocket) context.getSocketFactory().createSocket("127.0.0.1", port)) {
                socket.startHandshake();
                return "accepted: " + socket.getInputStream().read();
            } catch (SSLException e) {
                return String.valueOf(e.getMessage()).contains("Received fatal alert") ? "TLS alert" : e.toString();
            } catch (SocketException e) {
                wait.check();
            }
        }
    }

    /** All that a client has sent which was served, sent again on another connection. */
    private String replay(int port, String own) throws Exception {
        byte[] sent;
        try (Recorder recorder = new Recorder(port);
                Stranger client = Stranger.tls(recorder.port(), certificates.insisting(certificates, own))) {
            String said = client.say("GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                    .untilItEnds(SOON);
            if (!said.startsWith("HTTP/1.1 200")) {
                return said;
            }
            sent = recorder.sent();
        }
        try (Stranger again = Stranger.tcp(port)) {
            again.say(sent);
            // The server's answer to the first message is its half of a new handshake.
            var _ = again.untilItEnds(SOON);
            return Attempts.ENDS;
        }
    }

    /** From an address of its own: the agents keep their connections. */
    private static String beyond(int port, int connections) throws IOException {
        List<Socket> held = new ArrayList<>();
        InetAddress from = InetAddress.getByName("127.0.0.9");
        try {
            for (int i = 0; i <= connections; i++) {
                held.add(new Socket(InetAddress.getLoopbackAddress(), port, from, 0));
            }
            held.getLast().setSoTimeout((int) Deadlines.of(Deadlines.SHORT).toMillis());
            return Attempts.end(held.getLast());
        } finally {
            for (Socket socket : held) {
                socket.close();
            }
        }
    }

    /** One more is served when the idle ones have ended. */
    private static String waits(Path socket, int connections) throws Exception {
        List<Stranger> held = new ArrayList<>();
        try {
            // Connections that are accepted count a moment later.
            for (int i = 0; i < connections + ACCEPTED_BEFORE_COUNTED; i++) {
                held.add(Stranger.unix(socket));
            }
            long began = System.nanoTime();
            String said =
                    say(() -> Stranger.unix(socket), "GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
            long millis = Duration.ofNanos(System.nanoTime() - began).toMillis();
            // The socket goes on to listen after its limit was reached.
            String next =
                    say(() -> Stranger.unix(socket), "GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
            return (said + next).matches("(?s)(HTTP/1.1 200.*){2}") && millis > 100
                    ? "waits"
                    : "%d ms: %s, %s".formatted(millis, said, next);
        } finally {
            held.forEach(Stranger::close);
        }
    }
}
