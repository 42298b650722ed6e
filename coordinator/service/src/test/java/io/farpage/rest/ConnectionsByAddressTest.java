package io.farpage.rest;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.access.Decision;
import io.farpage.config.HostPort;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.limit.RateLimits;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;

/** Plain sockets of several addresses of this machine at a real server that allows each address four. */
class ConnectionsByAddressTest {
    private static final int MOST = 4;
    private static final String REQUEST = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";

    private final List<Decision> refused = new CopyOnWriteArrayList<>();

    private RestServer server() {
        RateLimits.Rate rate = new RateLimits.Rate(1_000, 1_000);
        AccessControl control = AccessControl.open(List.of())
                .limitedBy(new RateLimits(
                        new RateLimits.Options(
                                rate,
                                rate,
                                new RateLimits.Attempts(100, Duration.ofSeconds(1), Duration.ofSeconds(1)),
                                MOST),
                        System::nanoTime));
        control.onDecision(decision -> {
            if (!decision.allowed()) {
                refused.add(decision);
            }
        });
        return RestServer.start(
                new RestServer.Options(
                        "test",
                        "1",
                        new Entrance(new HostPort("127.0.0.1", 0), Optional.empty(), control),
                        1 << 20,
                        () -> true),
                List.of(),
                new Metrics("farpage_test"),
                () -> new Health(true, "test", "1", Map.of(), List.of()),
                RestServer.Around.NOTHING);
    }

    private static Socket connect(String from, RestServer server) throws IOException {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port(), InetAddress.getByName(from), 0);
        socket.setSoTimeout(10_000);
        return socket;
    }

    /** The status line, or nothing if the server closes the connection. */
    private static String ask(Socket socket) {
        try {
            socket.getOutputStream().write(REQUEST.getBytes(StandardCharsets.US_ASCII));
            byte[] part = new byte[8192];
            int length = socket.getInputStream().read(part);
            return length < 0 ? "" : new String(part, 0, 12, StandardCharsets.US_ASCII);
        } catch (IOException e) {
            return "";
        }
    }

    @Test
    void shouldCloseConnectionsBeyondAnAddressLimitAndServeTheOthers() throws Exception {
        List<Socket> held = new ArrayList<>();
        try (RestServer server = server()) {
            for (int i = 0; i < MOST; i++) {
                held.add(connect("127.0.0.2", server));
                assertEquals("HTTP/1.1 200", ask(held.getLast()));
            }
            for (int i = 0; i < 3; i++) {
                try (Socket beyond = connect("127.0.0.2", server)) {
                    assertEquals("", ask(beyond));
                }
            }
            assertEquals(3, refused.size());
            assertEquals("a connection", refused.getFirst().operation());
            assertEquals("127.0.0.2", refused.getFirst().address());
            assertEquals(
                    "127.0.0.2 has 4 connections open, the most; see limits.address_connections",
                    refused.getFirst().reason());
            try (Socket other = connect("127.0.0.1", server)) {
                assertEquals("HTTP/1.1 200", ask(other));
            }
            assertEquals("HTTP/1.1 200", ask(held.getFirst()), "its open connections go on");

            held.removeFirst().close();
            Deadlines.await("room for another connection", Deadlines.SHORT).until(() -> {
                try (Socket again = connect("127.0.0.2", server)) {
                    return ask(again).equals("HTTP/1.1 200");
                }
            });
        } finally {
            for (Socket socket : held) {
                socket.close();
            }
        }
    }

    /** None of the ways in which a connection ends leaves it counted. */
    @Test
    void shouldForgetConnectionsHoweverTheyEnd() throws Exception {
        try (RestServer server = server()) {
            for (int i = 0; i < 10 * MOST; i++) {
                try (Socket socket = connect("127.0.0.3", server)) {
                    switch (i % 4) {
                        case 0 -> socket.setSoLinger(true, 0); // the end is a reset
                        case 1 ->
                            socket.getOutputStream().write("no request\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
                        case 2 -> socket.shutdownOutput();
                        default -> socket.getOutputStream().write('G');
                    }
                }
                Deadlines.await("an answer", Deadlines.SHORT)
                        .pollInterval(Duration.ofMillis(5))
                        .until(() -> {
                            try (Socket socket = connect("127.0.0.3", server)) {
                                return ask(socket).equals("HTTP/1.1 200");
                            }
                        });
            }
            List<Socket> all = new ArrayList<>();
            Deadlines.await("an answer", Deadlines.SHORT).until(() -> {
                for (Socket socket : all) {
                    socket.close();
                }
                all.clear();
                boolean served = true;
                for (int i = 0; i < MOST; i++) {
                    all.add(connect("127.0.0.3", server));
                    served &= ask(all.getLast()).equals("HTTP/1.1 200");
                }
                return served;
            });
            assertEquals(MOST, all.size(), "as many as at first");
            for (Socket socket : all) {
                socket.close();
            }
        }
    }
}
