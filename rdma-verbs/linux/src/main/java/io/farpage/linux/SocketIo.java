package io.farpage.linux;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.invoke.MethodHandle;

/** Moving bytes through sockets: the hot path (recv(2), send(2), recvmsg(2), sendmsg(2)). No call allocates. */
public final class SocketIo {
    public static final int MSG_PEEK = 0x2;
    public static final int MSG_DONTWAIT = 0x40;
    public static final int MSG_WAITALL = 0x100;
    public static final int MSG_NOSIGNAL = 0x4000;
    public static final int MSG_CMSG_CLOEXEC = 0x40000000;

    private static final MethodHandle recv$mh = ofBuffer("recv");
    private static final MethodHandle send$mh = ofBuffer("send");
    private static final MethodHandle recvmsg$mh = ofMessage("recvmsg");
    private static final MethodHandle sendmsg$mh = ofMessage("sendmsg");

    private SocketIo() {}

    private static MethodHandle ofBuffer(String function) {
        return Libc.capturing(function, FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT));
    }

    private static MethodHandle ofMessage(String function) {
        return Libc.capturing(function, FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_INT));
    }

    /** Returns bytes received, 0 at the end of the stream, or a negative error number */
    public static long recv(Errno errno, int fd, long buffer, long length, int flags) {
        try {
            // SAFETY: the caller owns length bytes at buffer.
            return errno.check((long) recv$mh.invokeExact(errno.segment(), fd, buffer, length, flags));
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** Returns bytes sent, or a negative error number; never raises SIGPIPE */
    public static long send(Errno errno, int fd, long buffer, long length, int flags) {
        try {
            // SAFETY: the caller owns length bytes at buffer.
            return errno.check((long) send$mh.invokeExact(errno.segment(), fd, buffer, length, flags | MSG_NOSIGNAL));
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** Returns bytes received, 0 at the end of the stream, or a negative error number */
    public static long recvmsg(Errno errno, int fd, Message message, int flags) {
        try {
            // SAFETY: Message keeps its header and vector alive; the caller owns what the vector points to.
            return errno.check((long) recvmsg$mh.invokeExact(errno.segment(), fd, message.address(), flags));
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** Returns bytes sent of a message that is not empty, or a negative error number; never raises SIGPIPE */
    public static long send(Errno errno, int fd, Message message, int flags) {
        // send(2) is the cheaper call, and many messages are one run of headers.
        return message.count() == 1
                ? send(errno, fd, message.firstBase(), message.bytes(), flags)
                : sendmsg(errno, fd, message, flags);
    }

    /** Returns bytes sent, or a negative error number; never raises SIGPIPE */
    public static long sendmsg(Errno errno, int fd, Message message, int flags) {
        try {
            // SAFETY: Message keeps its header and vector alive; the caller owns what the vector points to.
            return errno.check(
                    (long) sendmsg$mh.invokeExact(errno.segment(), fd, message.address(), flags | MSG_NOSIGNAL));
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }
}
