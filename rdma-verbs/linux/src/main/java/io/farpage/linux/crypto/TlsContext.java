package io.farpage.linux.crypto;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.linux.Libc;
import io.farpage.linux.SharedLibrary;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The {@code SSL_CTX} of a library and what creates connections of it: TLS 1.3 only, one cipher suite, a pre-shared key
 * of each connection's own with an X25519 exchange, no certificates, no tickets, no early data. libssl asks for the
 * pre-shared key by a callback, which runs during a handshake and at no other time.
 */
final class TlsContext {
    /**
     * Bytes of encrypted data of each direction between libssl and the socket: five records out, and what one receive
     * call takes in.
     */
    static final int OUTPUT_BYTES = 5 * (TlsStream.MAX_RECORD + TlsStream.OVERHEAD);

    static final int INPUT_BYTES = 64 * 1024;

    private static final byte[] CIPHER_CODE = {0x13, 0x01};
    private static final byte[] IDENTITY = "farpage".getBytes(StandardCharsets.US_ASCII);
    private static final int TLS1_3 = 0x0304;
    private static final int CTRL_SET_SESS_CACHE_MODE = 44;
    private static final int CTRL_CLEAR_MODE = 78;
    private static final int CTRL_SET_GROUPS_LIST = 92;
    private static final int CTRL_SET_MIN_PROTO_VERSION = 123;
    private static final int CTRL_SET_MAX_PROTO_VERSION = 124;
    /**
     * Without it SSL_read returns after each message that is not data, so that a peer that sends many of them is
     * noticed.
     */
    private static final long MODE_AUTO_RETRY = 4;

    private static final long OP_NO_TICKET = 1L << 14;

    private final LibSsl library;
    private final MethodHandle method$mh;
    private final MethodHandle ctxNew$mh;
    private final MethodHandle ctxCtrl$mh;
    private final MethodHandle ctxOptions$mh;
    private final MethodHandle ctxCiphers$mh;
    private final MethodHandle ctxTickets$mh;
    private final MethodHandle ctxUsePsk$mh;
    private final MethodHandle ctxFindPsk$mh;
    private final MethodHandle new$mh;
    private final MethodHandle setBio$mh;
    private final MethodHandle connectState$mh;
    private final MethodHandle acceptState$mh;
    private final MethodHandle cipherFind$mh;
    private final MethodHandle sessionNew$mh;
    private final MethodHandle sessionFree$mh;
    private final MethodHandle sessionUpRef$mh;
    private final MethodHandle sessionKey$mh;
    private final MethodHandle sessionCipher$mh;
    private final MethodHandle sessionVersion$mh;
    private final MethodHandle bioPair$mh;

    /** {@code SSL_SESSION *} with the pre-shared key, by {@code SSL *}; for the callbacks. */
    private final Map<Long, Long> sessions = new ConcurrentHashMap<>();

    private final MemorySegment identity = Arena.global().allocate(IDENTITY.length);
    private long address;

    TlsContext(LibSsl library, SharedLibrary ssl, SharedLibrary crypto) {
        this.library = library;
        method$mh = ssl.returns("TLS_method", JAVA_LONG);
        ctxNew$mh = ssl.returns("SSL_CTX_new", JAVA_LONG, JAVA_LONG);
        ctxCtrl$mh = ssl.returns("SSL_CTX_ctrl", JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG);
        ctxOptions$mh = ssl.returns("SSL_CTX_set_options", JAVA_LONG, JAVA_LONG, JAVA_LONG);
        ctxCiphers$mh = ssl.returns("SSL_CTX_set_ciphersuites", JAVA_INT, JAVA_LONG, JAVA_LONG);
        ctxTickets$mh = ssl.returns("SSL_CTX_set_num_tickets", JAVA_INT, JAVA_LONG, JAVA_LONG);
        ctxUsePsk$mh = ssl.isVoid("SSL_CTX_set_psk_use_session_callback", JAVA_LONG, JAVA_LONG);
        ctxFindPsk$mh = ssl.isVoid("SSL_CTX_set_psk_find_session_callback", JAVA_LONG, JAVA_LONG);
        new$mh = ssl.returns("SSL_new", JAVA_LONG, JAVA_LONG);
        setBio$mh = ssl.isVoid("SSL_set_bio", JAVA_LONG, JAVA_LONG, JAVA_LONG);
        connectState$mh = ssl.isVoid("SSL_set_connect_state", JAVA_LONG);
        acceptState$mh = ssl.isVoid("SSL_set_accept_state", JAVA_LONG);
        cipherFind$mh = ssl.returns("SSL_CIPHER_find", JAVA_LONG, JAVA_LONG, JAVA_LONG);
        sessionNew$mh = ssl.returns("SSL_SESSION_new", JAVA_LONG);
        sessionFree$mh = ssl.isVoid("SSL_SESSION_free", JAVA_LONG);
        sessionUpRef$mh = ssl.returns("SSL_SESSION_up_ref", JAVA_INT, JAVA_LONG);
        sessionKey$mh = ssl.returns("SSL_SESSION_set1_master_key", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG);
        sessionCipher$mh = ssl.returns("SSL_SESSION_set_cipher", JAVA_INT, JAVA_LONG, JAVA_LONG);
        sessionVersion$mh = ssl.returns("SSL_SESSION_set_protocol_version", JAVA_INT, JAVA_LONG, JAVA_INT);
        bioPair$mh = crypto.returns("BIO_new_bio_pair", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
        MemorySegment.copy(IDENTITY, 0, identity, JAVA_BYTE, 0, IDENTITY.length);
    }

    /** Creates the context, once, before the first connection. */
    void open() throws TlsException {
        try (Arena arena = Arena.ofConfined()) {
            address = (long) ctxNew$mh.invokeExact((long) method$mh.invokeExact());
            require(address != 0, "SSL_CTX_new");
            control(CTRL_SET_MIN_PROTO_VERSION, TLS1_3, 0);
            control(CTRL_SET_MAX_PROTO_VERSION, TLS1_3, 0);
            control(CTRL_SET_GROUPS_LIST, 0, arena.allocateFrom("X25519").address());
            long mode = (long) ctxCtrl$mh.invokeExact(address, CTRL_CLEAR_MODE, MODE_AUTO_RETRY, 0L);
            require((mode & MODE_AUTO_RETRY) == 0, "SSL_CTX_clear_mode");
            // Returns the mode before, which is not 0.
            require(
                    (long) ctxCtrl$mh.invokeExact(address, CTRL_SET_SESS_CACHE_MODE, 0L, 0L) > 0,
                    "SSL_CTX_set_session_cache_mode");
            long options = (long) ctxOptions$mh.invokeExact(address, OP_NO_TICKET);
            require((options & OP_NO_TICKET) != 0, "SSL_CTX_set_options");
            long cipher = arena.allocateFrom(LibSsl.CIPHER).address();
            require((int) ctxCiphers$mh.invokeExact(address, cipher) == 1, "SSL_CTX_set_ciphersuites");
            require((int) ctxTickets$mh.invokeExact(address, 0L) == 1, "SSL_CTX_set_num_tickets");
            ctxUsePsk$mh.invokeExact(
                    address, callback("usePsk", JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG));
            ctxFindPsk$mh.invokeExact(address, callback("findPsk", JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG));
        } catch (TlsException e) {
            throw e;
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    private void control(int command, long value, long pointer) throws Throwable {
        require((long) ctxCtrl$mh.invokeExact(address, command, value, pointer) == 1, "SSL_CTX_ctrl(" + command + ")");
    }

    @SuppressWarnings("restricted") // the library calls back
    private long callback(String name, java.lang.foreign.MemoryLayout... arguments)
            throws ReflectiveOperationException {
        FunctionDescriptor descriptor = FunctionDescriptor.of(JAVA_INT, arguments);
        MethodType type = descriptor.toMethodType();
        MethodHandle target =
                MethodHandles.lookup().findVirtual(TlsContext.class, name, type).bindTo(this);
        // SAFETY: the arena is the global one, so the stub outlives every connection.
        return Linker.nativeLinker()
                .upcallStub(target, descriptor, Arena.global())
                .address();
    }

    /** An {@code SSL *} and the two {@code BIO *} of its rings: libssl's side, which it owns, and the socket's. */
    record Connection(long ssl, long inner, long outer) {}

    /**
     * Creates a connection that has not begun its handshake.
     *
     * @param psk the pre-shared key, 32 bytes
     */
    Connection connection(boolean isClient, byte[] psk) throws TlsException {
        long ssl = 0;
        try (Arena arena = Arena.ofConfined()) {
            ssl = (long) new$mh.invokeExact(address);
            require(ssl != 0, "SSL_new");
            MemorySegment pair = arena.allocate(JAVA_LONG, 2);
            int made = (int) bioPair$mh.invokeExact(
                    pair.address(), (long) OUTPUT_BYTES, pair.address() + Long.BYTES, (long) INPUT_BYTES);
            require(made == 1, "BIO_new_bio_pair");
            long inner = pair.get(JAVA_LONG, 0);
            setBio$mh.invokeExact(ssl, inner, inner);
            sessions.put(ssl, session(ssl, psk, arena));
            if (isClient) {
                connectState$mh.invokeExact(ssl);
            } else {
                acceptState$mh.invokeExact(ssl);
            }
            return new Connection(ssl, inner, pair.get(JAVA_LONG, Long.BYTES));
        } catch (TlsException e) {
            if (ssl != 0) {
                library.free(ssl);
            }
            throw e;
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    private long session(long ssl, byte[] psk, Arena arena) throws Throwable {
        MemorySegment code = arena.allocate(CIPHER_CODE.length);
        MemorySegment.copy(CIPHER_CODE, 0, code, JAVA_BYTE, 0, CIPHER_CODE.length);
        long cipher = (long) cipherFind$mh.invokeExact(ssl, code.address());
        require(cipher != 0, "SSL_CIPHER_find(" + LibSsl.CIPHER + ")");
        long session = (long) sessionNew$mh.invokeExact();
        require(session != 0, "SSL_SESSION_new");
        MemorySegment key = arena.allocate(psk.length);
        MemorySegment.copy(psk, 0, key, JAVA_BYTE, 0, psk.length);
        boolean set = (int) sessionKey$mh.invokeExact(session, key.address(), (long) psk.length) == 1
                && (int) sessionCipher$mh.invokeExact(session, cipher) == 1
                && (int) sessionVersion$mh.invokeExact(session, TLS1_3) == 1;
        key.fill((byte) 0);
        if (!set) {
            sessionFree$mh.invokeExact(session);
        }
        require(set, "SSL_SESSION_set1_master_key");
        return session;
    }

    /** Forgets the pre-shared key of a connection: its handshake is complete, or it is closed. */
    void forgetPsk(long ssl) {
        Long session = sessions.remove(ssl);
        if (session != null) {
            try {
                sessionFree$mh.invokeExact((long) session);
            } catch (Throwable t) {
                throw Libc.unexpected(t);
            }
        }
    }

    /** {@code SSL_psk_use_session_cb_func}: gives the client's key to libssl, which owns the reference from then on. */
    @SuppressWarnings({"unused", "restricted"}) // called by libssl
    private int usePsk(long ssl, long digest, long id, long idLength, long session) {
        try {
            // SAFETY: the arguments are pointers to one pointer, one size_t and one pointer
            // (SSL_CTX_set_psk_use_session_callback(3)).
            MemorySegment.ofAddress(id).reinterpret(Long.BYTES).set(JAVA_LONG, 0, identity.address());
            MemorySegment.ofAddress(idLength).reinterpret(Long.BYTES).set(JAVA_LONG, 0, IDENTITY.length);
            return give(ssl, session);
        } catch (Throwable t) {
            return 0; // an exception must not reach libssl; without a key the handshake fails
        }
    }

    /**
     * {@code SSL_psk_find_session_cb_func}: as {@link #usePsk} at the server. The identity says nothing: the connection
     * decides the key.
     */
    @SuppressWarnings("unused") // called by libssl
    private int findPsk(long ssl, long id, long idLength, long session) {
        try {
            return give(ssl, session);
        } catch (Throwable t) {
            return 0;
        }
    }

    @SuppressWarnings("restricted") // the library passes the address of a variable
    private int give(long ssl, long session) throws Throwable {
        Long own = sessions.get(ssl);
        if (own == null || (int) sessionUpRef$mh.invokeExact((long) own) != 1) {
            return 0;
        }
        // SAFETY: the argument is a pointer to one SSL_SESSION pointer.
        MemorySegment.ofAddress(session).reinterpret(Long.BYTES).set(JAVA_LONG, 0, own);
        return 1;
    }

    private void require(boolean success, String call) throws TlsException {
        if (!success) {
            throw new TlsException(call + " failed: " + library.takeErrors());
        }
    }
}
