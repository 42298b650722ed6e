package io.farpage.linux.crypto;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Has a client and a server of a library talk to each other in memory: shows that the library does what a link needs,
 * and loads what that takes.
 */
final class TlsTrial {
    private static final int STEPS = 8;
    private static final byte WORD = 42;

    private TlsTrial() {}

    /** @throws TlsException with the library's reason, if the two do not understand each other */
    static void run(LibSsl library) throws TlsException {
        byte[] psk = new byte[TlsStream.PSK_BYTES];
        try (TlsStream client = TlsStream.client(library, psk);
                TlsStream server = TlsStream.server(library, psk);
                Arena arena = Arena.ofConfined()) {
            connect(client, server);
            MemorySegment word = arena.allocate(1);
            word.set(JAVA_BYTE, 0, WORD);
            boolean written = client.write(word.address(), 1);
            move(client, server);
            word.set(JAVA_BYTE, 0, (byte) 0);
            if (!written || server.read(word.address(), 1) != 1 || word.get(JAVA_BYTE, 0) != WORD) {
                throw new TlsException("a byte did not get through " + client.failure() + server.failure());
            }
        }
    }

    /** Takes both through the handshake. */
    static void connect(TlsStream client, TlsStream server) throws TlsException {
        boolean clientDone = false;
        boolean serverDone = false;
        for (int i = 0; i < STEPS && !(clientDone && serverDone); i++) {
            clientDone = clientDone || step(client);
            move(client, server);
            serverDone = serverDone || step(server);
            move(server, client);
        }
        if (!clientDone || !serverDone) {
            throw new TlsException("the handshake does not end");
        }
    }

    private static boolean step(TlsStream stream) throws TlsException {
        int result = stream.handshake();
        if (result == TlsStream.FAILED) {
            throw new TlsException(stream.failure());
        }
        return result == TlsStream.DONE;
    }

    /** Moves the output of one to the input of the other, as much as fits. Returns the bytes moved. */
    static int move(TlsStream from, TlsStream to) {
        int moved = 0;
        while (true) {
            long source = from.outputAddress();
            long target = to.inputAddress();
            int length = Math.min(from.outputLength(), to.inputSpace());
            if (length == 0) {
                return moved;
            }
            copy(source, target, length);
            to.received(length);
            from.sent(length);
            moved += length;
        }
    }

    @SuppressWarnings("restricted") // moves bytes between the rings of two streams
    private static void copy(long source, long target, int length) {
        // SAFETY: both rings hold at least length bytes there, as they just said.
        MemorySegment.ofAddress(target)
                .reinterpret(length)
                .copyFrom(MemorySegment.ofAddress(source).reinterpret(length));
    }
}
