package io.farpage.linux.crypto;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.deadlines.Allocations;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class TlsStreamTest {
    private static final int SIZE = 20_000;

    private final Arena arena = Arena.ofConfined();
    private final MemorySegment memory = arena.allocate(SIZE, 64);
    private LibSsl library;

    @BeforeEach
    void load() {
        LibSsl.Loading loading = LibSsl.load(Optional.empty());
        Assumptions.assumeTrue(loading instanceof LibSsl.Loading.Loaded, loading::toString);
        library = ((LibSsl.Loading.Loaded) loading).library();
    }

    @AfterEach
    void free() {
        arena.close();
    }

    private static byte[] psk(int fill) {
        byte[] psk = new byte[TlsStream.PSK_BYTES];
        java.util.Arrays.fill(psk, (byte) fill);
        return psk;
    }

    /** A client and a server after their handshake. */
    private final class Pair implements AutoCloseable {
        final TlsStream client;
        final TlsStream server;

        Pair(long rekeyRecords) throws TlsException {
            client = new TlsStream(library, true, psk(1), rekeyRecords);
            server = new TlsStream(library, false, psk(1), rekeyRecords);
            TlsTrial.connect(client, server);
        }

        /** Sends {@code text} from one to the other, and returns what the other reads. */
        byte[] pass(TlsStream from, TlsStream to, byte[] text) {
            MemorySegment.copy(text, 0, memory, JAVA_BYTE, 0, text.length);
            assertTrue(from.write(memory.address(), text.length), from.failure());
            TlsTrial.move(from, to);
            memory.fill((byte) 0);
            int read = 0;
            while (read < text.length) {
                int result = to.read(memory.address() + read, text.length - read);
                assertTrue(result > 0, () -> result + " " + to.failure());
                read += result;
            }
            return memory.asSlice(0, text.length).toArray(JAVA_BYTE);
        }

        @Override
        public void close() {
            client.close();
            server.close();
        }
    }

    @Test
    void shouldPassBytesInBothDirections() throws Exception {
        byte[] text = new byte[TlsStream.MAX_RECORD];
        new Random(1).nextBytes(text);
        try (Pair pair = new Pair(TlsStream.REKEY_RECORDS)) {
            for (int i = 0; i < 100; i++) {
                assertArrayEquals(text, pair.pass(pair.client, pair.server, text));
                assertArrayEquals(text, pair.pass(pair.server, pair.client, text));
            }
            assertEquals(TlsStream.NEEDS_INPUT, pair.client.read(memory.address(), 1));
            assertFalse(pair.client.hasInput());
        }
    }

    @Test
    void shouldSayThatInputWaitsWhileARecordIsReadInPart() throws Exception {
        try (Pair pair = new Pair(TlsStream.REKEY_RECORDS)) {
            assertTrue(pair.client.write(memory.address(), 100));
            assertTrue(pair.client.write(memory.address(), 100));
            TlsTrial.move(pair.client, pair.server);
            assertTrue(pair.server.hasInput());
            assertEquals(60, pair.server.read(memory.address(), 60));
            assertTrue(pair.server.hasInput());
            assertEquals(40, pair.server.read(memory.address(), 100), "the rest of the record");
            assertTrue(pair.server.hasInput(), "the second record");
            assertEquals(100, pair.server.read(memory.address(), 100));
            assertFalse(pair.server.hasInput());
        }
    }

    @Test
    void shouldRefuseAnotherKey() throws Exception {
        try (TlsStream client = TlsStream.client(library, psk(1));
                TlsStream server = TlsStream.server(library, psk(2))) {
            TlsException refused = assertThrows(TlsException.class, () -> TlsTrial.connect(client, server));
            assertTrue(refused.getMessage().contains("binder does not verify"), refused.getMessage());
        }
    }

    @Test
    void shouldRefuseARecordOfWhichOneBitWasFlipped() throws Exception {
        try (Pair pair = new Pair(TlsStream.REKEY_RECORDS)) {
            assertTrue(pair.client.write(memory.address(), 4096));
            flipLast(pair.client);
            TlsTrial.move(pair.client, pair.server);
            assertEquals(TlsStream.FAILED, pair.server.read(memory.address(), 4096));
            assertTrue(pair.server.failure().contains("bad record mac"), pair.server.failure());
            assertEquals(TlsStream.FAILED, pair.server.read(memory.address(), 4096), "and stays broken");
        }
    }

    @Test
    void shouldRefuseARecordThatIsReplayed() throws Exception {
        try (Pair pair = new Pair(TlsStream.REKEY_RECORDS)) {
            assertTrue(pair.client.write(memory.address(), 64));
            long at = pair.client.outputAddress();
            byte[] record = view(at, pair.client.outputLength()).toArray(JAVA_BYTE);
            TlsTrial.move(pair.client, pair.server);
            assertEquals(64, pair.server.read(memory.address(), 64));
            view(pair.server.inputAddress(), record.length).copyFrom(MemorySegment.ofArray(record));
            pair.server.received(record.length);
            assertEquals(TlsStream.FAILED, pair.server.read(memory.address(), 64));
        }
    }

    @Test
    void shouldReplaceItsKeyAfterSoManyRecords() throws Exception {
        byte[] text = new byte[1000];
        new Random(2).nextBytes(text);
        try (Pair pair = new Pair(10)) {
            for (int i = 0; i < 105; i++) {
                assertArrayEquals(text, pair.pass(pair.client, pair.server, text));
            }
            assertEquals(10, pair.client.rekeyings());
            assertArrayEquals(text, pair.pass(pair.server, pair.client, text), "the other direction has its own key");
        }
    }

    @Test
    void shouldGiveUpOnAPeerThatSendsNothingButKeyUpdates() throws Exception {
        try (Pair pair = new Pair(TlsStream.REKEY_RECORDS)) {
            for (int i = 0; i < 40; i++) {
                assertEquals(1, library.keyUpdate(pair.client.handle(), 0));
                assertEquals(1, library.handshake(pair.client.handle()));
            }
            TlsTrial.move(pair.client, pair.server);
            assertEquals(TlsStream.FAILED, pair.server.read(memory.address(), 1));
            assertEquals("the peer sends nothing but key updates", pair.server.failure());
        }
    }

    @Test
    void shouldEncryptWhatItSends() throws Exception {
        try (Pair pair = new Pair(TlsStream.REKEY_RECORDS)) {
            memory.asSlice(0, 4096).fill((byte) 'A');
            assertTrue(pair.client.write(memory.address(), 4096));
            byte[] sent = view(pair.client.outputAddress(), pair.client.outputLength())
                    .toArray(JAVA_BYTE);
            assertEquals(4096 + 5 + 1 + 16, sent.length);
            assertFalse(new String(sent, java.nio.charset.StandardCharsets.ISO_8859_1).contains("AAAA"));
        }
    }

    @Test
    void shouldAllocateNothingPerRecord() throws Exception {
        try (Pair pair = new Pair(TlsStream.REKEY_RECORDS)) {
            Allocations.assertNone(5_000, records -> {
                for (int i = 0; i < records; i++) {
                    pair.client.write(memory.address(), 4096);
                    TlsTrial.move(pair.client, pair.server);
                    pair.server.read(memory.address(), 16);
                    pair.server.read(memory.address(), 4080);
                    pair.server.hasInput();
                }
            });
        }
    }

    @Test
    void shouldNameThePackageWhenTheLibraryIsMissing() {
        LibSsl.Loading loading = LibSsl.load(Optional.of(Path.of("/nonexistent/libssl.so.3")));
        LibSsl.Loading.Failed failed = assertInstanceOf(LibSsl.Loading.Failed.class, loading);
        assertEquals(
                "cannot load /nonexistent/libssl.so.3; install OpenSSL 3: apt-get install libssl3", failed.toString());
    }

    private static void flipLast(TlsStream stream) {
        MemorySegment output = view(stream.outputAddress(), stream.outputLength());
        long last = output.byteSize() - 1;
        output.set(JAVA_BYTE, last, (byte) (output.get(JAVA_BYTE, last) ^ 1));
    }

    @SuppressWarnings("restricted")
    private static MemorySegment view(long address, long length) {
        // SAFETY: the stream just said that as many bytes can be read.
        return MemorySegment.ofAddress(address).reinterpret(length);
    }
}
