package io.farpage.verbs.soft;

import io.farpage.linux.Errno;
import io.farpage.linux.FileIo;
import io.farpage.linux.Sockets;

/** The connection that a peer opened: its requests, the replies to them, and the end of both. Used by one responder; any thread may stop it. */
final class ResponderConnection {
    private static final long LINGER_NANOS = 500_000_000;

    private final int fd;
    private final Errno errno = Errno.create();
    private final RequestStream requests;
    private final ReplyBatch replies;
    private final Quiescence quiescence = new Quiescence();
    private volatile boolean stopping;
    private boolean closed;

    /** The connection owns {@code fd} from now on. Nothing is read from it yet. */
    ResponderConnection(int fd, SoftOptions.Responders options) {
        this.fd = fd;
        this.requests =
                new RequestStream(fd, errno, options.idle(), options.spin().toNanos());
        this.replies = new ReplyBatch(fd, errno);
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

    /** Sends nothing more, and discards what the peer still sends: closing with unread bytes would reset the connection and could overtake a refusal. */
    void linger() {
        Sockets.shutdown(errno, fd, Sockets.SHUT_WR);
        quiescence.leave();
        requests.drain(LINGER_NANOS);
        quiescence.enter();
    }

    synchronized void close() {
        closed = true;
        FileIo.close(errno, fd);
    }
}
