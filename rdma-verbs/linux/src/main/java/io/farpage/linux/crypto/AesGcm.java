package io.farpage.linux.crypto;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * AES-256-GCM (NIST SP 800-38D) in one direction, on raw addresses. The key schedule is kept from message to message; a
 * message takes a nonce of its own and allocates nothing. One thread at a time.
 *
 * <p>The caller writes {@link #nonce()} and {@link #data()} and then calls {@link #seal} or {@link #open}. A nonce must
 * never be used twice for sealing under one key: two such messages give away the XOR of their contents and the key of
 * the tags.
 */
public final class AesGcm implements AutoCloseable {
    /** Bytes of a key. */
    public static final int KEY_BYTES = 32;

    /** Bytes of a nonce. */
    public static final int NONCE_BYTES = 12;

    /** Bytes of a tag. */
    public static final int TAG_BYTES = 16;

    private static final int CTRL_GET_TAG = 0x10;
    private static final int CTRL_SET_TAG = 0x11;

    private final LibCrypto library;
    private final Arena arena = Arena.ofShared();
    private final int encrypt;
    private final MemorySegment nonce;
    private final MemorySegment data;
    private final MemorySegment length;
    private long context;

    private AesGcm(LibCrypto library, int encrypt, int dataBytes) {
        this.library = library;
        this.encrypt = encrypt;
        nonce = arena.allocate(NONCE_BYTES, Long.BYTES);
        data = arena.allocate(dataBytes, Long.BYTES);
        length = arena.allocate(Long.BYTES, Long.BYTES);
        context = library.newContext();
        if (context == 0) {
            arena.close();
            throw new IllegalStateException("EVP_CIPHER_CTX_new: no memory for a cipher; free memory on this host");
        }
    }

    /**
     * A cipher that seals.
     *
     * @param dataBytes bytes beside the message that the tag covers
     */
    public static AesGcm sealing(LibCrypto library, int dataBytes) {
        return new AesGcm(library, 1, dataBytes);
    }

    /** A cipher that opens; parameters as of {@link #sealing}. */
    public static AesGcm opening(LibCrypto library, int dataBytes) {
        return new AesGcm(library, 0, dataBytes);
    }

    /** Takes a key of {@link #KEY_BYTES} bytes, which is copied. */
    public void key(long address) {
        requireOpen();
        require(library.initKey(context, address, encrypt), "EVP_CipherInit_ex2(key)");
    }

    /** The nonce of the next message, {@link #NONCE_BYTES} bytes. */
    public MemorySegment nonce() {
        return nonce;
    }

    /** What the tag of the next message covers beside the message. */
    public MemorySegment data() {
        return data;
    }

    /**
     * Encrypts a message.
     *
     * @param source address of the message
     * @param target where the encrypted message goes, as long as the message; may be {@code source}
     * @param bytes of the message
     * @param tag where the tag goes, {@link #TAG_BYTES} bytes
     * @throws IllegalStateException if libcrypto fails, or this cipher opens
     */
    public void seal(long source, long target, int bytes, long tag) {
        if (encrypt == 0) {
            throw new IllegalStateException("seal: this cipher opens");
        }
        begin(source, target, bytes);
        require(library.finish(context, target, length.address()), "EVP_CipherFinal_ex");
        require(library.control(context, CTRL_GET_TAG, TAG_BYTES, tag), "EVP_CIPHER_CTX_ctrl(GET_TAG)");
    }

    /**
     * Decrypts a message and checks its tag. If the tag is wrong, what is in {@code target} is worthless and must not
     * be used.
     *
     * @param source address of the encrypted message
     * @param target where the message goes, as long as the encrypted one; may be {@code source}
     * @param bytes of the message
     * @param tag address of the tag, {@link #TAG_BYTES} bytes
     * @return whether the message is the one that was sealed with this key, nonce, data and tag
     * @throws IllegalStateException if libcrypto fails, or this cipher seals
     */
    public boolean open(long source, long target, int bytes, long tag) {
        if (encrypt != 0) {
            throw new IllegalStateException("open: this cipher seals");
        }
        begin(source, target, bytes);
        require(library.control(context, CTRL_SET_TAG, TAG_BYTES, tag), "EVP_CIPHER_CTX_ctrl(SET_TAG)");
        return library.finish(context, target, length.address()) == 1;
    }

    private void begin(long source, long target, int bytes) {
        requireOpen();
        require(library.initNonce(context, nonce.address(), encrypt), "EVP_CipherInit_ex2(nonce)");
        require(
                library.update(context, 0, length.address(), data.address(), (int) data.byteSize()),
                "EVP_CipherUpdate(data)");
        require(library.update(context, target, length.address(), source, bytes), "EVP_CipherUpdate");
    }

    private void requireOpen() {
        if (context == 0) {
            throw new IllegalStateException("AES-256-GCM: the cipher is closed");
        }
    }

    private static void require(int result, String call) {
        if (result != 1) {
            throw new IllegalStateException(
                    call + " of AES-256-GCM: libcrypto refused it; the cipher has no key, or the host has no memory");
        }
    }

    /** Wipes the key and frees the cipher. Closing twice does nothing. */
    @Override
    public void close() {
        if (context != 0) {
            library.freeContext(context);
            context = 0;
            arena.close();
        }
    }
}
