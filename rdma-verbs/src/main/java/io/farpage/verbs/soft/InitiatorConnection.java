package io.farpage.verbs.soft;

import io.farpage.linux.Epoll;
import io.farpage.linux.Errno;
import io.farpage.linux.ErrnoName;
import io.farpage.linux.FileIo;
import io.farpage.linux.Message;
import io.farpage.linux.PosixException;
import io.farpage.linux.SocketIo;
import io.farpage.linux.Sockets;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The connection that a queue pair opens to its peer, up to the point where requests may be sent. Never blocks: {@link #advance} is
 * called again and again. A connection that is refused or lost before that point is tried again after a pause, as the reliable
 * connected transport repeats packets until its retries are used up; the thread that waits for the connection decides how long.
 */
final class InitiatorConnection {
    private enum Phase {
        IDLE,
        CONNECTING,
        HELLO_SENT,
        READY,
        PAUSED,
        CLOSED
    }

    private static final Logger LOG = LoggerFactory.getLogger(InitiatorConnection.class);
    /** The longest sleep in a receive call. A thread that needs the queue pair's lock waits for the end of such a sleep. */
    static final Duration LONGEST_SLEEP = Duration.ofMillis(100);

    private static final long FIRST_PAUSE_NANOS = 1_000_000;
    private static final long LONGEST_PAUSE_NANOS = 50_000_000;

    private final QpInit init;
    private final Optional<SoftCompletionChannel> channel;
    private final Errno errno = Errno.create();
    private final MemorySegment hello = Arena.ofAuto().allocate(Wire.HELLO_SIZE, 8);
    private final MemorySegment reply = Arena.ofAuto().allocate(Wire.HELLO_REPLY_SIZE, 8);

    private Phase phase = Phase.IDLE;
    private InetSocketAddress peer = new InetSocketAddress(0);
    private int fd = -1;
    /** Events that the channel watches the socket for; 0 if it does not. */
    private int watched;

    private int replyBytes;
    private long pausedUntil;
    private long pause = FIRST_PAUSE_NANOS;
    private HelloReply accepted = HelloReply.refusal(HelloReply.Verdict.NOT_READY, 0);

    InitiatorConnection(QpInit init) {
        this.init = init;
        this.channel = init.queues().sends().channel();
    }

    /** Begins to connect. */
    void open(InetSocketAddress to, Hello greeting) {
        peer = to;
        greeting.encode(hello);
        phase = Phase.PAUSED;
        pausedUntil = System.nanoTime();
        pause = FIRST_PAUSE_NANOS;
    }

    boolean isReady() {
        return phase == Phase.READY;
    }

    /** Sends without blocking. Returns bytes sent, or a negative error number. */
    long send(Message requests) {
        return SocketIo.send(errno, fd, requests, SocketIo.MSG_DONTWAIT);
    }

    /** Returns bytes received, 0 at the end of the stream, or a negative error number. */
    long receive(Message replies, int flags) {
        return SocketIo.recvmsg(errno, fd, replies, flags);
    }

    /** The peer's reply; meaningful once ready. */
    HelloReply accepted() {
        return accepted;
    }

    /** When {@link #advance} has to be called even if the socket stays silent (nanoTime); {@code otherwise} if it need not. */
    long nextAttempt(long otherwise) {
        return phase == Phase.PAUSED ? pausedUntil : otherwise;
    }

    /**
     * Continues if the peer has answered or a pause is over.
     *
     * @return whether requests may be sent
     */
    boolean advance() {
        if (phase == Phase.PAUSED && System.nanoTime() - pausedUntil >= 0) {
            connect();
        }
        if (phase == Phase.CONNECTING) {
            sendHello();
        }
        if (phase == Phase.HELLO_SENT) {
            receiveReply();
        }
        return phase == Phase.READY;
    }

    private void connect() {
        try {
            fd = init.device().openSocket(errno, peer.getAddress(), Sockets.SOCK_NONBLOCK);
            // A WRITE that waits in the socket's buffer when the queue pair ends must not reach the peer afterwards.
            Sockets.resetOnClose(errno, fd);
        } catch (PosixException e) {
            retry(e.toString());
            return;
        }
        int result = Sockets.connect(errno, fd, peer);
        if (result < 0 && result != -Errno.EINPROGRESS) {
            retry("connect: " + ErrnoName.of(-result));
            return;
        }
        phase = Phase.CONNECTING;
        replyBytes = 0;
    }

    private void sendHello() {
        long result = SocketIo.send(errno, fd, hello.address(), Wire.HELLO_SIZE, SocketIo.MSG_DONTWAIT);
        if (result == Wire.HELLO_SIZE) {
            phase = Phase.HELLO_SENT;
        } else if (result != -Errno.EAGAIN && result != -Errno.ENOTCONN && result != -Errno.EINTR) {
            retry(result < 0 ? ErrnoName.of((int) -result) : "short send");
        }
    }

    private void receiveReply() {
        long result = SocketIo.recv(
                errno, fd, reply.address() + replyBytes, Wire.HELLO_REPLY_SIZE - replyBytes, SocketIo.MSG_DONTWAIT);
        if (result == -Errno.EAGAIN || result == -Errno.EINTR) {
            return;
        }
        if (result <= 0) {
            retry("connection lost in the handshake");
            return;
        }
        replyBytes += (int) result;
        if (replyBytes < Wire.HELLO_REPLY_SIZE) {
            return;
        }
        Optional<HelloReply> decoded = HelloReply.decode(reply);
        if (decoded.isPresent() && decoded.get().verdict() == HelloReply.Verdict.ACCEPTED) {
            accepted = decoded.get();
            enterReady();
        } else {
            retry(decoded.map(r -> "refused: " + r.verdict()).orElse("malformed reply"));
        }
    }

    private void enterReady() {
        try {
            // Every call on the socket passes MSG_DONTWAIT, except the one that sleeps until a reply comes.
            Sockets.setReceiveTimeout(errno, fd, LONGEST_SLEEP);
            Sockets.setBlocking(errno, fd, true);
            phase = Phase.READY;
        } catch (PosixException e) {
            retry(e.toString());
        }
    }

    private void retry(String reason) {
        LOG.debug("{} cannot reach {} yet: {}", init, peer, reason);
        closeSocket();
        phase = Phase.PAUSED;
        pausedUntil = System.nanoTime() + pause;
        pause = Math.min(pause * 2, LONGEST_PAUSE_NANOS);
    }

    /**
     * Makes the channel wake when this connection can continue. The channel watches a socket from the first sleep with work outstanding on it;
     * before that, nothing that arrives matters to a thread that sleeps.
     *
     * @param initiator whose connection this is
     * @param sendBlocked whether there is something to send that the socket's buffer has no space for
     */
    void arm(Initiator initiator, boolean sendBlocked) {
        int events = Epoll.EPOLLIN | (sendBlocked || phase == Phase.CONNECTING ? Epoll.EPOLLOUT : 0);
        if (channel.isEmpty() || fd < 0 || events == watched) {
            return;
        }
        if (watched == 0) {
            channel.get().watch(initiator, fd, events);
        } else {
            channel.get().rewatch(fd, events);
        }
        watched = events;
    }

    void unwatch() {
        if (watched != 0) {
            watched = 0;
            channel.ifPresent(c -> c.unwatch(fd));
        }
    }

    void close() {
        closeSocket();
        phase = Phase.CLOSED;
    }

    private void closeSocket() {
        if (fd >= 0) {
            unwatch();
            FileIo.close(errno, fd);
            fd = -1;
        }
    }
}
