package io.farpage.verbs.soft;

import io.farpage.linux.NativeThread;
import io.farpage.linux.PollSet;
import io.farpage.linux.PosixException;
import io.farpage.linux.ThreadScheduling;
import io.farpage.verbs.AsyncEvent;
import io.farpage.verbs.WcStatus;
import java.net.InetAddress;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves the connection that the peer of a queue pair opened, until it ends or a request is refused.
 *
 * <p>A thread of its own does that, so that nothing which the queue pair's owner does keeps the peer waiting. While
 * only messages come, it is the {@link Turn} of the thread that polls for their completions, which need not be woken
 * for each then. What that thread cannot do without waiting, it leaves to the responder's: it gives the turn back.
 */
final class Responder {
    private static final Logger LOG = LoggerFactory.getLogger(Responder.class);

    private final QpInit init;
    private final QpLifecycle lifecycle;
    private final ReceiveSide receives;
    private final ResponderConnection connection;
    private final InetAddress peer;
    private final RequestStream requests;
    private final ReplyBatch replies;
    private final RequestExecutor executor;
    private final RequestHeader request = new RequestHeader();
    private final int requestFlags;
    private final OptionalInt cpu;
    private final ThreadScheduling scheduling;
    private final Thread thread;
    private final Turn turn;
    private final BooleanSupplier service = this::executeAvailable;
    /** The refusal that the responder's thread must send, if a poll has ended with one. */
    private WcStatus polledStatus = WcStatus.SUCCESS;

    /** Messages that have come since the last other request. */
    private int messages;

    private volatile boolean done;
    private volatile boolean ended;
    private int expectedPsn;

    /** The responder owns the caller's connection from {@link #start()} on. */
    Responder(QpInit init, QpLifecycle lifecycle, ReceiveSide receives, Caller caller) {
        SoftOptions.Responders options = init.device().options().responders();
        this.init = init;
        this.lifecycle = lifecycle;
        this.receives = receives;
        this.connection = new ResponderConnection(init, caller);
        this.peer = caller.from();
        this.requests = connection.requests();
        this.replies = connection.replies();
        this.executor = new RequestExecutor(init, lifecycle, receives, connection, caller.hello());
        this.expectedPsn = caller.hello().sourcePsn();
        this.requestFlags = Wire.flags(caller.hello().version());
        this.cpu = init.device().nextResponderCpu();
        this.scheduling = options.idle() == IdleStrategy.SPIN || options.realTimePriority() == 0
                ? ThreadScheduling.ordinary()
                : ThreadScheduling.realTime(options.realTimePriority());
        this.turn = new Turn(
                receives.completions(),
                options.idle() != IdleStrategy.SPIN && connection.isPlain() && !receives.isShared());
        this.thread = Thread.ofPlatform()
                .daemon()
                .name("soft-responder-%06x".formatted(init.qpn()))
                .unstarted(this::run);
    }

    /**
     * If this throws, since the system has no thread left, the connection stays the caller's and the responder is
     * unusable.
     */
    void start() {
        try {
            thread.start();
        } catch (Throwable e) {
            connection.abandon();
            throw e;
        }
    }

    Quiescence quiescence() {
        return connection.quiescence();
    }

    /** Whether the responder uses no further receive. */
    boolean isDone() {
        return done;
    }

    /** Whether the connection is closed and the thread is about to end. */
    boolean hasEnded() {
        return ended;
    }

    /** Ends the connection, and then the thread. Any thread. */
    void stop() {
        connection.stop();
        turn.giveBack();
        receives.queue().wakeWaiters();
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
            if (connection.secure(init.device().options().admission().handshake())) {
                serve();
            } else if (!connection.isStopping()) {
                // A peer in order does so when it makes the link anew meanwhile.
                init.device()
                        .refusals()
                        .declined(new RefusedConnection(
                                peer,
                                RefusedConnection.Stage.HANDSHAKE,
                                "it began TLS and did not end it",
                                init.qpn()));
            }
        } catch (RuntimeException | Error e) {
            LOG.error("{}: responder failed", init, e);
            fail(AsyncEvent.Type.QP_FATAL);
        } finally {
            finish();
            connection.close();
            ended = true;
        }
    }

    private void pin() {
        if (cpu.isPresent()) {
            try {
                NativeThread.pinTo(cpu.getAsInt());
            } catch (PosixException e) {
                LOG.warn("{}: responder stays unpinned: {}", init, e.getMessage());
            }
        }
    }

    private void serve() {
        boolean open = true;
        while (open && !connection.isStopping()) {
            if (messages >= Turn.MESSAGES && requests.available() == 0 && turn.pass()) {
                messages = 0;
                turn.await(connection);
                open = resume();
            } else if (requests.fill()) {
                scheduling.onDutyCycle();
                open = serveAvailable();
            } else {
                return;
            }
        }
    }

    /** Goes on where the polling thread has left off. */
    private boolean resume() {
        if (connection.isStopping()) {
            return false;
        }
        quiescence().enter();
        try {
            return polledStatus == WcStatus.SUCCESS ? answerAvailable() : refuse(polledStatus);
        } finally {
            quiescence().leave();
        }
    }

    /**
     * Answers every request that has arrived whole.
     *
     * @return whether the connection continues
     */
    private boolean serveAvailable() {
        quiescence().enter();
        try {
            return answerAvailable();
        } finally {
            quiescence().leave();
        }
    }

    private boolean answerAvailable() {
        while (requests.available() >= Wire.REQUEST_SIZE) {
            if (connection.isStopping() || !lifecycle.isResponding()) {
                return false;
            }
            if (!request.decode(requests.bytes(), requests.position(), expectedPsn, requestFlags)) {
                return refuse(WcStatus.REM_INV_REQ_ERR);
            }
            count(request);
            requests.skip(Wire.REQUEST_SIZE);
            WcStatus status = executor.execute(request);
            if (request.opcode == Wire.SEND) {
                receives.wake();
            }
            if (status == null) {
                return false;
            }
            if (status != WcStatus.SUCCESS) {
                return refuse(status);
            }
            nextPsn();
            if (replies.isFull() && !replies.flush()) {
                return false;
            }
        }
        return replies.flush();
    }

    private void count(RequestHeader of) {
        if (of.opcode == Wire.SEND) {
            messages++;
        } else if (!executor.isShort(of)) {
            messages = 0;
        }
    }

    private void nextPsn() {
        expectedPsn = (expectedPsn + 1) & Wire.PSN_MASK;
    }

    // ---- on the thread that polls for completions of receives

    /** Adds the socket to what the polling thread sleeps on, if it has the turn. */
    void addTo(PollSet set) {
        turn.addTo(set, connection);
    }

    /** The polling thread has slept on a set that the socket may have been added to. */
    void polled(PollSet set) {
        turn.polled(set);
    }

    /**
     * Executes the messages that have come, if the polling thread has the turn.
     *
     * @param all also if the socket was not seen to be readable
     */
    void poll(boolean all) {
        turn.take(all, service);
    }

    /** Returns whether the polling thread keeps the turn. */
    private boolean executeAvailable() {
        if (connection.isStopping() || !requests.take()) {
            return false;
        }
        quiescence().enter();
        try {
            return executeWhole();
        } catch (RuntimeException | Error e) {
            LOG.error("{}: responder failed", init, e);
            fail(AsyncEvent.Type.QP_FATAL);
            return false;
        } finally {
            quiescence().leave();
        }
    }

    private boolean executeWhole() {
        while (requests.available() >= Wire.REQUEST_SIZE) {
            if (!lifecycle.isResponding()
                    || !request.decode(requests.bytes(), requests.position(), expectedPsn, requestFlags)
                    || !executor.isShort(request)) {
                return false;
            }
            if (requests.available() < Wire.REQUEST_SIZE + request.length) {
                break;
            }
            requests.skip(Wire.REQUEST_SIZE);
            polledStatus = Objects.requireNonNull(executor.execute(request));
            if (polledStatus != WcStatus.SUCCESS) {
                return false;
            }
            nextPsn();
            if (replies.isFull() && !replies.tryFlush()) {
                return false;
            }
        }
        return replies.tryFlush();
    }

    // ---- the end

    /** Sends the replies that wait, and a refusal, after which nothing is sent on this connection. */
    private boolean refuse(WcStatus status) {
        replies.add(request.opcode & ~Wire.REPLY_BIT, status, request.psn);
        boolean sent = replies.flush();
        if (status != WcStatus.RNR_RETRY_EXC_ERR) {
            init.device()
                    .refusals()
                    .refused(
                            new RefusedConnection(peer, RefusedConnection.Stage.REQUEST, describe(status), init.qpn()));
            fail(status == WcStatus.REM_ACCESS_ERR ? AsyncEvent.Type.QP_ACCESS_ERR : AsyncEvent.Type.QP_REQ_ERR);
        }
        finish();
        if (sent) {
            connection.linger();
        }
        return false;
    }

    /** What was refused, without its key and address. The fields of a header that cannot be read mean nothing. */
    private String describe(WcStatus status) {
        return status == WcStatus.REM_INV_REQ_ERR
                ? status.name()
                : "%s; opcode %d, %d bytes".formatted(status, request.opcode, request.length);
    }

    private void fail(AsyncEvent.Type type) {
        lifecycle.fail();
        init.device().raise(new AsyncEvent(type, init.qpn()));
    }

    /** Ends the use of receives: the remaining ones can be flushed. */
    private void finish() {
        done = true;
        receives.flushIfFailed();
    }
}
