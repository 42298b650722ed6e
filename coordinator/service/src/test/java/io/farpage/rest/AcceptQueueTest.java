package io.farpage.rest;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.config.HostPort;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

class AcceptQueueTest {

    private static final int CLIENTS = 400;

    /** Shorter than the second after which TCP repeats a SYN that was dropped. */
    private static final int CONNECT_MILLIS = 900;

    /** As when all agents come back at once, faster than one thread accepts. */
    @Test
    void shouldCompleteHundredsOfConnectionsBeforeTheyAreAccepted() throws Exception {
        int most = somaxconn();
        assumeTrue(most >= CLIENTS, "net.core.somaxconn is " + most + "; set it to " + CLIENTS + " or more");
        AtomicBoolean mayAccept = new AtomicBoolean();
        List<Socket> sockets = new ArrayList<>();
        try (RestServer server = RestServer.start(
                new RestServer.Options(
                        "test", "1", Entrance.open(new HostPort("127.0.0.1", 0)), 1 << 20, mayAccept::get),
                List.of(),
                new Metrics("farpage_test"),
                () -> new Health(true, "test", "1", Map.of(), List.of()),
                RestServer.Around.NOTHING)) {
            for (int i = 0; i < CLIENTS; i++) {
                Socket socket = new Socket();
                sockets.add(socket);
                // Throws SocketTimeoutException if the kernel drops the connection.
                socket.connect(new InetSocketAddress("127.0.0.1", server.port()), CONNECT_MILLIS);
            }
            mayAccept.set(true);
        } finally {
            for (Socket socket : sockets) {
                socket.close();
            }
        }
    }

    /**
     * In one read: the kernel gives a number of /proc/sys to the first read alone, and Files.readString begins with a
     * short one.
     */
    private static int somaxconn() throws IOException {
        byte[] text = new byte[32];
        try (InputStream in = Files.newInputStream(Path.of("/proc/sys/net/core/somaxconn"))) {
            int length = in.read(text);
            return Integer.parseInt(new String(text, 0, length, StandardCharsets.US_ASCII).strip());
        }
    }
}
