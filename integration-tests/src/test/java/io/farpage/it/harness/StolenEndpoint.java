package io.farpage.it.harness;

import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.QpEntry;
import io.farpage.it.deadlines.Deadlines;
import java.io.IOException;
import java.net.Socket;
import java.nio.ByteBuffer;

/**
 * What a program knows that has learned the numbers of a link over TCP and not its secret. It speaks the protocol by
 * itself (docs/wire-protocol.md).
 *
 * @param victim the queue pair that is called
 * @param stolen the queue pair in whose name it is called
 */
public record StolenEndpoint(QpEntry victim, QpEntry stolen) {
    private static final int MAGIC = 0x46505631;
    private static final int HELLO_SIZE = 32;

    /** Learns the numbers of a link from the coordinator. */
    public static StolenEndpoint of(CoordinatorClient client, String called, String inTheNameOf)
            throws CoordinatorException {
        return new StolenEndpoint(
                client.endpoint(called, inTheNameOf).orElseThrow().entries().getFirst(),
                client.endpoint(inTheNameOf, called).orElseThrow().entries().getFirst());
    }

    /** Connects to the called node. */
    public Socket connect() throws IOException {
        Socket socket = new Socket(victim.host().orElseThrow(), victim.port().orElseThrow());
        socket.setSoTimeout((int) Deadlines.of(Deadlines.SHORT).toMillis());
        return socket;
    }

    /** The HELLO in the name of the stolen queue pair. */
    public byte[] hello(boolean proves) {
        return ByteBuffer.allocate(HELLO_SIZE)
                .putInt(MAGIC)
                .putShort((short) 1)
                .putShort((short) HELLO_SIZE)
                .putInt(stolen.qpn())
                .putInt(victim.qpn())
                .putInt(stolen.psn())
                .putInt(victim.psn())
                .put((byte) 16)
                .put((byte) 0)
                .put((byte) 5)
                .put((byte) (proves ? 1 : 0))
                .array();
    }
}
