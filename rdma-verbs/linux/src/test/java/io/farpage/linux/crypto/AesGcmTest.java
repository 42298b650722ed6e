package io.farpage.linux.crypto;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.it.deadlines.Allocations;
import io.farpage.linux.crypto.LibCrypto.Loading;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import java.util.Optional;
import java.util.Random;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class AesGcmTest {
    private static final int DATA = 24;
    private static final int PAGE = 4096;

    private final Arena arena = Arena.ofConfined();
    private final long seed = Long.getLong("farpage.seed", System.nanoTime());
    private final Random random = new Random(seed);
    private final byte[] key = bytes(AesGcm.KEY_BYTES);
    private final byte[] nonce = bytes(AesGcm.NONCE_BYTES);
    private final byte[] data = bytes(DATA);
    private final MemorySegment tag = arena.allocate(AesGcm.TAG_BYTES);
    private AesGcm sealing;
    private AesGcm opening;

    @BeforeEach
    void open() {
        LibCrypto library = library();
        sealing = AesGcm.sealing(library, DATA);
        opening = AesGcm.opening(library, DATA);
        MemorySegment copy = arena.allocateFrom(JAVA_BYTE, key);
        sealing.key(copy.address());
        opening.key(copy.address());
        copy.fill((byte) 0);
    }

    @AfterEach
    void close() {
        if (sealing != null) {
            sealing.close();
            opening.close();
        }
        arena.close();
    }

    private static LibCrypto library() {
        Loading loading = LibCrypto.load(Optional.empty());
        assumeTrue(loading instanceof Loading.Loaded, loading::toString);
        return ((Loading.Loaded) loading).library();
    }

    private byte[] bytes(int count) {
        byte[] some = new byte[count];
        random.nextBytes(some);
        return some;
    }

    private void begin(AesGcm cipher) {
        MemorySegment.copy(nonce, 0, cipher.nonce(), JAVA_BYTE, 0, nonce.length);
        MemorySegment.copy(data, 0, cipher.data(), JAVA_BYTE, 0, data.length);
    }

    private byte[] byTheJdk(byte[] message) throws GeneralSecurityException {
        Cipher jdk = Cipher.getInstance("AES/GCM/NoPadding");
        jdk.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(key, "AES"), new GCMParameterSpec(128, nonce));
        jdk.updateAAD(data);
        return jdk.doFinal(message);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 16, 4095, PAGE, 2 << 20})
    void shouldSealAsTheJdkDoes(int length) throws GeneralSecurityException {
        byte[] message = bytes(length);
        byte[] expected = byTheJdk(message);
        MemorySegment memory = arena.allocateFrom(JAVA_BYTE, message);
        begin(sealing);
        sealing.seal(memory.address(), memory.address(), length, tag.address());
        String failure = "seed " + seed;
        assertArrayEquals(Arrays.copyOf(expected, length), memory.toArray(JAVA_BYTE), failure);
        assertArrayEquals(Arrays.copyOfRange(expected, length, expected.length), tag.toArray(JAVA_BYTE), failure);
        begin(opening);
        assertTrue(opening.open(memory.address(), memory.address(), length, tag.address()), failure);
        assertArrayEquals(message, memory.toArray(JAVA_BYTE), failure);
    }

    @Test
    void shouldSealFromOnePlaceToAnother() throws GeneralSecurityException {
        byte[] message = bytes(PAGE);
        MemorySegment source = arena.allocateFrom(JAVA_BYTE, message);
        MemorySegment target = arena.allocate(PAGE);
        begin(sealing);
        sealing.seal(source.address(), target.address(), PAGE, tag.address());
        assertArrayEquals(message, source.toArray(JAVA_BYTE));
        assertArrayEquals(Arrays.copyOf(byTheJdk(message), PAGE), target.toArray(JAVA_BYTE));
    }

    @Test
    void shouldNotOpenWhatHasOneBitFlipped() {
        MemorySegment memory = arena.allocateFrom(JAVA_BYTE, bytes(PAGE));
        begin(sealing);
        sealing.seal(memory.address(), memory.address(), PAGE, tag.address());
        byte[] sealed = memory.toArray(JAVA_BYTE);
        assertFalse(opensWithFlipped(memory, sealed), "in the message, seed " + seed);
        assertFalse(opensWithFlipped(tag, sealed, memory), "in the tag, seed " + seed);
        for (byte[] part : new byte[][] {nonce, data}) {
            int at = random.nextInt(part.length);
            part[at] ^= 1;
            assertFalse(opens(memory, sealed), "in the nonce or the data, seed " + seed);
            part[at] ^= 1;
        }
        assertTrue(opens(memory, sealed), "no bit is flipped");
    }

    private boolean opensWithFlipped(MemorySegment message, byte[] sealed) {
        byte[] flipped = sealed.clone();
        flipped[random.nextInt(PAGE)] ^= (byte) (1 << random.nextInt(8));
        return opens(message, flipped);
    }

    private boolean opensWithFlipped(MemorySegment part, byte[] sealed, MemorySegment message) {
        long at = random.nextInt((int) part.byteSize());
        byte right = part.get(JAVA_BYTE, at);
        part.set(JAVA_BYTE, at, (byte) (right ^ 0x80));
        boolean opens = opens(message, sealed);
        part.set(JAVA_BYTE, at, right);
        return opens;
    }

    private boolean opens(MemorySegment memory, byte[] sealed) {
        MemorySegment.copy(sealed, 0, memory, JAVA_BYTE, 0, sealed.length);
        begin(opening);
        return opening.open(memory.address(), memory.address(), PAGE, tag.address());
    }

    @Test
    void shouldAllocateNothingForAMessage() {
        MemorySegment memory = arena.allocate(PAGE);
        long address = memory.address();
        long tagAddress = tag.address();
        Allocations.assertNone(1_000, messages -> {
            for (int i = 0; i < messages; i++) {
                round(i, address, tagAddress);
            }
        });
    }

    private void round(long number, long address, long tagAddress) {
        sealing.nonce().set(java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED, 4, number);
        opening.nonce().set(java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED, 4, number);
        sealing.seal(address, address, PAGE, tagAddress);
        if (!opening.open(address, address, PAGE, tagAddress)) {
            throw new AssertionError("message " + number + " does not open");
        }
    }

    @Test
    void shouldRefuseUseAfterClose() {
        sealing.close();
        assertThrows(IllegalStateException.class, () -> sealing.key(tag.address()));
        assertThrows(
                IllegalStateException.class,
                () -> sealing.seal(tag.address(), tag.address(), AesGcm.TAG_BYTES, tag.address()));
        sealing.close();
    }

    @Test
    void shouldSayHowToGetALibraryThatIsMissing() {
        Loading loading = LibCrypto.load(Optional.of(Path.of("/nonexistent/libcrypto.so.3")));
        assertEquals(
                "cannot load /nonexistent/libcrypto.so.3; install OpenSSL 3: apt-get install libssl3",
                loading.toString());
    }

    @Test
    void shouldNameWhatAnotherLibraryLacks() {
        Path libc = Path.of("/lib/x86_64-linux-gnu/libc.so.6");
        String found = LibCrypto.load(Optional.of(libc)).toString();
        assumeTrue(!found.startsWith("cannot load"), found);
        assertTrue(found.contains("lacks EVP_CIPHER_CTX_new"), found);
    }
}
