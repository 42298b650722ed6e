package io.farpage.bench.agents;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.Registration;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.locks.LockSupport;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * {@code page-bench cluster-probe}: started by {@code page-bench cluster}, not by people. One agent in a process of its
 * own, whose heartbeats do not wait for those of others in the same JVM; and a handler that does nothing, so that the
 * others can measure how long they themselves make a request wait.
 */
@Command(name = "cluster-probe", hidden = true, description = "Sends heartbeats and answers requests at once.")
public final class ProbeCommand implements Callable<Integer> {
    static final String CONTROL = "/control";
    static final String TAKE = "/take";

    private static final String NODE = "probe";
    private static final Duration EVERY = Duration.ofMillis(20);
    private static final Duration DEADLINE = Duration.ofSeconds(30);
    private static final int OK = 200;

    @Option(names = "--coordinator", required = true, description = "Its URL")
    private URI coordinator = URI.create("");

    @Option(names = "--port-file", required = true, description = "File to write the port of the handler to")
    private Path portFile = Path.of("");

    private final Measures.Timer heartbeats = new Measures.Timer();

    @Override
    public Integer call() throws CoordinatorException, IOException {
        HttpServer handler = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        handler.createContext(CONTROL, exchange -> answer(exchange, ""));
        handler.createContext(TAKE, exchange -> answer(exchange, Measures.text(heartbeats.take())));
        handler.start();
        try (CoordinatorClient client = new CoordinatorClient(coordinator, DEADLINE)) {
            Registration registration = Documents.registration();
            client.register(NODE, registration.withStatus(NodeStatus.ACTIVE));
            Path written = Files.writeString(
                    portFile.resolveSibling(portFile.getFileName() + ".new"),
                    Integer.toString(handler.getAddress().getPort()));
            Files.move(written, portFile, StandardCopyOption.ATOMIC_MOVE);
            sendHeartbeats(client, registration);
            return 0;
        } finally {
            handler.stop(0);
        }
    }

    private void sendHeartbeats(CoordinatorClient client, Registration registration) throws CoordinatorException {
        while (!Thread.currentThread().isInterrupted()) {
            long start = System.nanoTime();
            client.heartbeat(NODE, registration.incarnation());
            heartbeats.record(System.nanoTime() - start);
            LockSupport.parkNanos(EVERY.toNanos());
        }
    }

    private static void answer(HttpExchange exchange, String text) throws IOException {
        try (exchange) {
            byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(OK, bytes.length == 0 ? -1 : bytes.length);
            exchange.getResponseBody().write(bytes);
        }
    }
}
