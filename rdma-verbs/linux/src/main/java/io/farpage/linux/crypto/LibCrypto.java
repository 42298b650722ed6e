package io.farpage.linux.crypto;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.linux.Libc;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The functions of one loaded copy of OpenSSL 3's libcrypto that AES-256-GCM takes (EVP_EncryptInit(3)). Pointers are {@code long}s. Any thread may
 * make ciphers; the library is never unloaded.
 */
public final class LibCrypto {
    static final String SONAME = "libcrypto.so.3";
    private static final String INSTALL = "install OpenSSL 3: apt-get install libssl3";
    private static final String CIPHER = "AES-256-GCM";

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
    /** {@code EVP_CIPHER *}, never freed. */
    private long cipher;

    private LibCrypto(Symbols symbols) {
        ctxNew$mh = symbols.returns("EVP_CIPHER_CTX_new", JAVA_LONG);
        ctxFree$mh = symbols.isVoid("EVP_CIPHER_CTX_free", JAVA_LONG);
        ctxCtrl$mh = symbols.returns("EVP_CIPHER_CTX_ctrl", JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_LONG);
        fetch$mh = symbols.returns("EVP_CIPHER_fetch", JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
        init$mh = symbols.returns(
                "EVP_CipherInit_ex2", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_LONG);
        update$mh = symbols.returns("EVP_CipherUpdate", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT);
        final$mh = symbols.returns("EVP_CipherFinal_ex", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    }

    /**
     * Loads the library and fetches the cipher. Never throws for what it finds.
     *
     * @param path of the library; the system's {@code libcrypto.so.3} if empty
     */
    public static Loading load(Optional<Path> path) {
        String name = path.map(Path::toString).orElse(SONAME);
        try {
            Symbols symbols = new Symbols(lookup(path));
            LibCrypto library = new LibCrypto(symbols);
            if (!symbols.missing.isEmpty()) {
                return new Loading.Failed(
                        name + " lacks " + String.join(", ", symbols.missing),
                        "it is not libcrypto, or one older than OpenSSL 3.0; " + INSTALL);
            }
            library.cipher = library.fetch();
            if (library.cipher == 0) {
                return new Loading.Failed(
                        name + " gives no " + CIPHER,
                        "no provider of its configuration has the cipher; activate the default provider in openssl.cnf(5)");
            }
            return new Loading.Loaded(library);
        } catch (IllegalCallerException e) {
            return new Loading.Failed(
                    "this JVM denies native access: " + e.getMessage(),
                    "start it with --enable-native-access=ALL-UNNAMED");
        } catch (IllegalArgumentException e) {
            return new Loading.Failed("cannot load " + name, INSTALL);
        }
    }

    @SuppressWarnings("restricted") // native access is this class's purpose
    private static SymbolLookup lookup(Optional<Path> path) {
        // SAFETY: the arena is the global one, so no function outlives its library.
        return path.map(file -> SymbolLookup.libraryLookup(file, Arena.global()))
                .orElseGet(() -> SymbolLookup.libraryLookup(SONAME, Arena.global()));
    }

    private long fetch() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment algorithm = arena.allocateFrom(CIPHER);
            return (long) fetch$mh.invokeExact(0L, algorithm.address(), 0L);
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

    /** {@code int EVP_CipherUpdate(ctx, out, outl, in, inl)}: 1 on success; without {@code out} the bytes are only authenticated. */
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

    /** Binds symbols and collects those that are not there, so that one message can name them all. */
    private static final class Symbols {
        private final SymbolLookup lookup;
        private final List<String> missing = new ArrayList<>();

        Symbols(SymbolLookup lookup) {
            this.lookup = lookup;
        }

        MethodHandle returns(String symbol, MemoryLayout result, MemoryLayout... arguments) {
            return bind(symbol, FunctionDescriptor.of(result, arguments));
        }

        MethodHandle isVoid(String symbol, MemoryLayout... arguments) {
            return bind(symbol, FunctionDescriptor.ofVoid(arguments));
        }

        @SuppressWarnings("restricted") // native access is this class's purpose
        private MethodHandle bind(String symbol, FunctionDescriptor descriptor) {
            Optional<MemorySegment> found = lookup.find(symbol);
            if (found.isEmpty()) {
                missing.add(symbol);
            }
            // SAFETY: the descriptors repeat <openssl/evp.h>. Without the symbol the library is refused, so the address
            // that stands in for it is never called.
            return Linker.nativeLinker().downcallHandle(descriptor).bindTo(found.orElse(MemorySegment.ofAddress(1)));
        }
    }
}
