package io.farpage.verbs.soft;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.farpage.linux.Errno;
import io.farpage.linux.FileIo;
import io.farpage.linux.SocketIo;
import io.farpage.linux.crypto.LibSsl;
import io.farpage.linux.crypto.TlsException;
import io.farpage.linux.crypto.TlsStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;
import java.util.function.IntFunction;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A connection that was accepted, has not yet found its queue pair and, if that asks for it, has not proven itself.
 * Driven by the listener's thread, without blocking.
 */
final class Handshake {
    private static final Logger LOG = LoggerFactory.getLogger(Handshake.class);

    private final SoftContext device;
    private final IntFunction<Optional<SoftQueuePair>> queuePairs;
    private final Errno errno;
    private final int fd;
    private final Terms terms;
    private final MemorySegment bytes;
    private final MemorySegment greeting;
    private int received;
    private boolean closed;
    private Optional<Hello> hello = Optional.empty();
    private byte[] callersNonce = new byte[Wire.NONCE_SIZE];
    /** The proof that the caller was asked for; empty before that. */
    private Optional<byte[]> expected = Optional.empty();
    /** What TLS begins with after the proof; empty if the connection stays plain. */
    private Optional<PreSharedKey> key = Optional.empty();

    /**
     * The caller and its time.
     *
     * @param from where the connection comes from
     * @param deadline when the handshake times out (nanoTime)
     */
    record Terms(InetAddress from, long deadline) {}

    /** Takes over {@code fd}. */
    Handshake(SoftContext device, IntFunction<Optional<SoftQueuePair>> queuePairs, Errno errno, int fd, Terms terms) {
        this.device = device;
        this.queuePairs = queuePairs;
        this.errno = errno;
        this.fd = fd;
        this.terms = terms;
        this.bytes = Arena.ofAuto().allocate(Wire.HELLO_SIZE + Wire.NONCE_SIZE, 8);
        this.greeting = Arena.ofAuto().allocate(Wire.HELLO_REPLY_SIZE + Wire.NONCE_SIZE + Wire.PROOF_SIZE, 8);
    }

    int fd() {
        return fd;
    }

    long deadline() {
        return terms.deadline();
    }

    InetAddress from() {
        return terms.from();
    }

    /** Whether nothing that is a hello has come. */
    boolean isSilent() {
        return hello.isEmpty();
    }

    /**
     * Whether the hello has arrived and waits for its queue pair to get ready. A caller that has yet to prove itself is
     * a stranger, and not parked.
     */
    boolean isParked() {
        return hello.isPresent() && expected.isEmpty();
    }

    /**
     * Takes the next steps.
     *
     * @return whether the handshake has ended, with success or without; the caller then drops it
     */
    boolean advance() {
        if (hello.isEmpty() && !receiveHello()) {
            return closed;
        }
        return expected.isPresent() ? receiveProof(hello.get()) : judge(hello.get());
    }

    /** Returns whether the hello is there, with the nonce that belongs to it. */
    private boolean receiveHello() {
        if (received < Wire.HELLO_SIZE && !receive(Wire.HELLO_SIZE)) {
            return false;
        }
        Optional<Hello> decoded = Hello.decode(bytes);
        if (decoded.isEmpty()) {
            boolean otherVersion = !Wire.isVersion(Hello.version(bytes));
            refuse(otherVersion ? HelloReply.Verdict.VERSION_UNKNOWN : HelloReply.Verdict.MALFORMED, 0);
            return false;
        }
        if (decoded.get().proves()) {
            if (!receive(Wire.HELLO_SIZE + Wire.NONCE_SIZE)) {
                return false;
            }
            callersNonce = bytes.asSlice(Wire.HELLO_SIZE, Wire.NONCE_SIZE).toArray(JAVA_BYTE);
        }
        hello = decoded;
        return true;
    }

    /**
     * Receives what is there, up to {@code size} bytes in all. Returns whether there are as many; closes the connection
     * if there never will be.
     */
    private boolean receive(int size) {
        long result = SocketIo.recv(errno, fd, bytes.address() + received, size - received, SocketIo.MSG_DONTWAIT);
        if (result == -Errno.EAGAIN || result == -Errno.EINTR) {
            return false;
        }
        if (result <= 0) {
            close();
            return false;
        }
        received += (int) result;
        if (hello.isEmpty() && received >= Integer.BYTES && !Hello.hasMagic(bytes)) {
            end("it began with something else than a hello");
            return false;
        }
        return received == size;
    }

    private boolean judge(Hello caller) {
        Optional<SoftQueuePair> found = queuePairs.apply(caller.targetQpn());
        if (found.isEmpty()) {
            refuse(HelloReply.Verdict.QPN_UNKNOWN, caller.targetQpn());
            return true;
        }
        SoftQueuePair queuePair = found.get();
        Optional<HelloReply.Verdict> verdict = queuePair.judge(caller);
        if (verdict.isEmpty()) {
            return isGone();
        }
        Optional<Proof> proof = queuePair.responderProof();
        if (verdict.get() == HelloReply.Verdict.ACCEPTED && proof.isPresent()) {
            boolean encrypts = caller.encrypts() || queuePair.requiresEncryption();
            Optional<LibSsl.Loading> library = encrypts ? TlsLibrary.poll(path()) : Optional.empty();
            if (encrypts && library.isEmpty()) {
                refuse(
                        HelloReply.Verdict.NOT_READY,
                        caller.targetQpn()); // libssl is being loaded; the caller tries again
                return true;
            }
            if (library.isPresent() && library.get() instanceof LibSsl.Loading.Failed failed) {
                LOG.warn("{}: a peer requires encryption, and {}", device, failed);
                refuse(HelloReply.Verdict.NOT_ENCRYPTED, caller.targetQpn());
                return true;
            }
            challenge(caller, encrypts, queuePair, proof.get());
            return false;
        }
        accept(caller, queuePair);
        return true;
    }

    /** Proves this side to the caller and asks for the caller's proof. */
    private void challenge(Hello caller, boolean encrypts, SoftQueuePair queuePair, Proof proof) {
        byte[] nonce = Proof.nonce();
        proof.over(bytes, callersNonce, nonce);
        key = encrypts ? Optional.of(proof.preSharedKey()) : Optional.empty();
        HelloReply.prove(caller.version(), queuePair.qpn(), encrypts).encode(greeting);
        MemorySegment.copy(nonce, 0, greeting, JAVA_BYTE, Wire.HELLO_REPLY_SIZE, Wire.NONCE_SIZE);
        MemorySegment.copy(
                proof.ofResponder(encrypts),
                0,
                greeting,
                JAVA_BYTE,
                Wire.HELLO_REPLY_SIZE + Wire.NONCE_SIZE,
                Wire.PROOF_SIZE);
        expected = Optional.of(proof.ofInitiator(encrypts));
        received = 0;
        SocketIo.send(errno, fd, greeting.address(), greeting.byteSize(), SocketIo.MSG_DONTWAIT);
    }

    private Optional<Path> path() {
        return device.options().encryption().library();
    }

    /** Returns whether the caller has proven itself, or has failed to. */
    private boolean receiveProof(Hello caller) {
        if (!receive(Wire.PROOF_SIZE)) {
            return closed;
        }
        byte[] proof = bytes.asSlice(0, Wire.PROOF_SIZE).toArray(JAVA_BYTE);
        Optional<SoftQueuePair> found = queuePairs.apply(caller.targetQpn());
        if (!Proof.matches(expected.orElseThrow(), proof)) {
            refuse(HelloReply.Verdict.NOT_PROVEN, caller.targetQpn());
        } else if (found.isEmpty()) {
            refuse(HelloReply.Verdict.QPN_UNKNOWN, caller.targetQpn());
        } else {
            accept(caller, found.get());
        }
        return true;
    }

    private void accept(Hello caller, SoftQueuePair queuePair) {
        Optional<TlsStream> tls = key.flatMap(this::encrypt);
        HelloReply.Verdict verdict = HelloReply.Verdict.NOT_ENCRYPTED;
        try {
            if (tls.isPresent() == key.isPresent()) {
                verdict = queuePair.accept(
                        new Caller(caller, from(), fd, tls), () -> send(queuePair.acceptance(caller.version())));
            }
        } catch (Throwable e) {
            tls.ifPresent(TlsStream::close);
            throw e;
        }
        if (verdict != HelloReply.Verdict.ACCEPTED) {
            tls.ifPresent(TlsStream::close);
            refuse(verdict, caller.targetQpn());
        }
    }

    private Optional<TlsStream> encrypt(PreSharedKey psk) {
        try {
            return TlsLibrary.load(path()) instanceof LibSsl.Loading.Loaded(LibSsl loaded)
                    ? Optional.of(psk.server(loaded))
                    : Optional.empty();
        } catch (TlsException e) {
            LOG.warn("{}: a connection cannot be encrypted: {}", device, e.getMessage());
            return Optional.empty();
        }
    }

    /** While parked: has the caller hung up, or sent more before it may? */
    private boolean isGone() {
        long result = SocketIo.recv(errno, fd, greeting.address(), 1, SocketIo.MSG_DONTWAIT | SocketIo.MSG_PEEK);
        boolean gone = result != -Errno.EAGAIN && result != -Errno.EINTR;
        if (gone) {
            close();
        }
        return gone;
    }

    private void refuse(HelloReply.Verdict verdict, int qpn) {
        send(HelloReply.refusal(hello.map(Hello::version).orElse(Wire.VERSION), verdict, qpn));
        RefusedConnection refused =
                new RefusedConnection(from(), RefusedConnection.Stage.HANDSHAKE, reason(verdict), qpn);
        switch (verdict) {
            case QPN_UNKNOWN, NOT_READY, BUSY -> device.refusals().declined(refused);
            default -> device.refusals().refused(refused);
        }
        close();
    }

    private String reason(HelloReply.Verdict verdict) {
        if (verdict == HelloReply.Verdict.NOT_PROVEN) {
            return expected.isPresent()
                    ? "not proven: its proof is not of the secret of the link"
                    : "not proven: it shows no proof, or one that is not asked for";
        }
        return verdict.name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }

    /** Ends the connection without an answer. */
    void end(String reason) {
        if (!closed) {
            device.refusals()
                    .refused(new RefusedConnection(
                            from(),
                            RefusedConnection.Stage.HANDSHAKE,
                            reason,
                            hello.map(Hello::targetQpn).orElse(0)));
            close();
        }
    }

    private void send(HelloReply reply) {
        reply.encode(greeting);
        // 16 bytes into the empty buffer of a new socket; if the peer has closed it already, the next call on it fails.
        SocketIo.send(errno, fd, greeting.address(), Wire.HELLO_REPLY_SIZE, SocketIo.MSG_DONTWAIT);
    }

    void close() {
        if (!closed) {
            closed = true;
            FileIo.close(errno, fd);
        }
    }
}
