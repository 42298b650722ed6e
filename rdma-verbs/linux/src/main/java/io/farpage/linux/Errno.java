package io.farpage.linux;

import static java.lang.foreign.MemoryLayout.PathElement.groupElement;

import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** Where the error number of a call is captured (errno(3)). Belongs to one thread at a time. */
public final class Errno {
    public static final int EPERM = 1;
    public static final int ENOENT = 2;
    public static final int ESRCH = 3;
    public static final int ENXIO = 6;
    public static final int EINTR = 4;
    public static final int EIO = 5;
    public static final int EBADF = 9;
    public static final int EAGAIN = 11;
    public static final int ENOMEM = 12;
    public static final int EACCES = 13;
    public static final int EFAULT = 14;
    public static final int EEXIST = 17;
    public static final int ENODEV = 19;
    public static final int EINVAL = 22;
    public static final int ENFILE = 23;
    public static final int EMFILE = 24;
    public static final int EPIPE = 32;
    public static final int ENOSYS = 38;
    public static final int EPROTO = 71;
    public static final int EADDRINUSE = 98;
    public static final int EADDRNOTAVAIL = 99;
    public static final int ECONNABORTED = 103;
    public static final int ECONNRESET = 104;
    public static final int ENOBUFS = 105;
    public static final int ENOTCONN = 107;
    public static final int ETIMEDOUT = 110;
    public static final int ECONNREFUSED = 111;
    public static final int EHOSTUNREACH = 113;
    public static final int EINPROGRESS = 115;
    public static final int ESTALE = 116;
    public static final int EHWPOISON = 133;

    private static final StructLayout LAYOUT = Linker.Option.captureStateLayout();
    private static final VarHandle ERRNO =
            MethodHandles.insertCoordinates(LAYOUT.varHandle(groupElement("errno")), 1, 0L);

    private static final ThreadLocal<Errno> OF_THREAD = ThreadLocal.withInitial(Errno::create);

    private final MemorySegment state;

    private Errno(MemorySegment state) {
        this.state = state;
    }

    /** A new one, freed with the garbage: an automatic arena costs nothing per call, unlike a shared one. */
    public static Errno create() {
        return new Errno(Arena.ofAuto().allocate(LAYOUT));
    }

    /** The calling thread's own. */
    public static Errno ofThread() {
        return OF_THREAD.get();
    }

    /** The first argument of a handle made by {@link Libc#capturing}. */
    public MemorySegment segment() {
        return state;
    }

    /** Puts an error number where a call captures it. */
    static void capture(MemorySegment state, int errno) {
        ERRNO.set(state, errno);
    }

    /** The error number of the last failed call that was given this. */
    public int value() {
        return (int) ERRNO.get(state);
    }

    /** {@code result}, or the negative error number if it is -1: the way the kernel itself reports. */
    public int check(int result) {
        return result == -1 ? -value() : result;
    }

    /** {@code result}, or the negative error number if it is -1: the way the kernel itself reports. */
    public long check(long result) {
        return result == -1 ? -value() : result;
    }

    /**
     * {@code result}, unless it is -1.
     *
     * @throws PosixException naming {@code operation}, if it is
     */
    public int require(int result, String operation) {
        if (result == -1) {
            throw new PosixException(operation, value());
        }
        return result;
    }
}
