package io.farpage.rest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.access.Decision;
import io.farpage.config.HostPort;
import java.io.IOException;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Plain sockets that send a header slowly, to a real server. */
@Tag("soak")
class SlowRequestsTest {
    private static final String REQUEST = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
    private static final int SECONDS = 14;

    @Test
    void shouldEndConnectionWithSlowHeaderAndKeepIdleOne() throws Exception {
        AccessControl control = AccessControl.open(List.of());
        List<Decision> refused = new CopyOnWriteArrayList<>();
        control.onDecision(decision -> {
            if (!decision.allowed()) {
                refused.add(decision);
            }
        });
        try (RestServer server = RestServer.start(
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
                Socket slow = new Socket("127.0.0.1", server.port());
                Socket patient = new Socket("127.0.0.1", server.port())) {
            assertTrue(ask(patient).startsWith("HTTP/1.1 200"));
            boolean ended = false;
            for (int i = 0; i < SECONDS && !ended; i++) {
                ended = hasEnded(slow, REQUEST.charAt(i));
            }
            assertTrue(ended, "the connection is open after " + SECONDS + " s");
            assertEquals(1, refused.size(), refused.toString());
            String reason = refused.getFirst().reason();
            assertTrue(
                    reason.matches("no complete request came within 10 s of its first byte; \\d+ bytes had come"),
                    reason);
            assertEquals("127.0.0.1", refused.getFirst().address());
            assertTrue(ask(patient).startsWith("HTTP/1.1 200"), "a connection that waits between requests goes on");
        }
    }

    /** Sends a character and waits for a second. */
    private static boolean hasEnded(Socket socket, char next) {
        try {
            socket.setSoTimeout(1_000);
            socket.getOutputStream().write(next);
            return socket.getInputStream().read() < 0;
        } catch (SocketTimeoutException e) {
            return false;
        } catch (IOException e) {
            return true;
        }
    }

    private static String ask(Socket socket) throws IOException {
        socket.setSoTimeout(10_000);
        socket.getOutputStream().write(REQUEST.getBytes(StandardCharsets.US_ASCII));
        byte[] part = new byte[8192];
        return new String(part, 0, socket.getInputStream().read(part), StandardCharsets.US_ASCII);
    }
}
