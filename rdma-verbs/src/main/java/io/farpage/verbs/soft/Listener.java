package io.farpage.verbs.soft;

import io.farpage.linux.DescriptorReserve;
import io.farpage.linux.Errno;
import io.farpage.linux.ErrnoName;
import io.farpage.linux.EventFd;
import io.farpage.linux.Exhaustion;
import io.farpage.linux.FileIo;
import io.farpage.linux.PollSet;
import io.farpage.linux.PosixException;
import io.farpage.linux.SharedMemory;
import io.farpage.linux.Sockets;
import io.farpage.linux.SystemCall;
import io.farpage.verbs.VerbsException;
import java.lang.invoke.MethodHandles;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Accepts connections, receives their hello and gives them to their queue pairs, on a thread of its own. Handshakes are
 * bounded in number and time, so that strangers cannot exhaust descriptors: when there are too many, {@link Newcomers}
 * says which ends. The thread ends only when the device is closed; after a failure it pauses and continues.
 */
final class Listener implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Listener.class);
    private static final long JOIN_MILLIS = 5_000;
    private static final int ACCEPTED_AT_ONCE = 64;
    private static final long PAUSE_MILLIS = 100;
    private static final long LOG_INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(1);

    /**
     * Loaded before the first connection comes: loading a class takes a descriptor, and one that failed to load once
     * stays unusable.
     */
    private static final List<Class<?>> NEEDED = List.of(
            Handshake.class,
            Handshake.Terms.class,
            Newcomers.class,
            RefusedConnection.class,
            RefusedConnection.Stage.class,
            Refusals.class,
            SharedMemory.class,
            SystemCall.class,
            Hello.class,
            HelloReply.class,
            HelloReply.Verdict.class,
            Proof.class,
            PreSharedKey.class,
            TlsLibrary.class,
            Caller.class,
            PlainStream.class,
            EncryptedStream.class,
            BufferPool.class,
            BufferPool.Lease.class,
            Responder.class,
            ResponderConnection.class,
            RequestStream.class,
            RequestHeader.class,
            RequestExecutor.class,
            ReplyBatch.class,
            ReplyHeader.class,
            Wire.class);

    private final SoftContext device;
    private final IntFunction<Optional<SoftQueuePair>> queuePairs;
    private final int fd;
    private final int port;
    private final Errno errno = Errno.create();
    private final Exhaustion exhaustion = new Exhaustion();
    private final EventFd event = new EventFd();
    private final PollSet ready;
    private final Newcomers pending;
    private final Thread thread;
    private volatile boolean closing;
    private long failures;
    private long loggedAt;

    private Listener(SoftContext device, IntFunction<Optional<SoftQueuePair>> queuePairs, int fd, int port) {
        this.device = device;
        this.queuePairs = queuePairs;
        this.fd = fd;
        this.port = port;
        this.pending = new Newcomers(device.options().admission().maxPending());
        this.ready = new PollSet(device.options().admission().maxPending() + 2);
        this.thread = Thread.ofPlatform().daemon().name("soft-listener-" + port).unstarted(this::run);
    }

    /**
     * Begins to listen at the address that the device's options name.
     *
     * @param queuePairs the open ones, by their numbers; any thread
     * @throws VerbsException naming the address, if it cannot be listened on
     */
    static Listener open(SoftContext device, IntFunction<Optional<SoftQueuePair>> queuePairs) {
        InetSocketAddress address = device.options().listening().address();
        Errno errno = Errno.create();
        int fd = -1;
        load();
        try {
            fd = device.openSocket(errno, address.getAddress(), Sockets.SOCK_NONBLOCK);
            Sockets.setOption(errno, fd, Sockets.Option.SO_REUSEADDR, 1);
            Sockets.bind(errno, fd, address);
            Sockets.listen(errno, fd, device.options().admission().backlog());
            InetSocketAddress bound = Sockets.localAddress(errno, fd);
            Listener listener = new Listener(device, queuePairs, fd, bound.getPort());
            listener.thread.start();
            return listener;
        } catch (PosixException e) {
            if (fd >= 0) {
                FileIo.close(errno, fd);
            }
            throw new VerbsException(
                    "open " + device.name() + ": cannot listen on " + address + ": " + e.getMessage()
                            + "; choose an address of this host and a port that is free (0 lets the system choose)",
                    e.errno());
        }
    }

    private static void load() {
        for (Class<?> needed : NEEDED) {
            try {
                MethodHandles.lookup().ensureInitialized(needed);
            } catch (IllegalAccessException e) {
                throw new LinkageError(needed.getName(), e);
            }
        }
    }

    int port() {
        return port;
    }

    boolean isOpen() {
        return thread.isAlive() && !closing;
    }

    /** Tries the parked handshakes again. Any thread. */
    void recheck() {
        event.signal(Errno.ofThread());
    }

    private void run() {
        while (!closing) {
            try {
                serveOnce();
            } catch (Throwable e) {
                survive(e);
            }
        }
        pending.all().forEach(Handshake::close);
        FileIo.close(errno, fd);
    }

    private void serveOnce() {
        await();
        event.drain(errno);
        advance();
        if (exhaustion.remainingNanos(System.nanoTime()) == 0) {
            accept();
        }
    }

    /** Without this thread no peer can reach the node, so it continues after any failure of one connection. */
    private void survive(Throwable failure) {
        failures++;
        long now = System.nanoTime();
        try {
            if (failures == 1 || now - loggedAt >= LOG_INTERVAL_NANOS) {
                loggedAt = now;
                LOG.error("{}: the listener failed, {} times in all; it continues", device, failures, failure);
            }
            Thread.sleep(PAUSE_MILLIS);
        } catch (Throwable e) {
            // Logging fails if it has to load a class and no descriptor is free, and only this device interrupts the
            // thread.
            Thread.onSpinWait();
        }
    }

    private void await() {
        long now = System.nanoTime();
        long pause = exhaustion.remainingNanos(now);
        long due = pause > 0 ? pause : Long.MAX_VALUE;
        ready.clear();
        ready.add(event.fd(), PollSet.POLLIN);
        ready.add(fd, pause > 0 ? 0 : PollSet.POLLIN);
        for (Handshake handshake : pending.all()) {
            // A parked connection sends nothing more; only its end matters, which poll(2) reports without being asked.
            ready.add(handshake.fd(), handshake.isParked() ? 0 : PollSet.POLLIN);
            due = Math.min(due, Math.max(0, handshake.deadline() - now));
        }
        ready.await(due == Long.MAX_VALUE ? -1 : due);
    }

    private void advance() {
        long now = System.nanoTime();
        for (Iterator<Handshake> all = pending.iterator(); all.hasNext(); ) {
            Handshake handshake = all.next();
            if (isOver(handshake)) {
                all.remove();
            } else if (now - handshake.deadline() >= 0) {
                all.remove();
                handshake.end("the handshake took too long");
            }
        }
    }

    private void accept() {
        int accepted = 0;
        // Bounded, so that handshakes advance while connections come as fast as they are accepted.
        for (int i = 0; i < ACCEPTED_AT_ONCE && accepted >= 0; i++) {
            accepted = admit(Sockets.accept(errno, fd, 0));
        }
        if (accepted < 0 && exhaustion.isOf(-accepted, System.nanoTime())) {
            LOG.warn("{}: cannot accept: {}", device, exhaustion.describe(ErrnoName.of(-accepted)));
        }
    }

    /**
     * Begins the handshake of a connection. Returns its descriptor, or a negative error number if there is no
     * connection.
     */
    private int admit(int connection) {
        int accepted = connection >= 0 ? leaveReserve(connection) : connection;
        if (accepted < 0) {
            return accepted;
        }
        InetAddress from = caller(accepted);
        if (!isAdmitted(from)) {
            FileIo.close(errno, accepted);
            return accepted;
        }
        device.configure(errno, accepted);
        long deadline =
                System.nanoTime() + device.options().admission().handshake().toNanos();
        Handshake handshake = new Handshake(device, queuePairs, errno, accepted, new Handshake.Terms(from, deadline));
        if (!isOver(handshake)) {
            pending.add(handshake).ifPresent(victim -> victim.end("too many connections are in their handshake"));
        }
        return accepted;
    }

    /**
     * A connection whose descriptor lies in the reserve gets that of a stranger, which is ended: if both kept theirs,
     * every other connection would take one of the reserve. Returns the descriptor; if there is none, closes the
     * connection and returns a negative error number.
     */
    private int leaveReserve(int accepted) {
        if (!DescriptorReserve.contains(accepted, DescriptorReserve.LINKS)) {
            return accepted;
        }
        int descriptor = -Errno.EMFILE;
        if (evictStranger()) {
            SystemCall duplicate = SharedMemory.duplicate(accepted);
            descriptor = duplicate.succeeded() ? (int) duplicate.value() : -duplicate.errno();
        }
        FileIo.close(errno, accepted);
        return descriptor;
    }

    /**
     * Whether the address that a connection comes from is on the list, if there is one. Nothing is read from the
     * others.
     */
    private boolean isAdmitted(InetAddress from) {
        SoftOptions.Admission admission = device.options().admission();
        if (admission.admits(from)) {
            return true;
        }
        device.refusals()
                .refused(new RefusedConnection(
                        from,
                        RefusedConnection.Stage.HANDSHAKE,
                        "its address is none of " + admission.allowed() + "; see tcp.allowed_addresses",
                        0));
        return false;
    }

    /** A handshake that throws ends alone. */
    private boolean isOver(Handshake handshake) {
        try {
            return handshake.advance();
        } catch (Throwable e) {
            handshake.close();
            survive(e);
            return true;
        }
    }

    /** Closes a connection that has not proven itself; false if there is none. */
    private boolean evictStranger() {
        Optional<Handshake> stranger = pending.removeStranger();
        stranger.ifPresent(victim -> victim.end("descriptors are short"));
        return stranger.isPresent();
    }

    /** Where a connection comes from; the wildcard address if the caller has ended it already. */
    private InetAddress caller(int accepted) {
        try {
            return Sockets.remoteAddress(errno, accepted).getAddress();
        } catch (PosixException e) {
            return new InetSocketAddress(0).getAddress();
        }
    }

    @Override
    public void close() {
        closing = true;
        event.signal(Errno.ofThread());
        boolean interrupted = false;
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(JOIN_MILLIS);
        while (thread.isAlive() && System.nanoTime() - deadline < 0) {
            try {
                thread.join(JOIN_MILLIS);
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        if (thread.isAlive()) {
            throw new VerbsException("close " + device.name() + ": its listener did not end within 5 s");
        }
        event.close();
    }
}
