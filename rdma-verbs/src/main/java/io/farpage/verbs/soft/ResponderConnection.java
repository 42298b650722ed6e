package io.farpage.verbs.soft;

import io.farpage.linux.Errno;
import io.farpage.linux.FileIo;
import io.farpage.linux.PollSet;
import io.farpage.linux.PosixException;
import io.farpage.linux.Sockets;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The connection that a peer opened: its requests, the replies to them, and the end of both. Used by one responder; any
 * thread may stop it.
 */
final class ResponderConnection {
    private static final long LINGER_NANOS = 500_000_000;
    private static final Logger LOG = LoggerFactory.getLogger(ResponderConnection.class);

    private final String owner;
    private final int fd;
    private final Errno errno = Errno.create();
    private final BufferPool.Lease memory;
    private final SocketStream stream;
    private final RequestStream requests;
    private final ReplyBatch replies;
    private final Quiescence quiescence = new Quiescence();
    /** The responder's thread uses it. */
    private final PollSet own = new PollSet(1);

    private volatile boolean stopping;
    private boolean closed;

    /**
     * The connection owns the caller's descriptor from now on. Nothing is read from it yet.
     *
     * @param init of the queue pair that serves it
     */
    ResponderConnection(QpInit init, Caller caller) {
        this.owner = init.toString();
        this.fd = caller.fd();
        this.memory = init.device().buffers().lease();
        this.stream = caller.tls()
                .<SocketStream>map(tls -> new EncryptedStream(owner, fd, errno, tls, memory))
                .orElseGet(() -> new PlainStream(fd, errno));
        this.requests =
                new RequestStream(fd, errno, stream, init.device().options().responders(), memory);
        this.replies = new ReplyBatch(stream, memory);
    }

    /**
     * Takes an encrypted connection through its TLS handshake; a plain one needs none. Blocks.
     *
     * @param timeout how long the peer may take
     * @return whether the connection can be used
     */
    boolean secure(Duration timeout) {
        if (!(stream instanceof EncryptedStream encrypted)) {
            return true;
        }
        long deadline = System.nanoTime() + timeout.toNanos();
        long step = -Errno.EAGAIN;
        try {
            Sockets.setReceiveTimeout(errno, fd, timeout);
            while ((step == -Errno.EAGAIN || step == -Errno.EINTR) && System.nanoTime() - deadline < 0) {
                step = encrypted.handshake(0);
            }
            Sockets.setReceiveTimeout(errno, fd, Duration.ZERO);
        } catch (PosixException e) {
            LOG.debug("{}: {}", owner, e.getMessage()); // only a socket that the peer has closed
            return false;
        }
        if (step != 1) {
            LOG.debug("{}: the caller began TLS and did not end it", owner);
        }
        return step == 1;
    }

    /** Whether the socket alone tells that bytes have come. */
    boolean isPlain() {
        return stream instanceof PlainStream;
    }

    /** Adds the socket with what the peer sends. */
    int addTo(PollSet set) {
        return set.add(fd, PollSet.POLLIN);
    }

    /** Whether bytes wait in the socket, or it has ended. */
    boolean isReadable() {
        own.clear();
        addTo(own);
        return own.await(0) > 0;
    }

    RequestStream requests() {
        return requests;
    }

    ReplyBatch replies() {
        return replies;
    }

    /** Whether the responder works with registered memory. */
    Quiescence quiescence() {
        return quiescence;
    }

    boolean isStopping() {
        return stopping;
    }

    /** Ends a call that waits for the peer, and every later one. Any thread. */
    void stop() {
        stopping = true;
        synchronized (this) {
            if (!closed) {
                Sockets.shutdown(Errno.create(), fd, Sockets.SHUT_RDWR);
            }
        }
    }

    /**
     * Sends nothing more, and discards what the peer still sends: closing with unread bytes would reset the connection
     * and could overtake a refusal.
     */
    void linger() {
        Sockets.shutdown(errno, fd, Sockets.SHUT_WR);
        quiescence.leave();
        requests.drain(LINGER_NANOS);
        quiescence.enter();
    }

    /** Closes the connection. Called by the thread that uses it, at its end. */
    synchronized void close() {
        closed = true;
        stream.close();
        abandon();
        FileIo.close(errno, fd);
    }

    /** Gives back the buffers of a connection that no thread uses. */
    void abandon() {
        memory.release();
    }
}
