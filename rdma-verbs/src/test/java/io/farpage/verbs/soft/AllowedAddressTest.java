package io.farpage.verbs.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.verbs.GidRange;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A device that takes connections from a list of addresses. */
final class AllowedAddressTest {
    private static final SoftOptions ONLY_TWO = new SoftOptions(
            SoftOptions.DEFAULT.listening(),
            SoftOptions.DEFAULT.responders(),
            SoftOptions.DEFAULT.admission().withAllowed(List.of(GidRange.parse("127.0.0.2"))));

    /** What the device answers to a HELLO that comes from {@code address}: the first byte, or -1 if it hangs up. */
    private static int answer(Loopback pair, String address) throws IOException {
        InetAddress from = InetAddress.getByName(address);
        int port = pair.to.endpoint().lid();
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port, from, 0)) {
            socket.setSoTimeout(10_000);
            try {
                socket.getOutputStream().write(RawPeer.hello(pair.to.endpoint()));
                return socket.getInputStream().read();
            } catch (SocketException reset) {
                return -1; // it was closed with the HELLO unread
            }
        }
    }

    @Test
    void shouldAnswerNoConnectionFromAnAddressThatIsNotOnTheList() throws IOException {
        try (Loopback pair = new Loopback(ONLY_TWO)) {
            assertEquals(-1, answer(pair, "127.0.0.1"));
            assertEquals('F', answer(pair, "127.0.0.2"), "NOT_PEER, since it is not the peer's HELLO");
        }
    }

    @Test
    void shouldAnswerConnectionsFromEverywhereWithoutAList() throws IOException {
        try (Loopback pair = new Loopback(SoftOptions.DEFAULT)) {
            assertTrue(answer(pair, "127.0.0.1") == 'F' && answer(pair, "127.0.0.3") == 'F');
        }
    }
}
