package io.farpage.linux;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;

/**
 * A Unix datagram socket that sends to one address (unix(7), sendto(2)): a path, or a name of the abstract namespace.
 * Such a name begins with a zero byte; the environment writes {@code @} instead. The JDK has no such sockets. Any
 * thread; one at a time.
 */
public final class DatagramSocket implements AutoCloseable {
    private static final int SOCK_DGRAM = 2;
    private static final int NAME_OFFSET = 2;

    private static final MethodHandle socket$mh =
            Libc.capturing("socket", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT));
    private static final MethodHandle sendto$mh = Libc.capturing(
            "sendto", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_INT));

    private final Errno errno = Errno.create();
    private final byte[] address;
    private final int fd;

    private DatagramSocket(byte[] address) {
        this.address = address;
        this.fd = open(errno);
    }

    /**
     * A socket that sends to an address.
     *
     * @param address an absolute path, or {@code @} and a name of the abstract namespace; up to
     *     {@value UnixSockets#MAX_PATH} bytes
     * @throws IllegalArgumentException if it is neither
     * @throws PosixException if the process may have no further descriptor
     */
    public static DatagramSocket to(String address) {
        byte[] bytes = address.getBytes(StandardCharsets.UTF_8);
        if (!(address.startsWith("/") || address.startsWith("@"))
                || bytes.length < 2
                || bytes.length > UnixSockets.MAX_PATH) {
            throw new IllegalArgumentException(
                    "socket address '%s' is not valid: it takes an absolute path, or @ and a name, of 2 to %d bytes"
                            .formatted(address, UnixSockets.MAX_PATH));
        }
        if (bytes[0] == '@') {
            bytes[0] = 0;
        }
        return new DatagramSocket(bytes);
    }

    private static int open(Errno errno) {
        try {
            int fd =
                    (int) socket$mh.invokeExact(errno.segment(), Sockets.AF_UNIX, SOCK_DGRAM | Sockets.SOCK_CLOEXEC, 0);
            return errno.require(fd, "socket(AF_UNIX, SOCK_DGRAM)");
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /**
     * Sends one message, without waiting for room in the receiver's queue.
     *
     * @return bytes sent, or a negative error number; -EAGAIN if the receiver's queue is full
     */
    public long send(String message) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment data = arena.allocateFrom(message, StandardCharsets.UTF_8);
            // A name of the abstract namespace ends with the length, not with a zero.
            MemorySegment to = arena.allocate(NAME_OFFSET + address.length, 8);
            to.set(JAVA_SHORT, 0, (short) Sockets.AF_UNIX);
            MemorySegment.copy(address, 0, to, JAVA_BYTE, NAME_OFFSET, address.length);
            // SAFETY: both segments live until the arena closes, which is after the call.
            return errno.check((long) sendto$mh.invokeExact(
                    errno.segment(),
                    fd,
                    data.address(),
                    data.byteSize() - 1,
                    SocketIo.MSG_DONTWAIT | SocketIo.MSG_NOSIGNAL,
                    to.address(),
                    (int) to.byteSize()));
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    @Override
    public void close() {
        FileIo.close(errno, fd);
    }
}
