package io.farpage.linux.uffd;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.linux.Errno;
import io.farpage.linux.Libc;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * Touches memory that may fault, through plain downcalls: a thread that waits for a page in one does not keep the JVM
 * from stopping.
 */
public final class PagedAccess {
    private static final int MADV_REMOVE = 9;

    private static final MethodHandle memcpy$mh =
            Libc.plain("memcpy", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG));
    private static final MethodHandle madvise$mh =
            Libc.capturing("madvise", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT));

    private PagedAccess() {}

    /** Reads paged memory into {@code into}, all of it. */
    public static void read(long address, MemorySegment into) {
        copy(into.address(), address, into.byteSize());
    }

    /** Writes {@code from}, all of it, to paged memory. */
    public static void write(long address, MemorySegment from) {
        copy(address, from.address(), from.byteSize());
    }

    private static void copy(long to, long from, long bytes) {
        try {
            // SAFETY: both ranges are mapped and the caller's.
            long ignored = (long) memcpy$mh.invokeExact(to, from, bytes);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** Gives pages up, as a balloon does (MADV_REMOVE, madvise(2)); they read as zeros then. */
    public static void remove(long address, long bytes) {
        Errno errno = Errno.ofThread();
        try {
            errno.require(
                    (int) madvise$mh.invokeExact(errno.segment(), address, bytes, MADV_REMOVE), "madvise(MADV_REMOVE)");
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }
}
