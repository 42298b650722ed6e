package io.farpage.linux;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.net.InetSocketAddress;
import java.time.Duration;

/**
 * Making, connecting and configuring sockets: the control path (socket(2), bind(2), listen(2), accept4(2), connect(2),
 * tcp(7)).
 */
public final class Sockets {
    public static final int AF_UNIX = 1;
    public static final int AF_INET = 2;
    public static final int AF_INET6 = 10;
    public static final int SOCK_STREAM = 1;
    public static final int SOCK_NONBLOCK = 0x800;
    public static final int SOCK_CLOEXEC = 0x80000;
    public static final int SHUT_WR = 1;
    public static final int SHUT_RDWR = 2;

    /**
     * The part of {@code <sys/socket.h>} and {@code <netinet/tcp.h>} that farpage uses: level and name of a socket
     * option.
     */
    public enum Option {
        SO_REUSEADDR(1, 2),
        SO_SNDBUF(1, 7),
        SO_RCVBUF(1, 8),
        SO_KEEPALIVE(1, 9),
        TCP_NODELAY(6, 1),
        TCP_KEEPIDLE(6, 4),
        TCP_KEEPINTVL(6, 5),
        TCP_KEEPCNT(6, 6),
        TCP_USER_TIMEOUT(6, 18);

        private final int level;
        private final int code;

        Option(int level, int code) {
            this.level = level;
            this.code = code;
        }
    }

    private static final int SOL_SOCKET = 1;
    private static final int SO_LINGER = 13;
    private static final int SO_RCVTIMEO = 20;
    private static final long FIONBIO = 0x5421;

    private static final MethodHandle socket$mh =
            Libc.capturing("socket", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT));
    private static final MethodHandle bind$mh = ofAddress("bind");
    private static final MethodHandle connect$mh = ofAddress("connect");
    private static final MethodHandle listen$mh =
            Libc.capturing("listen", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT));
    private static final MethodHandle accept4$mh =
            Libc.capturing("accept4", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT));
    private static final MethodHandle shutdown$mh =
            Libc.capturing("shutdown", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT));
    private static final MethodHandle getsockname$mh =
            Libc.capturing("getsockname", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG));
    private static final MethodHandle getpeername$mh =
            Libc.capturing("getpeername", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG));
    private static final MethodHandle setsockopt$mh = Libc.capturing(
            "setsockopt", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_INT));
    private static final MethodHandle ioctl$mh =
            Libc.capturing("ioctl", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG), 2);
    private static final MethodHandle getsockopt$mh = Libc.capturing(
            "getsockopt", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG));

    private Sockets() {}

    private static MethodHandle ofAddress(String function) {
        return Libc.capturing(function, FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_INT));
    }

    /**
     * A new TCP socket of {@code family}, closed on exec.
     *
     * @param flags {@link #SOCK_NONBLOCK} or 0
     */
    public static int openTcp(Errno errno, int family, int flags) {
        try {
            int fd = (int) socket$mh.invokeExact(errno.segment(), family, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
            return errno.require(fd, "socket");
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** A new Unix stream socket, closed on exec. */
    public static int openUnix(Errno errno) {
        return openTcp(errno, AF_UNIX, 0);
    }

    /** Binds to {@code address}; a failure names it. */
    public static void bind(Errno errno, int fd, InetSocketAddress address) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment encoded = SocketAddress.encode(address, arena);
            int result = (int) bind$mh.invokeExact(errno.segment(), fd, encoded.address(), (int) encoded.byteSize());
            errno.require(result, "bind(" + address + ")");
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    public static void listen(Errno errno, int fd, int backlog) {
        try {
            errno.require((int) listen$mh.invokeExact(errno.segment(), fd, backlog), "listen");
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /**
     * Takes a connection.
     *
     * @param flags {@link #SOCK_NONBLOCK} or 0
     * @return the new descriptor, or a negative error number
     */
    public static int accept(Errno errno, int fd, int flags) {
        try {
            return errno.check((int) accept4$mh.invokeExact(errno.segment(), fd, 0L, 0L, SOCK_CLOEXEC | flags));
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /**
     * Connects.
     *
     * @return 0, or a negative error number; -EINPROGRESS on a socket that does not block
     */
    public static int connect(Errno errno, int fd, InetSocketAddress address) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment encoded = SocketAddress.encode(address, arena);
            return errno.check(
                    (int) connect$mh.invokeExact(errno.segment(), fd, encoded.address(), (int) encoded.byteSize()));
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /**
     * Ends a connection for every thread that uses it, without freeing the descriptor. Failing is of no consequence.
     */
    public static void shutdown(Errno errno, int fd, int how) {
        try {
            int ignored = (int) shutdown$mh.invokeExact(errno.segment(), fd, how);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** The address that a socket is bound to. */
    public static InetSocketAddress localAddress(Errno errno, int fd) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment address = arena.allocate(SocketAddress.MAX_SIZE, 8);
            MemorySegment length = arena.allocateFrom(JAVA_INT, SocketAddress.MAX_SIZE);
            int result = (int) getsockname$mh.invokeExact(errno.segment(), fd, address.address(), length.address());
            errno.require(result, "getsockname");
            return SocketAddress.decode(address);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** The address of the other end of a connection. */
    public static InetSocketAddress remoteAddress(Errno errno, int fd) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment address = arena.allocate(SocketAddress.MAX_SIZE, 8);
            MemorySegment length = arena.allocateFrom(JAVA_INT, SocketAddress.MAX_SIZE);
            int result = (int) getpeername$mh.invokeExact(errno.segment(), fd, address.address(), length.address());
            errno.require(result, "getpeername");
            return SocketAddress.decode(address);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    public static void setOption(Errno errno, int fd, Option option, int value) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment encoded = arena.allocateFrom(JAVA_INT, value);
            int result = (int) setsockopt$mh.invokeExact(
                    errno.segment(), fd, option.level, option.code, encoded.address(), Integer.BYTES);
            errno.require(result, "setsockopt(" + option + ", " + value + ")");
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** Sets how long a blocking receive waits at most before it fails with EAGAIN (SO_RCVTIMEO, socket(7)). */
    public static void setReceiveTimeout(Errno errno, int fd, Duration timeout) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment timeval = arena.allocateFrom(JAVA_LONG, timeout.toSeconds(), timeout.toNanosPart() / 1000L);
            int result = (int) setsockopt$mh.invokeExact(
                    errno.segment(), fd, SOL_SOCKET, SO_RCVTIMEO, timeval.address(), (int) timeval.byteSize());
            errno.require(result, "setsockopt(SO_RCVTIMEO)");
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /**
     * Has close(2) discard what the socket has not sent and reset the connection, instead of sending the rest in the
     * background (SO_LINGER with a time of 0, socket(7)).
     */
    public static void resetOnClose(Errno errno, int fd) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment linger = arena.allocateFrom(JAVA_INT, 1, 0);
            int result = (int) setsockopt$mh.invokeExact(
                    errno.segment(), fd, SOL_SOCKET, SO_LINGER, linger.address(), (int) linger.byteSize());
            errno.require(result, "setsockopt(SO_LINGER)");
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** Makes calls on a socket wait, or not (FIONBIO, ioctl(2)). */
    public static void setBlocking(Errno errno, int fd, boolean blocking) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment flag = arena.allocateFrom(JAVA_INT, blocking ? 0 : 1);
            int result = (int) ioctl$mh.invokeExact(errno.segment(), fd, FIONBIO, flag.address());
            errno.require(result, "ioctl(FIONBIO)");
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    public static int getOption(Errno errno, int fd, Option option) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment value = arena.allocate(JAVA_INT);
            MemorySegment length = arena.allocateFrom(JAVA_INT, Integer.BYTES);
            int result = (int) getsockopt$mh.invokeExact(
                    errno.segment(), fd, option.level, option.code, value.address(), length.address());
            errno.require(result, "getsockopt(" + option + ")");
            return value.get(JAVA_INT, 0);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }
}
