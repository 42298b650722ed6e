package io.farpage.linux.crypto;

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
 * The functions of one loaded copy of OpenSSL 3's libcrypto that AES-256-GCM takes (EVP_EncryptInit(3)). Pointers are
 * {@code long}s. Any thread may make ciphers; the library is never unloaded.
 */
public final class LibCrypto {
    static final String SONAME = "libcrypto.so.3";
    private static final String INSTALL = "install OpenSSL 3: apt-get install libssl3";
    private static final String CIPHER = "AES-256-GCM";
    /** {@code OPENSSL_VERSION} of {@code <openssl/crypto.h>}. */
    private static final int OPENSSL_VERSION = 0;

    /** The outcome of loading. */
    public sealed interface Loading {
        /** The library is loaded and has the cipher. */
        record Loaded(LibCrypto library) implements Loading {}

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

    private final MethodHandle ctxNew$mh;
    private final MethodHandle ctxFree$mh;
    private final MethodHandle ctxCtrl$mh;
    private final MethodHandle fetch$mh;
    private final MethodHandle init$mh;
    private final MethodHandle update$mh;
    private final MethodHandle final$mh;
    private final MethodHandle version$mh;
    /** {@code EVP_CIPHER *}, never freed. */
    private long cipher;

    private LibCrypto(SharedLibrary symbols) {
        ctxNew$mh = symbols.returns("EVP_CIPHER_CTX_new", JAVA_LONG);
        ctxFree$mh = symbols.isVoid("EVP_CIPHER_CTX_free", JAVA_LONG);
        ctxCtrl$mh = symbols.returns("EVP_CIPHER_CTX_ctrl", JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_LONG);
        fetch$mh = symbols.returns("EVP_CIPHER_fetch", JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
        init$mh = symbols.returns(
                "EVP_CipherInit_ex2", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_LONG);
        update$mh = symbols.returns("EVP_CipherUpdate", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT);
        version$mh = symbols.returns("OpenSSL_version", JAVA_LONG, JAVA_INT);
        final$mh = symbols.returns("EVP_CipherFinal_ex", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    }

    /**
     * Loads the library and fetches the cipher. Never throws for what it finds.
     *
     * @param path of the library; the system's {@code libcrypto.so.3} if empty
     */
    public static Loading load(Optional<Path> path) {
        return switch (SharedLibrary.load(SONAME, path)) {
            case SharedLibrary.Loading.Loaded(SharedLibrary library) ->
                bind(library, path.map(Path::toString).orElse(SONAME));
            case SharedLibrary.Loading.NotFound(String detail) -> new Loading.Failed(detail, INSTALL);
            case SharedLibrary.Loading.Denied(String detail, String fix) -> new Loading.Failed(detail, fix);
        };
    }

    private static Loading bind(SharedLibrary symbols, String name) {
        LibCrypto library = new LibCrypto(symbols);
        if (!symbols.missing().isEmpty()) {
            return new Loading.Failed(
                    name + " lacks " + String.join(", ", symbols.missing()),
                    "it is not libcrypto, or one older than OpenSSL 3.0; " + INSTALL);
        }
        library.cipher = library.fetch();
        if (library.cipher == 0) {
            return new Loading.Failed(
                    name + " gives no " + CIPHER,
                    "no provider of its configuration has the cipher; activate the default provider in openssl.cnf(5)");
        }
        return new Loading.Loaded(library);
    }

    private long fetch() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment algorithm = arena.allocateFrom(CIPHER);
            return (long) fetch$mh.invokeExact(0L, algorithm.address(), 0L);
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

    /** {@code EVP_CIPHER_CTX *EVP_CIPHER_CTX_new(void)}: 0 if there is no memory. */
    long newContext() {
        try {
            return (long) ctxNew$mh.invokeExact();
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** Frees a context and wipes the key in it. */
    void freeContext(long context) {
        try {
            ctxFree$mh.invokeExact(context);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /**
     * Gives a context the cipher and a key.
     *
     * @param encrypt 1 to encrypt, 0 to decrypt
     * @return 1 on success
     */
    int initKey(long context, long key, int encrypt) {
        return init(context, cipher, key, 0, encrypt);
    }

    /** Starts the next message under the key that the context has. Returns 1 on success. */
    int initNonce(long context, long nonce, int encrypt) {
        return init(context, 0, 0, nonce, encrypt);
    }

    private int init(long context, long type, long key, long nonce, int encrypt) {
        try {
            return (int) init$mh.invokeExact(context, type, key, nonce, encrypt, 0L);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /**
     * {@code int EVP_CipherUpdate(ctx, out, outl, in, inl)}: 1 on success; without {@code out} the bytes are only
     * authenticated.
     */
    int update(long context, long out, long outLength, long in, int length) {
        try {
            return (int) update$mh.invokeExact(context, out, outLength, in, length);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** {@code int EVP_CipherFinal_ex(ctx, out, outl)}: when decrypting, 1 only if the tag is right. */
    int finish(long context, long out, long outLength) {
        try {
            return (int) final$mh.invokeExact(context, out, outLength);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** {@code int EVP_CIPHER_CTX_ctrl(ctx, type, arg, ptr)}: 1 on success. */
    int control(long context, int type, int argument, long pointer) {
        try {
            return (int) ctxCtrl$mh.invokeExact(context, type, argument, pointer);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }
}
