package io.farpage.linux.crypto;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * One TLS 1.3 connection without a socket: encrypted bytes go in and come out through two rings in native memory. The
 * caller receives into one ring and sends from the other, so the caller decides which calls block. Both ends hold a
 * pre-shared key; an X25519 exchange makes the keys of each connection new (psk_dhe_ke, RFC 8446). One thread at a
 * time. After the handshake nothing is allocated and nothing calls back.
 *
 * <p>No method waits: {@link #NEEDS_INPUT} means that the caller must first receive encrypted bytes. Keys of AES-GCM
 * wear out after 2^24.5 records (RFC 8446, section 5.5), so a stream replaces its sending key long before. No
 * close_notify is sent: the messages of a link have lengths, so an end within a message is detected.
 */
public final class TlsStream implements AutoCloseable {
    /** Bytes of the pre-shared key. */
    public static final int PSK_BYTES = 32;

    /** The most bytes that one record carries. */
    public static final int MAX_RECORD = 16384;

    /** Result: encrypted bytes must be received first. */
    public static final int NEEDS_INPUT = -1;

    /** Result: the connection is broken; {@link #failure} says why. */
    public static final int FAILED = -2;

    /** Result of a handshake that is complete. */
    public static final int DONE = 1;

    /** Result of a read after the peer's close_notify. */
    public static final int END = 0;

    /** Header, content type and tag of a record, and room for a key update before it. */
    static final int OVERHEAD = 256;

    /** Records under one key: 2^23 leave the limit a factor of three away. */
    static final long REKEY_RECORDS = 1 << 23;

    /** Messages in succession that are not data, after which the peer is taken to do nothing else. */
    private static final int MAX_CONTROL = 16;

    private static final int WANT_READING = 3;
    private static final int UPDATE_NOT_REQUESTED = 0;

    private final LibSsl library;
    /**
     * Where libssl puts an address. In an automatic arena: closing a shared one stops every thread of the JVM for a
     * moment.
     */
    private final MemorySegment cell = Arena.ofAuto().allocate(JAVA_LONG);

    private final long pointer = cell.address();
    private final long rekeyRecords;
    private final long ssl;
    /** The two sides of the rings: libssl's, and the socket's. */
    private final long inner;

    private final long outer;
    /** Where received bytes go; 0 if that has to be asked again. */
    private long inputAddress;

    private int inputSpace;
    private int outputLength;
    private long records;
    private long rekeyings;
    private int controls;
    private String failure = "";
    private boolean closed;

    TlsStream(LibSsl library, boolean isClient, byte[] psk, long rekeyRecords) throws TlsException {
        if (psk.length != PSK_BYTES) {
            throw new IllegalArgumentException("pre-shared key: %d bytes, not %d".formatted(psk.length, PSK_BYTES));
        }
        this.library = library;
        this.rekeyRecords = rekeyRecords;
        TlsContext.Connection made = library.context().connection(isClient, psk);
        this.ssl = made.ssl();
        this.inner = made.inner();
        this.outer = made.outer();
    }

    /**
     * The side that speaks first.
     *
     * @param psk the key that both sides hold, {@link #PSK_BYTES} bytes; copied
     * @throws TlsException if the host has no memory for it
     */
    public static TlsStream client(LibSsl library, byte[] psk) throws TlsException {
        return new TlsStream(library, true, psk, REKEY_RECORDS);
    }

    /** The side that answers; otherwise as {@link #client}. */
    public static TlsStream server(LibSsl library, byte[] psk) throws TlsException {
        return new TlsStream(library, false, psk, REKEY_RECORDS);
    }

    /**
     * Continues the handshake. What it has to say is in the output afterwards, also if it fails.
     *
     * @return {@link #DONE}, {@link #NEEDS_INPUT} or {@link #FAILED}
     */
    public int handshake() {
        int result = library.handshake(ssl);
        inputAddress = 0;
        if (result == 1) {
            library.context().forgetPsk(ssl);
            return DONE;
        }
        return library.want(ssl) == WANT_READING ? NEEDS_INPUT : fail("handshake");
    }

    /**
     * Decrypts into memory.
     *
     * @param length at least 1
     * @return bytes, {@link #END}, {@link #NEEDS_INPUT} or {@link #FAILED}
     */
    public int read(long address, int length) {
        while (true) {
            int result = library.read(ssl, address, length);
            inputAddress = 0;
            if (result > 0) {
                controls = 0;
                return result;
            }
            if (library.want(ssl) != WANT_READING) {
                return result == 0 ? end() : fail("read");
            }
            if (library.bioPending(inner) == 0) {
                return NEEDS_INPUT;
            }
            // The stream took a message without data, and the ring holds more bytes.
            if (++controls > MAX_CONTROL) {
                failure = "the peer sends nothing but key updates";
                return FAILED;
            }
        }
    }

    /**
     * Encrypts one record.
     *
     * @param length 1 to {@link #MAX_RECORD}
     * @return whether the connection still works
     * @throws IllegalStateException if {@link #hasSpace} does not hold
     */
    public boolean write(long address, int length) {
        if (++records > rekeyRecords) {
            records = 1;
            rekeyings++;
            if (library.keyUpdate(ssl, UPDATE_NOT_REQUESTED) != 1) {
                fail("key update");
                return false;
            }
        }
        if (library.write(ssl, address, length) == length) {
            return true;
        }
        fail("write");
        return false;
    }

    /** Whether the output has room for another record. */
    public boolean hasSpace() {
        return library.bioGuarantee(inner) >= MAX_RECORD + OVERHEAD;
    }

    /** Whether bytes were received that {@link #read} has not looked at yet. */
    public boolean hasInput() {
        return library.pending(ssl) > 0 || library.bioPending(inner) > 0;
    }

    /** Where to receive encrypted bytes to; up to {@link #inputSpace} of them. */
    public long inputAddress() {
        if (inputAddress == 0) {
            inputSpace = Math.max(0, library.bioNwrite0(outer, pointer));
            inputAddress = cell.get(JAVA_LONG, 0);
        }
        return inputAddress;
    }

    /** Bytes that fit at {@link #inputAddress}; 0 if {@link #read} must take some first. */
    public int inputSpace() {
        return inputSpace;
    }

    /** {@code bytes} were received to {@link #inputAddress}. */
    public void received(int bytes) {
        library.bioNwrite(outer, pointer, bytes);
        inputAddress = 0;
    }

    /** The address of {@link #outputLength} encrypted bytes to send. */
    public long outputAddress() {
        outputLength = Math.max(0, library.bioNread0(outer, pointer));
        return cell.get(JAVA_LONG, 0);
    }

    /** Bytes at {@link #outputAddress}; 0 if the stream has nothing to send. */
    public int outputLength() {
        return outputLength;
    }

    /** {@code bytes} were sent from {@link #outputAddress}. */
    public void sent(int bytes) {
        library.bioNread(outer, pointer, bytes);
    }

    /** {@code SSL *}. */
    long handle() {
        return ssl;
    }

    /** How often the sending key was replaced. */
    long rekeyings() {
        return rekeyings;
    }

    /** Why the connection failed; empty if it has not. */
    public String failure() {
        return failure;
    }

    /** The peer's close_notify: an error left by an earlier call must not be taken for this connection's. */
    private int end() {
        failure = "the peer has closed it";
        return END;
    }

    private int fail(String step) {
        String errors = library.takeErrors();
        failure = step + ": " + (errors.isEmpty() ? "the connection was closed" : errors);
        return FAILED;
    }

    /** Wipes the keys. Closing twice does nothing. */
    @Override
    public void close() {
        if (!closed) {
            closed = true;
            library.context().forgetPsk(ssl);
            library.free(ssl);
            library.bioFree(outer);
        }
    }
}
