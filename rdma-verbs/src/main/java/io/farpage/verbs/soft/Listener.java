package io.farpage.verbs.soft;

import io.farpage.linux.DescriptorReserve;
import io.farpage.linux.Errno;
import io.farpage.linux.ErrnoName;
import io.farpage.linux.EventFd;
import io.farpage.linux.Exhaustion;
import io.farpage.linux.FileIo;
import io.farpage.linux.PollSet;
import io.farpage.linux.PosixException;
import io.farpage.linux.Sockets;
import io.farpage.verbs.VerbsException;
import java.lang.invoke.MethodHandles;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Accepts connections, receives their hello and gives them to their queue pairs, on a thread of its own. Handshakes are bounded in number and time, so
 * that strangers cannot exhaust descriptors: when there are too many, the oldest connection without a hello is closed. The thread ends only when the device
 * is closed; after a failure it pauses and continues.
 */
final class Listener implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Listener.class);
    private static final long JOIN_MILLIS = 5_000;
    private static final long PAUSE_MILLIS = 100;
    private static final long LOG_INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** Loaded before the first connection comes: loading a class takes a descriptor, and one that failed to load once stays unusable. */
    private static final List<Class<?>> NEEDED = List.of(
            Handshake.class,
            Hello.class,
            HelloReply.class,
            HelloReply.Verdict.class,
            Proof.class,
            Responder.class,
            ResponderConnection.class,
            RequestStream.class,
            RequestHeader.class,
            RequestExecutor.class,
            ReplyBatch.class,
            ReplyHeader.class,
            Wire.class);

    private final SoftDevice device;
    private final int fd;
    private final int port;
    private final Errno errno = Errno.create();
    private final Exhaustion exhaustion = new Exhaustion();
    private final EventFd event = new EventFd();
    private final PollSet ready;
    private final List<Handshake> pending = new ArrayList<>();
    private final Thread thread;
    private volatile boolean closing;
    private long failures;
    private long loggedAt;

    private Listener(SoftDevice device, int fd, int port) {
        this.device = device;
        this.fd = fd;
        this.port = port;
        this.ready = new PollSet(device.options().admission().maxPending() + 2);
        this.thread = Thread.ofPlatform().daemon().name("soft-listener-" + port).unstarted(this::run);
    }

    /** @throws VerbsException naming the address, if it cannot be listened on */
    static Listener open(SoftDevice device) {
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
            Listener listener = new Listener(device, fd, bound.getPort());
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
        pending.forEach(Handshake::close);
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
        for (Handshake handshake : pending) {
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
                handshake.close();
            }
        }
    }

    private void accept() {
        int accepted = Sockets.accept(errno, fd, 0);
        while (accepted >= 0) {
            if (DescriptorReserve.contains(accepted, DescriptorReserve.LINKS) && !evictStranger()) {
                FileIo.close(errno, accepted);
                accepted = -Errno.EMFILE;
                break;
            }
            device.configure(errno, accepted);
            if (pending.size() >= device.options().admission().maxPending()) {
                evict();
            }
            long deadline =
                    System.nanoTime() + device.options().admission().handshake().toNanos();
            Handshake handshake = new Handshake(device, errno, accepted, deadline);
            if (!isOver(handshake)) {
                pending.add(handshake);
            }
            accepted = Sockets.accept(errno, fd, 0);
        }
        if (exhaustion.isOf(-accepted, System.nanoTime())) {
            LOG.warn("{}: cannot accept: {}", device, exhaustion.describe(ErrnoName.of(-accepted)));
        }
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

    /** Closes the oldest connection that has not said hello; false if there is none. */
    private boolean evictStranger() {
        for (int i = 0; i < pending.size(); i++) {
            if (!pending.get(i).isParked()) {
                pending.remove(i).close();
                return true;
            }
        }
        return false;
    }

    private void evict() {
        int victim = 0;
        for (int i = pending.size() - 1; i >= 0; i--) {
            if (!pending.get(i).isParked()) {
                victim = i;
            }
        }
        pending.remove(victim).close();
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
