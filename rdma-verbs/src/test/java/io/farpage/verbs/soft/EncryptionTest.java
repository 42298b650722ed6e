package io.farpage.verbs.soft;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.verbs.LinkSecret;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.SendFlag;
import io.farpage.verbs.VerbsException;
import io.farpage.verbs.WcStatus;
import io.farpage.verbs.WorkCompletion;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * When connections are encrypted, and what a party between the two ends can do. Two devices of this process, with a
 * {@link Tap} between them.
 */
@Tag("portable")
final class EncryptionTest {
    private static final int PAGE = 4096;
    private static final int NONCE_AND_HELLO = 64;
    private static final SoftOptions OFF = SoftOptions.DEFAULT;
    private static final SoftOptions ON = SoftOptions.DEFAULT.withEncryption(SoftOptions.Encryption.REQUIRED);
    private static final SoftOptions WITHOUT_LIBRARY = SoftOptions.DEFAULT.withEncryption(
            new SoftOptions.Encryption(false, Optional.of(Path.of("/nonexistent/libssl.so.3"))));
    /** Ends a connection that is not encrypted after 0.7 s. */
    private static final SoftOptions HASTY = new SoftOptions(
            OFF.listening(),
            OFF.responders(),
            new SoftOptions.Admission(128, 8, Duration.ofMillis(700), 64),
            SoftOptions.Encryption.REQUIRED);

    /** Gives up on a peer after about 30 ms of trying to connect. */
    private static final QpOptions IMPATIENT = new QpOptions(
            QpOptions.DEFAULT.sizes(),
            new QpOptions.Retries(8, 7, 0, 12),
            QpOptions.DEFAULT.path(),
            QpOptions.DEFAULT.access());

    @BeforeEach
    void requireLibrary() {
        EncryptedFixture.requireLibrary();
    }

    /** Reconnects a pair through a party in the middle. */
    private static void reconnect(Loopback pair, Tap tap) {
        pair.from.modifyToReset();
        pair.to.modifyToReset();
        pair.connect(tap.through(pair.to.endpoint()));
    }

    private static boolean contains(byte[] seen, String text) {
        return new String(seen, StandardCharsets.ISO_8859_1).contains(text);
    }

    private static WorkCompletion read(Loopback pair) {
        pair.serverMemory.asSlice(0, PAGE).fill((byte) 'S');
        pair.callerMemory.asSlice(0, PAGE).fill((byte) 0);
        pair.post(1, PAGE);
        return pair.spin();
    }

    @ParameterizedTest
    @CsvSource({"true, true", "true, false", "false, true"})
    void shouldEncryptWhenEitherEndRequiresIt(boolean caller, boolean server) throws IOException {
        try (Loopback pair = new Loopback(caller ? ON : OFF, server ? ON : OFF, QpOptions.DEFAULT);
                Tap tap = new Tap(pair.to.endpoint().lid())) {
            reconnect(pair, tap);
            assertEquals(WcStatus.SUCCESS, read(pair).status());
            assertEquals('S', pair.callerMemory.get(JAVA_BYTE, PAGE - 1));
            assertTrue(tap.seen().length > PAGE);
            assertFalse(contains(tap.seen(), "SSSS"), "the page went in the clear");
        }
    }

    @Test
    void shouldNotEncryptWhenNeitherEndRequiresIt() throws IOException {
        try (Loopback pair = new Loopback(OFF);
                Tap tap = new Tap(pair.to.endpoint().lid())) {
            reconnect(pair, tap);
            assertEquals(WcStatus.SUCCESS, read(pair).status());
            assertTrue(contains(tap.seen(), "SSSS"));
        }
    }

    /** The flag of the HELLO is byte 27 to the responder; that of PROVE is byte 15 to the initiator. */
    @ParameterizedTest
    @CsvSource({"true, 27, 2", "false, 15, 1"})
    void shouldNotConnectWhenTheRequirementIsRemovedOnTheWay(boolean toResponder, int at, int flag) throws IOException {
        try (Loopback pair = new Loopback(toResponder ? ON : OFF, toResponder ? OFF : ON, IMPATIENT);
                Tap tap = new Tap(pair.to.endpoint().lid())) {
            tap.change((direction, before, bytes, length) -> {
                if (direction == toResponder && before == 0 && length > at) {
                    bytes[at] &= (byte) ~flag;
                }
            });
            reconnect(pair, tap);
            assertEquals(WcStatus.RETRY_EXC_ERR, read(pair).status());
            assertFalse(contains(tap.seen(), "SSSS"));
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void shouldEndTheConnectionWhenOneBitIsFlipped(boolean toResponder) throws IOException {
        try (Loopback pair = new Loopback(ON);
                Tap tap = new Tap(pair.to.endpoint().lid())) {
            reconnect(pair, tap);
            assertEquals(WcStatus.SUCCESS, read(pair).status());
            tap.change((direction, before, bytes, length) -> {
                if (direction == toResponder) {
                    bytes[length - 1] ^= 1;
                }
            });
            assertEquals(WcStatus.RETRY_EXC_ERR, read(pair).status());
            assertEquals(0, pair.callerMemory.get(JAVA_BYTE, 0), "nothing of a record that was altered is used");
        }
    }

    @Test
    void shouldEndTheConnectionWhenARecordIsReplayed() throws IOException {
        byte[][] kept = new byte[1][];
        try (Loopback pair = new Loopback(ON);
                Tap tap = new Tap(pair.to.endpoint().lid())) {
            reconnect(pair, tap);
            assertEquals(WcStatus.SUCCESS, read(pair).status());
            tap.change((direction, before, bytes, length) -> {
                if (direction) {
                    if (kept[0] == null) {
                        kept[0] = java.util.Arrays.copyOf(bytes, length);
                    } else {
                        assertEquals(kept[0].length, length, "two READs are equally long");
                        System.arraycopy(kept[0], 0, bytes, 0, length);
                    }
                }
            });
            assertEquals(WcStatus.SUCCESS, read(pair).status());
            assertEquals(WcStatus.RETRY_EXC_ERR, read(pair).status());
        }
    }

    @Test
    void shouldMovePagesWhenSocketBuffersAreSmallerThanWhatIsSent() {
        SoftOptions options = new SoftOptions(
                Loopback.SMALL_BUFFERS, OFF.responders(), OFF.admission(), SoftOptions.Encryption.REQUIRED);
        try (Loopback pair = new Loopback(options)) {
            for (int round = 0; round < 50; round++) {
                pair.callerMemory.fill((byte) (round + 1));
                for (int k = 0; k < 8; k++) {
                    pair.from.prepareWrite(
                            k,
                            pair.callerMemory.address(),
                            Loopback.SIZE,
                            pair.callerRegion.lkey(),
                            pair.serverMemory.address(),
                            pair.serverRegion.rkey(),
                            k == 7 ? SendFlag.SIGNALED : SendFlag.NONE);
                }
                pair.from.postSend();
                WorkCompletion done = round % 2 == 0 ? pair.sleep() : pair.spin();
                assertEquals(7, done.wrId());
                assertTrue(done.isSuccess(), done::toString);
                assertEquals(-1, pair.serverMemory.mismatch(pair.callerMemory));
            }
        }
    }

    @Test
    void shouldRefuseToConnectAQueuePairWithoutASecret() {
        try (SoftFixture fixture = SoftFixture.open(ON);
                var domain = fixture.a().allocateProtectionDomain();
                var queue = fixture.a().createCompletionQueue(256);
                var node = domain.createQueuePair(queue, queue, QpOptions.DEFAULT)) {
            node.modifyToInit();
            VerbsException refused = assertThrows(VerbsException.class, () -> node.modifyToRtr(node.endpoint()));
            assertEquals(
                    "modify_qp(INIT→RTR) on " + node
                            + ": EINVAL; its device encrypts every connection, which takes a secret: require a proof"
                            + " first",
                    refused.getMessage());
        }
    }

    @Test
    void shouldNotOpenADeviceThatRequiresEncryptionWithoutTheLibrary() {
        SoftOptions options =
                OFF.withEncryption(new SoftOptions.Encryption(true, Optional.of(Path.of("/nonexistent/libssl.so.3"))));
        VerbsException refused =
                assertThrows(VerbsException.class, () -> new SoftProvider(options).open(SoftProvider.DEVICE));
        assertEquals(
                "open soft0: its connections must be encrypted, and cannot load /nonexistent/libssl.so.3;"
                        + " install OpenSSL 3: apt-get install libssl3",
                refused.getMessage());
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void shouldNotConnectInTheClearWhenTheOtherEndHasNoLibrary(boolean caller) throws IOException {
        try (Loopback pair = new Loopback(caller ? ON : WITHOUT_LIBRARY, caller ? WITHOUT_LIBRARY : ON, IMPATIENT);
                Tap tap = new Tap(pair.to.endpoint().lid())) {
            reconnect(pair, tap);
            assertEquals(WcStatus.RETRY_EXC_ERR, read(pair).status());
            assertFalse(contains(tap.seen(), "SSSS"));
        }
    }

    @Test
    void shouldServeThePeerAfterAProvenCallerSpokeGarbage() throws IOException {
        try (ProvenCaller caller = new ProvenCaller(HASTY)) {
            caller.prove();
            caller.peer.send(new byte[NONCE_AND_HELLO]);
            caller.peer.readToEnd(); // an alert, and the end
            caller.requireWorking();
        }
    }

    @Test
    void shouldHangUpOnACallerThatProvedItselfAndDoesNotBeginTls() throws IOException {
        try (ProvenCaller caller = new ProvenCaller(HASTY)) {
            caller.prove();
            assertArrayEquals(new byte[0], caller.peer.readToEnd());
            caller.requireWorking();
        }
    }

    @Test
    void shouldRefuseAProofOfAConnectionInTheClear() throws IOException {
        try (ProvenCaller caller = new ProvenCaller(ON)) {
            assertEquals(HelloReply.Verdict.NOT_PROVEN, caller.answer("initiator"));
        }
    }

    @Test
    void shouldSpeakTlsWithOpensslAsTheClient() throws Exception {
        try (ProvenCaller caller = new ProvenCaller(ON)) {
            caller.prove();
            byte[] page = caller.readWithOpenssl(PAGE);
            assertEquals(PAGE, page.length);
            assertEquals('S', page[0]);
            assertEquals('S', page[PAGE - 1]);
        }
    }

    @Test
    void shouldRefuseOpensslWithAnotherKey() throws Exception {
        try (ProvenCaller caller = new ProvenCaller(ON)) {
            caller.prove();
            caller.secret = new LinkSecret(new byte[] {
                1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
            });
            assertEquals(0, caller.readWithOpenssl(PAGE).length);
            caller.requireWorking();
        }
    }
}
