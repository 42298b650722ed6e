package io.farpage.linux;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.invoke.MethodHandle;

/** Calls on any file descriptor (open(2), read(2), readv(2), write(2), writev(2), fcntl(2), close(2)). */
public final class FileIo {
    private static final MethodHandle read$mh = ofBuffer("read");
    private static final MethodHandle write$mh = ofBuffer("write");
    private static final MethodHandle readv$mh =
            Libc.capturing("readv", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_INT));
    private static final MethodHandle writev$mh =
            Libc.capturing("writev", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_INT));
    private static final int F_GETFL = 3;
    private static final int F_SETFL = 4;
    private static final int O_NONBLOCK = 0x800;
    private static final MethodHandle fcntl$mh =
            Libc.capturing("fcntl", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT), 2);
    private static final MethodHandle open$mh =
            Libc.capturing("open", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT), 2);
    private static final MethodHandle close$mh = Libc.capturing("close", FunctionDescriptor.of(JAVA_INT, JAVA_INT));

    private FileIo() {}

    private static MethodHandle ofBuffer(String function) {
        return Libc.capturing(function, FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG));
    }

    /** Returns bytes read, 0 at the end, or a negative error number */
    public static long read(Errno errno, int fd, long buffer, long length) {
        try {
            // SAFETY: the caller owns length bytes at buffer.
            return errno.check((long) read$mh.invokeExact(errno.segment(), fd, buffer, length));
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** Returns bytes written, or a negative error number */
    public static long write(Errno errno, int fd, long buffer, long length) {
        try {
            // SAFETY: the caller owns length bytes at buffer.
            return errno.check((long) write$mh.invokeExact(errno.segment(), fd, buffer, length));
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /**
     * Reads into the buffers of {@code message}.
     *
     * @return bytes read, 0 at the end, or a negative error number
     */
    public static long readv(Errno errno, int fd, Message message) {
        try {
            // SAFETY: Message keeps its vector alive; the caller owns what it points to.
            return errno.check((long) readv$mh.invokeExact(errno.segment(), fd, message.vector(), message.count()));
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** Writes the buffers of {@code message}. Returns bytes written, or a negative error number */
    public static long writev(Errno errno, int fd, Message message) {
        try {
            // SAFETY: Message keeps its vector alive; the caller owns what it points to.
            return errno.check((long) writev$mh.invokeExact(errno.segment(), fd, message.vector(), message.count()));
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** Makes reads fail with EAGAIN instead of waiting. Returns 0, or a negative error number. */
    public static int setNonBlocking(Errno errno, int fd) {
        try {
            long flags = errno.check((long) (int) fcntl$mh.invokeExact(errno.segment(), fd, F_GETFL, 0));
            return (int)
                    (flags < 0
                            ? flags
                            : errno.check((long) (int)
                                    fcntl$mh.invokeExact(errno.segment(), fd, F_SETFL, (int) flags | O_NONBLOCK)));
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /**
     * Opens a file that exists.
     *
     * @param flags {@code O_}… of open(2)
     * @return the descriptor, or a negative error number
     */
    public static int open(Errno errno, String path, int flags) {
        try (Arena arena = Arena.ofConfined()) {
            return errno.check((int) open$mh.invokeExact(errno.segment(), arena.allocateFrom(path), flags));
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** Closes a descriptor. Errors are of no consequence to the caller: on Linux the descriptor is free even then. */
    public static void close(Errno errno, int fd) {
        try {
            int ignored = (int) close$mh.invokeExact(errno.segment(), fd);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }
}
