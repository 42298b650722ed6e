package io.farpage.verbs.soft;

import io.farpage.verbs.VerbsException;
import org.jspecify.annotations.Nullable;

/**
 * The responder of a queue pair: one at most, for the one connection of its peer. Thread-safe; its lock is held for
 * moments only.
 */
final class ResponderSlot {
    private static final long JOIN_NANOS = 5_000_000_000L;

    private final QpInit init;
    private final QpLifecycle lifecycle;
    private final ReceiveSide receives;
    private volatile @Nullable Responder responder;

    ResponderSlot(QpInit init, QpLifecycle lifecycle, ReceiveSide receives) {
        this.init = init;
        this.lifecycle = lifecycle;
        this.receives = receives;
    }

    /**
     * Gives a caller's connection to a new responder, if {@link QpLifecycle#judge} still allows it. If not, or if it
     * throws, the connection stays with the method's caller.
     *
     * @param beforeStart what to do before the responder reads from the connection
     */
    synchronized HelloReply.Verdict accept(Caller caller, Runnable beforeStart) {
        HelloReply.Verdict verdict = lifecycle.judge(caller.hello()).orElse(HelloReply.Verdict.NOT_READY);
        if (verdict == HelloReply.Verdict.ACCEPTED && responder != null && !responder.hasEnded()) {
            verdict = HelloReply.Verdict.BUSY;
        }
        if (verdict == HelloReply.Verdict.ACCEPTED) {
            beforeStart.run();
            Responder next = new Responder(init, lifecycle, receives, caller);
            responder = next;
            try {
                next.start();
            } catch (Throwable e) {
                responder = null;
                throw e;
            }
        }
        return verdict;
    }

    /** Whether a responder may still use a receive. */
    boolean isServing() {
        Responder now = responder;
        return now != null && !now.isDone();
    }

    /** The present one, or null. */
    @Nullable
    Responder present() {
        return responder;
    }

    /** Ends the connection. */
    synchronized void stop() {
        if (responder != null) {
            responder.stop();
        }
    }

    /**
     * Ends the connection and waits until its responder has ended. The queue pair is in a state in which no other
     * starts.
     */
    void end() {
        Responder ending;
        synchronized (this) {
            // accept() starts the responder under this lock: the thread of a responder that is read outside of it may
            // not have begun, and join() does not wait for
            // such a thread.
            ending = responder;
        }
        if (ending != null) {
            ending.stop();
            if (!ending.join(JOIN_NANOS)) {
                throw new VerbsException(init + ": its responder did not end within 5 s");
            }
            responder = null;
        }
    }

    /**
     * Waits until the responder uses no region that it found in the table before this call. See {@link Quiescence}.
     *
     * @return whether that is so; if not, the responder may still use memory
     */
    boolean awaitQuiescence(long deadline) {
        Responder now = responder;
        if (now == null || now.quiescence().awaitPassed(deadline)) {
            return true;
        }
        // The responder waits for a peer that sends nothing: end that connection.
        now.stop();
        return now.join(JOIN_NANOS);
    }
}
