package io.farpage.it.harness;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.linux.Errno;
import io.farpage.linux.Libc;
import io.farpage.linux.Memory;
import io.farpage.linux.SystemCall;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * One store instruction, called as a function, so that a thread that waits for the page in it does not keep the JVM
 * from stopping. A memcpy of 8 bytes is none: that of glibc stores them twice, and a thread that is stopped between the
 * two stores brings an old value back. x86-64 only.
 */
@SuppressWarnings("restricted") // the code is this class' own
final class StoreInstruction {
    private static final int PROT_READ_EXEC = 0x1 | 0x4;
    private static final int LENGTH = 4096;

    /** {@code mov [rdi], rsi; ret}. */
    private static final byte[] CODE = {0x48, (byte) 0x89, 0x37, (byte) 0xC3};

    private static final MethodHandle mprotect$mh =
            Libc.capturing("mprotect", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT));

    private static final MethodHandle STORE = make();

    private StoreInstruction() {}

    private static MethodHandle make() {
        String arch = System.getProperty("os.arch");
        if (!arch.equals("amd64")) {
            throw new UnsupportedOperationException("there is no store instruction for " + arch);
        }
        SystemCall mapped = Memory.mmap(LENGTH, 0);
        if (!mapped.succeeded()) {
            throw new IllegalStateException("mmap: " + mapped.error());
        }
        MemorySegment code = MemorySegment.ofAddress(mapped.value()).reinterpret(LENGTH);
        MemorySegment.copy(CODE, 0, code, JAVA_BYTE, 0, CODE.length);
        protect(mapped.value());
        return Linker.nativeLinker().downcallHandle(code, FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_LONG));
    }

    private static void protect(long address) {
        Errno errno = Errno.ofThread();
        try {
            errno.require(
                    (int) mprotect$mh.invokeExact(errno.segment(), address, (long) LENGTH, PROT_READ_EXEC), "mprotect");
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** Stores a word, which other threads see once. */
    static void store(long address, long value) {
        try {
            // SAFETY: the word is mapped, and the caller's.
            STORE.invokeExact(address, value);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }
}
