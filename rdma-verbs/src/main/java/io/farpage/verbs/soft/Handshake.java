package io.farpage.verbs.soft;

import io.farpage.linux.Errno;
import io.farpage.linux.FileIo;
import io.farpage.linux.SocketIo;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A connection that was accepted and has not yet found its queue pair. Driven by the listener's thread, without blocking. */
final class Handshake {
    private static final Logger LOG = LoggerFactory.getLogger(Handshake.class);

    private final SoftDevice device;
    private final Errno errno;
    private final int fd;
    private final long deadline;
    private final MemorySegment bytes;
    private int received;
    private boolean closed;
    private Optional<Hello> hello = Optional.empty();

    /**
     * Takes over {@code fd}.
     *
     * @param deadline when it is given up (nanoTime)
     */
    Handshake(SoftDevice device, Errno errno, int fd, long deadline) {
        this.device = device;
        this.errno = errno;
        this.fd = fd;
        this.deadline = deadline;
        this.bytes = Arena.ofAuto().allocate(Wire.HELLO_SIZE, 8);
    }

    int fd() {
        return fd;
    }

    long deadline() {
        return deadline;
    }

    /** Whether the hello has arrived and waits for its queue pair to get ready. */
    boolean isParked() {
        return hello.isPresent();
    }

    /**
     * Takes the next steps.
     *
     * @return whether it is over, one way or the other, and is to be forgotten
     */
    boolean advance() {
        if (hello.isEmpty() && !receive()) {
            return false;
        }
        return hello.isEmpty() || judge(hello.get());
    }

    /** Returns whether there is a hello, or never will be one and the connection is closed. */
    private boolean receive() {
        long result =
                SocketIo.recv(errno, fd, bytes.address() + received, Wire.HELLO_SIZE - received, SocketIo.MSG_DONTWAIT);
        if (result == -Errno.EAGAIN || result == -Errno.EINTR) {
            return false;
        }
        if (result <= 0) {
            close();
            return true;
        }
        received += (int) result;
        if (received >= Integer.BYTES && !Hello.hasMagic(bytes)) {
            LOG.debug("{}: a connection began with something else than a hello", device);
            close();
            return true;
        }
        if (received < Wire.HELLO_SIZE) {
            return false;
        }
        hello = Hello.decode(bytes);
        if (hello.isEmpty()) {
            boolean otherVersion = Hello.version(bytes) != Wire.VERSION;
            refuse(otherVersion ? HelloReply.Verdict.VERSION_UNKNOWN : HelloReply.Verdict.MALFORMED, 0);
        }
        return true;
    }

    private boolean judge(Hello greeting) {
        Optional<SoftQueuePair> found = device.find(greeting.targetQpn());
        if (found.isEmpty()) {
            refuse(HelloReply.Verdict.QPN_UNKNOWN, greeting.targetQpn());
            return true;
        }
        SoftQueuePair queuePair = found.get();
        if (queuePair.isTooEarlyFor(greeting)) {
            return isGone();
        }
        HelloReply.Verdict verdict = queuePair.accept(greeting, fd, () -> send(queuePair.acceptance()));
        if (verdict != HelloReply.Verdict.ACCEPTED) {
            refuse(verdict, greeting.targetQpn());
        }
        return true;
    }

    /** While parked: has the caller hung up, or sent more before it may? */
    private boolean isGone() {
        long result = SocketIo.recv(errno, fd, bytes.address(), 1, SocketIo.MSG_DONTWAIT | SocketIo.MSG_PEEK);
        boolean gone = result != -Errno.EAGAIN && result != -Errno.EINTR;
        if (gone) {
            close();
        }
        return gone;
    }

    private void refuse(HelloReply.Verdict verdict, int qpn) {
        LOG.debug("{}: refused a connection for qp 0x{}: {}", device, Integer.toHexString(qpn), verdict);
        send(HelloReply.refusal(verdict, qpn));
        close();
    }

    private void send(HelloReply reply) {
        reply.encode(bytes);
        // 16 bytes into the empty buffer of a new socket; should the peer be gone already, the next call on it tells.
        SocketIo.send(errno, fd, bytes.address(), Wire.HELLO_REPLY_SIZE, SocketIo.MSG_DONTWAIT);
    }

    void close() {
        if (!closed) {
            closed = true;
            FileIo.close(errno, fd);
        }
    }
}
