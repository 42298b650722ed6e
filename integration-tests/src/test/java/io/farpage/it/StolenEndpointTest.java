package io.farpage.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.model.HeaderPage;
import io.farpage.coordinator.model.QpEntry;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.StolenEndpoint;
import io.farpage.it.harness.TwoNodes;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * A stranger that knows everything that the coordinator publishes for a link (addresses, queue pair numbers, PSNs, the
 * header page's rkey) reads and writes nothing. The stranger is a plain socket that speaks docs/wire-protocol.md
 * without the library's code.
 */
@Tag("portable")
@ExtendWith(TwoNodes.class)
final class StolenEndpointTest {
    private static final int REQUEST_SIZE = 32;
    private static final int REPLY_SIZE = 16;
    private static final int PROOF_SIZE = 32;
    private static final int READ = 1;
    private static final int PAGE = 4096;
    private static final int PROVE = 7;
    private static final int NOT_PROVEN = 8;
    private static final int TRIES = 200;

    private final Random random = new Random();

    private static byte[] read(QpEntry caller, HeaderPage victim) {
        return ByteBuffer.allocate(REQUEST_SIZE)
                .put((byte) READ)
                .put((byte) 0)
                .putShort((short) 0)
                .putInt(caller.psn())
                .putLong(victim.address().value())
                .putInt((int) victim.rkey())
                .putInt(PAGE)
                .array();
    }

    private static int verdict(InputStream in) throws IOException {
        byte[] reply = in.readNBytes(REPLY_SIZE);
        assertEquals(REPLY_SIZE, reply.length, "bytes of a reply");
        return ByteBuffer.wrap(reply).getShort(6);
    }

    private byte[] noise(int size) {
        byte[] bytes = new byte[size];
        random.nextBytes(bytes);
        return bytes;
    }

    @Test
    void shouldReadNothingWithAStolenEndpointAndNoSecret(Cluster cluster) throws Exception {
        CoordinatorClient client = cluster.client();
        StolenEndpoint endpoint = StolenEndpoint.of(client, "a", "b");
        HeaderPage header = endpoint.victim().header();
        for (int i = 0; i < TRIES; i++) {
            try (Socket socket = endpoint.connect()) {
                socket.getOutputStream().write(endpoint.hello(/* proves= */ false));
                socket.getOutputStream().write(read(endpoint.stolen(), header));
                assertEquals(NOT_PROVEN, verdict(socket.getInputStream()));
                requireNothingMore(socket);
            }
        }
        assertTrue(cluster.client().node("a").isPresent());
    }

    @Test
    void shouldReadNothingWithAStolenEndpointAndAWrongProof(Cluster cluster) throws Exception {
        CoordinatorClient client = cluster.client();
        StolenEndpoint endpoint = StolenEndpoint.of(client, "a", "b");
        HeaderPage header = endpoint.victim().header();
        for (int i = 0; i < TRIES; i++) {
            try (Socket socket = endpoint.connect()) {
                socket.getOutputStream().write(endpoint.hello(/* proves= */ true));
                socket.getOutputStream().write(noise(PROOF_SIZE));
                assertEquals(PROVE, verdict(socket.getInputStream()));
                socket.getInputStream().readNBytes(2 * PROOF_SIZE);
                socket.getOutputStream().write(noise(PROOF_SIZE));
                socket.getOutputStream().write(read(endpoint.stolen(), header));
                assertEquals(NOT_PROVEN, verdict(socket.getInputStream()));
                requireNothingMore(socket);
            }
        }
    }

    private static void requireNothingMore(Socket socket) {
        try {
            assertEquals(0, socket.getInputStream().readAllBytes().length, "bytes after the refusal");
        } catch (IOException e) {
            // A reset, since the request behind the hello was not read.
        }
    }
}
