package io.farpage.verbs.soft;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.farpage.linux.Errno;
import io.farpage.linux.ErrnoName;
import io.farpage.linux.FileIo;
import io.farpage.linux.Message;
import io.farpage.linux.PollSet;
import io.farpage.linux.PosixException;
import io.farpage.linux.SocketIo;
import io.farpage.linux.Sockets;
import io.farpage.linux.crypto.LibSsl;
import io.farpage.linux.crypto.TlsException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The connection that a queue pair opens to its peer, up to the point where requests may be sent. Never blocks:
 * {@link #advance} is called again and again. A connection that is refused or lost before that point is tried again
 * after a pause, as the reliable connected transport repeats packets until its retries are used up; the thread that
 * waits for the connection decides how long.
 */
final class InitiatorConnection {
    private enum Phase {
        IDLE,
        CONNECTING,
        HELLO_SENT,
        /** The responder's nonce and proof are on their way. */
        CHALLENGED,
        /** This side's proof is sent. */
        PROOF_SENT,
        /** The responder has accepted; TLS is being negotiated. */
        SECURING,
        READY,
        PAUSED,
        CLOSED
    }

    private static final Logger LOG = LoggerFactory.getLogger(InitiatorConnection.class);
    /**
     * The longest sleep in a receive call. A thread that needs the queue pair's lock waits for the end of such a sleep.
     */
    static final Duration LONGEST_SLEEP = Duration.ofMillis(100);

    private static final long FIRST_PAUSE_NANOS = 1_000_000;
    private static final long LONGEST_PAUSE_NANOS = 50_000_000;

    private final QpInit init;
    private final Errno errno = Errno.create();
    private final MemorySegment hello = Arena.ofAuto().allocate(Wire.HELLO_SIZE + Wire.NONCE_SIZE, 8);
    private final MemorySegment reply =
            Arena.ofAuto().allocate(Wire.HELLO_REPLY_SIZE + Wire.NONCE_SIZE + Wire.PROOF_SIZE, 8);

    private Phase phase = Phase.IDLE;
    private InetSocketAddress peer = new InetSocketAddress(0);
    private Optional<Hello> greeting = Optional.empty();
    private final BufferPool.Lease memory;
    private int fd = -1;

    /** The bytes of the connection, once requests may be sent or TLS is being negotiated. */
    private @Nullable SocketStream stream;

    private Optional<Proof> proof = Optional.empty();
    private boolean mustEncrypt;
    private Optional<PreSharedKey> key = Optional.empty();
    private boolean warned;
    /** Differs for every connection that is tried. */
    private byte[] nonce = new byte[Wire.NONCE_SIZE];

    private int replyBytes;
    private long pausedUntil;
    private long pause = FIRST_PAUSE_NANOS;
    private HelloReply accepted = HelloReply.refusal(Wire.VERSION, HelloReply.Verdict.NOT_READY, 0);

    InitiatorConnection(QpInit init) {
        this.init = init;
        this.memory = init.device().buffers().lease();
    }

    /**
     * Begins to connect.
     *
     * @param proving both sides' proofs; empty if the peer is not asked for one
     */
    void open(InetSocketAddress to, Hello greetedWith, Optional<Proof> proving) {
        peer = to;
        greetWith(greetedWith);
        mustEncrypt = greetedWith.encrypts();
        warned = false;
        proof = proving;
        nonce = Proof.nonce();
        phase = Phase.PAUSED;
        pausedUntil = System.nanoTime();
        pause = FIRST_PAUSE_NANOS;
    }

    private void greetWith(Hello chosen) {
        greeting = Optional.of(chosen);
        chosen.encode(hello);
    }

    boolean isReady() {
        return phase == Phase.READY;
    }

    /** Sends without blocking. Returns bytes sent, or a negative error number. */
    long send(Message requests) {
        return stream == null ? -Errno.ENOTCONN : stream.send(requests, SocketIo.MSG_DONTWAIT);
    }

    /**
     * Sends what {@link #send} took and the socket had no space for. Returns bytes sent, or a negative error number if
     * none was.
     */
    long flush() {
        return stream == null ? -Errno.ENOTCONN : stream.flush(SocketIo.MSG_DONTWAIT);
    }

    /** Whether {@link #flush} has something to send. */
    boolean hasUnsent() {
        return stream != null && stream.hasUnsent();
    }

    /** Whether bytes have arrived that the socket does not become readable for. */
    boolean hasReceived() {
        return stream != null && stream.hasReceived();
    }

    /** Returns bytes received, 0 at the end of the stream, or a negative error number. */
    long receive(Message replies, int flags) {
        return stream == null ? -Errno.ENOTCONN : stream.receive(replies, flags);
    }

    /** Flags that requests may have, once ready. */
    int requestFlags() {
        return Wire.flags(accepted.version());
    }

    /** The peer's reply; meaningful once ready. */
    HelloReply accepted() {
        return accepted;
    }

    /**
     * When {@link #advance} has to be called even if the socket stays silent (nanoTime); {@code otherwise} if it need
     * not.
     */
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
        if (phase == Phase.HELLO_SENT || phase == Phase.PROOF_SENT) {
            receiveReply();
        }
        if (phase == Phase.CHALLENGED) {
            receiveChallenge();
        }
        if (phase == Phase.SECURING) {
            negotiateTls();
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
        int size = Wire.HELLO_SIZE;
        if (proof.isPresent()) {
            nextNonce();
            MemorySegment.copy(nonce, 0, hello, JAVA_BYTE, Wire.HELLO_SIZE, Wire.NONCE_SIZE);
            size += Wire.NONCE_SIZE;
        }
        long result = SocketIo.send(errno, fd, hello.address(), size, SocketIo.MSG_DONTWAIT);
        if (result == size) {
            phase = Phase.HELLO_SENT;
        } else if (result != -Errno.EAGAIN && result != -Errno.ENOTCONN && result != -Errno.EINTR) {
            retry(result < 0 ? ErrnoName.of((int) -result) : "short send");
        }
    }

    private void nextNonce() {
        for (int i = 0; i < nonce.length && ++nonce[i] == 0; i++) {
            // The carry goes on to the next byte.
        }
    }

    /** Returns whether {@code size} bytes are there by now. */
    private boolean receive(int size) {
        long result = SocketIo.recv(errno, fd, reply.address() + replyBytes, size - replyBytes, SocketIo.MSG_DONTWAIT);
        if (result == -Errno.EAGAIN || result == -Errno.EINTR) {
            return false;
        }
        if (result <= 0) {
            retry("connection lost in the handshake");
            return false;
        }
        replyBytes += (int) result;
        return replyBytes == size;
    }

    private void receiveReply() {
        if (!receive(Wire.HELLO_REPLY_SIZE)) {
            return;
        }
        Optional<HelloReply> decoded = HelloReply.decode(reply);
        HelloReply.Verdict verdict = decoded.map(HelloReply::verdict).orElse(HelloReply.Verdict.MALFORMED);
        boolean unproven = proof.isPresent() && phase == Phase.HELLO_SENT;
        if (verdict == HelloReply.Verdict.PROVE && unproven) {
            phase = Phase.CHALLENGED;
        } else if (verdict == HelloReply.Verdict.ACCEPTED && !unproven) {
            accepted = decoded.orElseThrow();
            beginStream();
        } else if (verdict == HelloReply.Verdict.ACCEPTED) {
            retry("the peer did not prove that it holds the link's secret");
        } else if (verdict == HelloReply.Verdict.VERSION_UNKNOWN
                && decoded.orElseThrow().version() == Wire.OLDEST_VERSION) {
            greeting.map(Hello::oldest).ifPresent(this::greetWith);
            retry("the peer speaks version " + Wire.OLDEST_VERSION);
        } else if (verdict == HelloReply.Verdict.NOT_ENCRYPTED) {
            warn("this node requires encryption, and the peer has no library for it; install libssl3 on the peer");
        } else {
            retry(decoded.map(r -> "refused: " + r.verdict()).orElse("malformed reply"));
        }
    }

    /** Checks the peer's proof and sends this side's. */
    private void receiveChallenge() {
        int size = Wire.HELLO_REPLY_SIZE + Wire.NONCE_SIZE + Wire.PROOF_SIZE;
        if (!receive(size)) {
            return;
        }
        boolean encrypts = HelloReply.decode(reply).filter(HelloReply::encrypts).isPresent();
        if (mustEncrypt && !encrypts) {
            warn("this node requires encryption and the peer does not encrypt");
            return;
        }
        Proof both = proof.orElseThrow();
        both.over(
                hello,
                nonce,
                reply.asSlice(Wire.HELLO_REPLY_SIZE, Wire.NONCE_SIZE).toArray(JAVA_BYTE));
        byte[] theirs = reply.asSlice(Wire.HELLO_REPLY_SIZE + Wire.NONCE_SIZE, Wire.PROOF_SIZE)
                .toArray(JAVA_BYTE);
        if (!Proof.matches(both.ofResponder(encrypts), theirs)) {
            retry("the peer does not hold the link's secret");
            return;
        }
        key = encrypts ? Optional.of(both.preSharedKey()) : Optional.empty();
        MemorySegment.copy(both.ofInitiator(encrypts), 0, reply, JAVA_BYTE, 0, Wire.PROOF_SIZE);
        long result = SocketIo.send(errno, fd, reply.address(), Wire.PROOF_SIZE, SocketIo.MSG_DONTWAIT);
        if (result == Wire.PROOF_SIZE) {
            phase = Phase.PROOF_SENT;
            replyBytes = 0;
        } else {
            retry(result < 0 ? ErrnoName.of((int) -result) : "short send");
        }
    }

    /** Requests go over TLS if either side requires that, and over the socket as it is otherwise. */
    private void beginStream() {
        if (key.isEmpty()) {
            stream = new PlainStream(fd, errno);
            enterReady();
            return;
        }
        try {
            Optional<LibSsl.Loading> loading =
                    TlsLibrary.poll(init.device().options().encryption().library());
            if (loading.isEmpty()) {
                retry("libssl is being loaded");
                return;
            }
            switch (loading.get()) {
                case LibSsl.Loading.Loaded(LibSsl library) -> {
                    stream = new EncryptedStream(
                            init.toString(), fd, errno, key.get().client(library), memory);
                    phase = Phase.SECURING;
                }
                case LibSsl.Loading.Failed failed -> warn("the peer requires encryption, and " + failed);
            }
        } catch (TlsException e) {
            warn(e.getMessage());
        }
    }

    private void negotiateTls() {
        long step = stream instanceof EncryptedStream encrypted
                ? encrypted.handshake(SocketIo.MSG_DONTWAIT)
                : -Errno.ENOTCONN;
        if (step == 1) {
            enterReady();
        } else if (step != -Errno.EAGAIN && step != -Errno.EINTR) {
            warn("TLS was not agreed on: "
                    + (step == 0 ? "the peer closed the connection" : ErrnoName.of((int) -step)));
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

    /** As {@link #retry}, for a reason that an operator has to know; logged once for each connection that is wanted. */
    private void warn(@Nullable String reason) {
        if (!warned) {
            warned = true;
            LOG.warn("{} cannot be connected to {}: {}", init, peer, reason);
        }
        retry(String.valueOf(reason));
    }

    private void retry(String reason) {
        LOG.debug("{} cannot reach {} yet: {}", init, peer, reason);
        closeSocket();
        phase = Phase.PAUSED;
        pausedUntil = System.nanoTime() + pause;
        pause = Math.min(pause * 2, LONGEST_PAUSE_NANOS);
    }

    /**
     * Adds the socket, if there is one, with what lets this connection continue.
     *
     * @param sendBlocked whether there is something to send that the socket's buffer has no space for
     */
    void addTo(PollSet set, boolean sendBlocked) {
        if (fd >= 0) {
            set.add(fd, PollSet.POLLIN | (sendBlocked || phase == Phase.CONNECTING ? PollSet.POLLOUT : 0));
        }
    }

    /** Adds the socket with what ends the connection alone. */
    void addEndTo(PollSet set) {
        if (fd >= 0) {
            set.add(fd, PollSet.POLLRDHUP);
        }
    }

    void close() {
        closeSocket();
        phase = Phase.CLOSED;
    }

    private void closeSocket() {
        if (stream != null) {
            stream.close();
            stream = null;
            memory.release();
        }
        if (fd >= 0) {
            FileIo.close(errno, fd);
            fd = -1;
        }
    }
}
