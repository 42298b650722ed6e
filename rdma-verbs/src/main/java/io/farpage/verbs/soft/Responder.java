package io.farpage.verbs.soft;

import io.farpage.linux.Errno;
import io.farpage.linux.FileIo;
import io.farpage.linux.NativeThread;
import io.farpage.linux.PosixException;
import io.farpage.linux.Sockets;
import io.farpage.linux.ThreadScheduling;
import io.farpage.verbs.AsyncEvent;
import io.farpage.verbs.WcStatus;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Serves the connection that the peer of a queue pair opened, in a thread of its own, until it ends or a request is refused. */
final class Responder {
    private static final Logger LOG = LoggerFactory.getLogger(Responder.class);
    private static final long LINGER_NANOS = 500_000_000;

    private final SoftQueuePair queuePair;
    private final int fd;
    private final Errno errno = Errno.create();
    private final OptionalInt cpu;
    private final ThreadScheduling scheduling;
    private final RequestStream stream;
    private final ReplyBatch replies;
    private final RequestExecutor executor;
    private final Quiescence quiescence = new Quiescence();
    private final RequestHeader request = new RequestHeader();
    private final Thread thread;
    private volatile boolean stopping;
    private boolean closed;
    private int expectedPsn;

    /** Takes over {@code fd}. Nothing is read before {@link #start()}. */
    Responder(SoftQueuePair queuePair, int fd, Hello hello, SoftOptions options, OptionalInt cpu) {
        this.queuePair = queuePair;
        this.fd = fd;
        this.cpu = cpu;
        this.scheduling = options.idle() == IdleStrategy.SPIN || options.realTimePriority() == 0
                ? ThreadScheduling.ordinary()
                : ThreadScheduling.realTime(options.realTimePriority());
        this.expectedPsn = hello.sourcePsn();
        this.stream =
                new RequestStream(fd, errno, options.idle(), options.spin().toNanos());
        this.replies = new ReplyBatch(fd, errno);
        this.executor = new RequestExecutor(queuePair, this, stream, replies, hello);
        this.thread = Thread.ofPlatform()
                .daemon()
                .name("soft-responder-%06x".formatted(queuePair.qpn()))
                .unstarted(this::run);
    }

    void start() {
        thread.start();
    }

    Quiescence quiescence() {
        return quiescence;
    }

    boolean isStopping() {
        return stopping;
    }

    boolean isAlive() {
        return thread.isAlive();
    }

    /** Ends the connection, and then the thread. Any thread. */
    void stop() {
        stopping = true;
        synchronized (this) {
            if (!closed) {
                Sockets.shutdown(Errno.create(), fd, Sockets.SHUT_RDWR);
            }
        }
        queuePair.receives().wakeWaiters();
    }

    /**
     * Waits for the thread to end.
     *
     * @return whether it did within {@code nanos}
     */
    boolean join(long nanos) {
        boolean interrupted = false;
        long deadline = System.nanoTime() + nanos;
        while (thread.isAlive() && System.nanoTime() - deadline < 0) {
            try {
                TimeUnit.NANOSECONDS.timedJoin(thread, Math.max(1, deadline - System.nanoTime()));
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return !thread.isAlive();
    }

    private void run() {
        try {
            pin();
            scheduling.start();
            serve();
        } catch (RuntimeException | Error e) {
            LOG.error("{}: responder failed", queuePair, e);
            queuePair.responderFailed(AsyncEvent.Type.QP_FATAL);
        } finally {
            queuePair.responderDone(this);
            synchronized (this) {
                closed = true;
                FileIo.close(errno, fd);
            }
            queuePair.responderEnded(this);
        }
    }

    private void pin() {
        if (cpu.isPresent()) {
            try {
                NativeThread.pinTo(cpu.getAsInt());
            } catch (PosixException e) {
                LOG.warn("{}: responder stays unpinned: {}", queuePair, e.getMessage());
            }
        }
    }

    private void serve() {
        boolean open = true;
        while (open && !stopping && stream.fill()) {
            scheduling.onDutyCycle();
            quiescence.enter();
            try {
                open = serveAvailable();
            } finally {
                quiescence.leave();
            }
        }
    }

    /**
     * Answers every request that has arrived whole.
     *
     * @return whether the connection continues
     */
    private boolean serveAvailable() {
        while (stream.available() >= Wire.REQUEST_SIZE) {
            if (stopping || !queuePair.isResponding()) {
                return false;
            }
            if (!request.decode(stream.bytes(), stream.position(), expectedPsn)) {
                return refuse(WcStatus.REM_INV_REQ_ERR);
            }
            if (Wire.isAtomic(request.opcode) && stream.available() < Wire.REQUEST_SIZE + Wire.ATOMIC_OPERANDS_SIZE) {
                break;
            }
            stream.skip(Wire.REQUEST_SIZE);
            WcStatus status = executor.execute(request);
            if (status == null) {
                return false;
            }
            if (status != WcStatus.SUCCESS) {
                return refuse(status);
            }
            expectedPsn = (expectedPsn + 1) & Wire.PSN_MASK;
            if (replies.isFull() && !replies.flush()) {
                return false;
            }
        }
        return replies.flush();
    }

    /** Sends the replies that wait, and a refusal, after which nothing is sent on this connection. */
    private boolean refuse(WcStatus status) {
        replies.add(request.opcode & ~Wire.REPLY_BIT, status, request.psn);
        boolean sent = replies.flush();
        if (status != WcStatus.RNR_RETRY_EXC_ERR) {
            queuePair.responderFailed(
                    status == WcStatus.REM_ACCESS_ERR ? AsyncEvent.Type.QP_ACCESS_ERR : AsyncEvent.Type.QP_REQ_ERR);
        }
        queuePair.responderDone(this);
        if (sent) {
            // Closing while unread bytes wait would reset the connection and could overtake the refusal.
            Sockets.shutdown(errno, fd, Sockets.SHUT_WR);
            quiescence.leave();
            stream.drain(LINGER_NANOS);
            quiescence.enter();
        }
        return false;
    }
}
