package io.farpage.linux.crypto;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.linux.Libc;
import io.farpage.linux.SharedLibrary;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;
import java.util.Optional;

/**
 * The functions of one loaded copy of OpenSSL 3's libssl, and of the libcrypto that it is linked with, that a TLS 1.3
 * connection takes (ssl(7)). Pointers are {@code long}s. Any thread may open streams; the library is never unloaded.
 */
public final class LibSsl {
    /** The cipher suite of every connection. */
    public static final String CIPHER = "TLS_AES_128_GCM_SHA256";

    static final String SONAME = "libssl.so.3";
    private static final String CRYPTO = "libcrypto.so.3";
    private static final String INSTALL = "install OpenSSL 3: apt-get install libssl3";

    private static final int OPENSSL_VERSION = 0;
    /** {@code OPENSSL_INIT_NO_ATEXIT}: exit(3) frees nothing under threads that still use the library. */
    private static final long NO_ATEXIT = 0x80000L;

    /** The outcome of loading. */
    public sealed interface Loading {
        /** The library is loaded, and two streams of it have talked to each other. */
        record Loaded(LibSsl library) implements Loading {}

        /**
         * The library cannot be used.
         *
         * @param detail what was found, one line
         * @param fix what to do about it, one line
         */
        record Failed(String detail, String fix) implements Loading {
            @Override
            public String toString() {
                return detail + "; " + fix;
            }
        }
    }

    private final MethodHandle read$mh;
    private final MethodHandle write$mh;
    private final MethodHandle want$mh;
    private final MethodHandle pending$mh;
    private final MethodHandle handshake$mh;
    private final MethodHandle keyUpdate$mh;
    private final MethodHandle free$mh;
    private final MethodHandle bioPending$mh;
    private final MethodHandle bioGuarantee$mh;
    private final MethodHandle bioNread0$mh;
    private final MethodHandle bioNread$mh;
    private final MethodHandle bioNwrite0$mh;
    private final MethodHandle bioNwrite$mh;
    private final MethodHandle bioFree$mh;
    private final MethodHandle errorGet$mh;
    private final MethodHandle errorText$mh;
    private final MethodHandle version$mh;
    private final TlsContext context;

    private LibSsl(SharedLibrary ssl, SharedLibrary crypto) {
        read$mh = ssl.returns("SSL_read", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT);
        write$mh = ssl.returns("SSL_write", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT);
        want$mh = ssl.returns("SSL_want", JAVA_INT, JAVA_LONG);
        pending$mh = ssl.returns("SSL_pending", JAVA_INT, JAVA_LONG);
        handshake$mh = ssl.returns("SSL_do_handshake", JAVA_INT, JAVA_LONG);
        keyUpdate$mh = ssl.returns("SSL_key_update", JAVA_INT, JAVA_LONG, JAVA_INT);
        free$mh = ssl.isVoid("SSL_free", JAVA_LONG);
        bioPending$mh = crypto.returns("BIO_ctrl_pending", JAVA_LONG, JAVA_LONG);
        bioGuarantee$mh = crypto.returns("BIO_ctrl_get_write_guarantee", JAVA_LONG, JAVA_LONG);
        bioNread0$mh = crypto.returns("BIO_nread0", JAVA_INT, JAVA_LONG, JAVA_LONG);
        bioNread$mh = crypto.returns("BIO_nread", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT);
        bioNwrite0$mh = crypto.returns("BIO_nwrite0", JAVA_INT, JAVA_LONG, JAVA_LONG);
        bioNwrite$mh = crypto.returns("BIO_nwrite", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT);
        bioFree$mh = crypto.returns("BIO_free", JAVA_INT, JAVA_LONG);
        errorGet$mh = crypto.returns("ERR_get_error", JAVA_LONG);
        errorText$mh = crypto.isVoid("ERR_error_string_n", JAVA_LONG, JAVA_LONG, JAVA_LONG);
        version$mh = crypto.returns("OpenSSL_version", JAVA_LONG, JAVA_INT);
        context = new TlsContext(this, ssl, crypto);
    }

    /**
     * Loads the libraries and has two streams talk to each other in memory, which also loads every class that a
     * connection needs. Never throws for what it finds. Takes milliseconds.
     *
     * @param path of libssl; the system's {@code libssl.so.3} if empty
     */
    public static Loading load(Optional<Path> path) {
        String name = path.map(Path::toString).orElse(SONAME);
        return switch (SharedLibrary.load(SONAME, path)) {
            case SharedLibrary.Loading.Loaded(SharedLibrary ssl) -> withCrypto(ssl, name);
            case SharedLibrary.Loading.NotFound(String detail) -> new Loading.Failed(detail, INSTALL);
            case SharedLibrary.Loading.Denied(String detail, String fix) -> new Loading.Failed(detail, fix);
        };
    }

    private static Loading withCrypto(SharedLibrary ssl, String name) {
        return switch (SharedLibrary.load(CRYPTO, Optional.empty())) {
            case SharedLibrary.Loading.Loaded(SharedLibrary crypto) -> bind(ssl, crypto, name);
            case SharedLibrary.Loading.NotFound(String detail) -> new Loading.Failed(detail, INSTALL);
            case SharedLibrary.Loading.Denied(String detail, String fix) -> new Loading.Failed(detail, fix);
        };
    }

    private static Loading bind(SharedLibrary ssl, SharedLibrary crypto, String name) {
        MethodHandle init = crypto.returns("OPENSSL_init_crypto", JAVA_INT, JAVA_LONG, JAVA_LONG);
        LibSsl library = new LibSsl(ssl, crypto);
        if (!ssl.missing().isEmpty() || !crypto.missing().isEmpty()) {
            String missing = String.join(", ", ssl.missing()) + String.join(", ", crypto.missing());
            return new Loading.Failed(
                    name + " lacks " + missing, "it is not libssl, or one older than OpenSSL 3.0; " + INSTALL);
        }
        try {
            int ignored = (int) init.invokeExact(NO_ATEXIT, 0L);
            library.context.open();
            TlsTrial.run(library);
            return new Loading.Loaded(library);
        } catch (TlsException e) {
            return new Loading.Failed(
                    name + ", " + library.version() + ", gives no TLS 1.3 with a pre-shared key: " + e.getMessage(),
                    "its openssl.cnf(5) must allow TLS 1.3, " + CIPHER + " and X25519");
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** The library's name and version, such as {@code OpenSSL 3.0.17 1 Jul 2025} (OpenSSL_version(3)). */
    @SuppressWarnings("restricted") // the library returns an address
    public String version() {
        try {
            long text = (long) version$mh.invokeExact(OPENSSL_VERSION);
            // SAFETY: the library returns a static string that ends with a zero byte, for every argument.
            return MemorySegment.ofAddress(text).reinterpret(Long.MAX_VALUE).getString(0);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    TlsContext context() {
        return context;
    }

    /** {@code int SSL_read(ssl, buf, num)}: bytes read, or not positive. */
    int read(long ssl, long buffer, int length) {
        try {
            return (int) read$mh.invokeExact(ssl, buffer, length);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** {@code int SSL_write(ssl, buf, num)}: bytes written, or not positive. */
    int write(long ssl, long buffer, int length) {
        try {
            return (int) write$mh.invokeExact(ssl, buffer, length);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** {@code int SSL_want(ssl)}: what the last call on the connection lacked. */
    int want(long ssl) {
        try {
            return (int) want$mh.invokeExact(ssl);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** {@code int SSL_pending(ssl)}: decrypted bytes that wait. */
    int pending(long ssl) {
        try {
            return (int) pending$mh.invokeExact(ssl);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** {@code int SSL_do_handshake(ssl)}: 1 once it is complete. */
    int handshake(long ssl) {
        try {
            return (int) handshake$mh.invokeExact(ssl);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** {@code int SSL_key_update(ssl, type)}: 1 on success; the next write sends it. */
    int keyUpdate(long ssl, int type) {
        try {
            return (int) keyUpdate$mh.invokeExact(ssl, type);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** Frees a connection and its side of the BIO pair. */
    void free(long ssl) {
        try {
            free$mh.invokeExact(ssl);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** {@code size_t BIO_ctrl_pending(bio)}: bytes that can be read from this side of a pair. */
    long bioPending(long bio) {
        try {
            return (long) bioPending$mh.invokeExact(bio);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** {@code size_t BIO_ctrl_get_write_guarantee(bio)}: bytes that this side of a pair takes. */
    long bioGuarantee(long bio) {
        try {
            return (long) bioGuarantee$mh.invokeExact(bio);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** {@code int BIO_nread0(bio, char **buf)}: bytes that can be read in one piece, and where they are. */
    int bioNread0(long bio, long pointer) {
        try {
            return (int) bioNread0$mh.invokeExact(bio, pointer);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** {@code int BIO_nread(bio, char **buf, num)}: drops what was read in place. */
    int bioNread(long bio, long pointer, int bytes) {
        try {
            return (int) bioNread$mh.invokeExact(bio, pointer, bytes);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** {@code int BIO_nwrite0(bio, char **buf)}: bytes that can be written in one piece, and where to. */
    int bioNwrite0(long bio, long pointer) {
        try {
            return (int) bioNwrite0$mh.invokeExact(bio, pointer);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** {@code int BIO_nwrite(bio, char **buf, num)}: takes what was written in place. */
    int bioNwrite(long bio, long pointer, int bytes) {
        try {
            return (int) bioNwrite$mh.invokeExact(bio, pointer, bytes);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    void bioFree(long bio) {
        try {
            int ignored = (int) bioFree$mh.invokeExact(bio);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** Takes this thread's errors, and returns the first as text; empty if there is none (ERR_get_error(3)). */
    String takeErrors() {
        String first = "";
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocate(256);
            for (long code = (long) errorGet$mh.invokeExact(); code != 0; code = (long) errorGet$mh.invokeExact()) {
                if (first.isEmpty()) {
                    errorText$mh.invokeExact(code, text.address(), text.byteSize());
                    text.set(JAVA_BYTE, text.byteSize() - 1, (byte) 0);
                    first = text.getString(0);
                }
            }
            return first;
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }
}
