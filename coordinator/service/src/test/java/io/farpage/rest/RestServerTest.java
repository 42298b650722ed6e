package io.farpage.rest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.access.Access;
import io.farpage.config.HostPort;
import io.farpage.it.deadlines.Deadlines;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("portable")
class RestServerTest {

    private static final int CLIENTS = 8;

    private static Operation<Void, Void> text(String path) {
        return Operation.getText(path, Access.anyone(), "text/plain");
    }

    private static RestServer start(Route... routes) {
        return RestServer.start(
                new RestServer.Options("test", "1", Entrance.open(new HostPort("127.0.0.1", 0)), 1 << 20, () -> true),
                List.of(routes),
                new Metrics("farpage_test"),
                () -> new Health(true, "test", "1", Map.of(), List.of()),
                RestServer.Around.NOTHING);
    }

    @RepeatedTest(10)
    void shouldAnswerAcceptedRequestsWhenItCloses() throws Exception {
        var server = start();
        CountDownLatch busy = new CountDownLatch(CLIENTS);
        try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<Integer>> clients = new ArrayList<>();
            for (int i = 0; i < CLIENTS; i++) {
                clients.add(threads.submit(askUntilToldToClose(server.port(), busy)));
            }
            Deadlines.down("all clients ask", Deadlines.LONG, busy);
            server.close();
            for (Future<Integer> client : clients) {
                assertTrue(client.get() > 20, "answers before the last");
            }
        }
        assertThrows(ConnectException.class, () -> new Socket("127.0.0.1", server.port()).close());
    }

    private static Callable<Integer> askUntilToldToClose(int port, CountDownLatch busy) {
        return () -> {
            try (Connection connection = new Connection(port)) {
                for (int answers = 1; ; answers++) {
                    String head = connection.askUnlessQuiet("/health");
                    if (head.isEmpty() || head.contains("Connection: close")) {
                        return answers;
                    }
                    if (answers == 20) {
                        busy.countDown();
                    }
                }
            }
        };
    }

    @Test
    void shouldWaitForARequestThatTakesLong() throws Exception {
        CountDownLatch asked = new CountDownLatch(1);
        CountDownLatch answer = new CountDownLatch(1);
        var server = start(new Route(text("/slow"), ctx -> {
            asked.countDown();
            ctx.result(answer.await(20, TimeUnit.SECONDS) ? "done" : "late");
        }));
        try (Connection connection = new Connection(server.port());
                var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Future<String> head = threads.submit(() -> connection.ask("/slow"));
            Deadlines.down("the request", Deadlines.LONG, asked);
            Future<?> closed = threads.submit(server::close);
            Deadlines.pass(Duration.ofMillis(500)); // longer than a connection without a request is given
            assertFalse(closed.isDone());
            answer.countDown();
            assertTrue(head.get().startsWith("HTTP/1.1 200 "));
            Deadlines.get("the end of the service", Deadlines.SHORT, closed);
        }
    }

    @Test
    void shouldCutARequestThatTakesTooLong() throws Exception {
        CountDownLatch asked = new CountDownLatch(1);
        CountDownLatch answer = new CountDownLatch(1);
        var server = start(new Route(text("/stuck"), ctx -> {
            asked.countDown();
            ctx.result(answer.await(40, TimeUnit.SECONDS) ? "done" : "late");
        }));
        try (Connection connection = new Connection(server.port());
                var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Future<String> head = threads.submit(() -> connection.ask("/stuck"));
            Deadlines.down("the request", Deadlines.LONG, asked);
            server.close();
            assertThrows(ExecutionException.class, head::get);
            answer.countDown();
        }
    }

    @Test
    void shouldNotWaitForAConnectionThatIsIdle() throws Exception {
        var server = start();
        try (Connection connection = new Connection(server.port())) {
            assertTrue(connection.ask("/health").startsWith("HTTP/1.1 200 "));
            Deadlines.Wait end = Deadlines.begin("the end of the service", Duration.ofSeconds(4));
            server.close();
            end.check();
            assertEquals(-1, connection.in.read());
        }
    }

    /** One connection that is used again for as long as the server lets it. */
    private static final class Connection implements AutoCloseable {
        private final Socket socket;
        private final InputStream in;
        /** When the last request was sent: the server has seen the connection in use after that. */
        private long askedAt = System.nanoTime();

        Connection(int port) throws IOException {
            socket = new Socket("127.0.0.1", port);
            socket.setSoTimeout(20_000);
            in = new BufferedInputStream(socket.getInputStream());
        }

        /** As {@link #ask}; empty if the server has ended a quiet connection before it saw the request. */
        String askUnlessQuiet(String path) throws IOException {
            long since = askedAt;
            try {
                return ask(path);
            } catch (IOException e) {
                if (System.nanoTime() - since < TimeUnit.MILLISECONDS.toNanos(Drain.QUIET_MILLIS)) {
                    throw e;
                }
                return "";
            }
        }

        /** Asks, and reads the whole answer; returns its head. */
        String ask(String path) throws IOException {
            askedAt = System.nanoTime();
            String request = "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
            socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
            StringBuilder head = new StringBuilder();
            while (head.indexOf("\r\n\r\n") < 0) {
                int octet = in.read();
                if (octet < 0) {
                    throw new IOException("closed without an answer, after: " + head);
                }
                head.append((char) octet);
            }
            in.skipNBytes(length(head.toString()));
            return head.toString();
        }

        private static int length(String head) {
            return head.lines()
                    .filter(line -> line.startsWith("Content-Length: "))
                    .mapToInt(line -> Integer.parseInt(line.substring(16).strip()))
                    .findFirst()
                    .orElseThrow();
        }

        @Override
        public void close() throws IOException {
            socket.close();
        }
    }
}
