package io.farpage.verbs.soft;

import io.farpage.verbs.QpOptions.Retries;

/**
 * Decides when an initiator has waited long enough: 4.096 µs × 2^timeout × (retry_cnt + 1) without progress, and for an
 * operation that needs a receive at the peer also rnr_retry × the peer's min_rnr_timer, without limit if rnr_retry is
 * 7. Reads the clock only now and then, so that it costs a spinning poll nothing.
 */
final class InitiatorTimer {
    private static final int CALLS_PER_CLOCK_READ = 64;
    /** The specification lets a device wait four times as long, and a process waits for a CPU where a NIC does not. */
    private static final int TOLERANCE = 4;

    private static final long FOREVER = Long.MAX_VALUE / 4;

    private final long answerBudget;
    private final int rnrRetry;
    private long receiverBudget;

    private boolean running;
    private long startedAt;
    private int calls;
    private boolean hurry;

    InitiatorTimer(Retries retries) {
        // The shift stays below 2^49 ns for every legal timeout.
        this.answerBudget = TOLERANCE * (4096L << retries.timeout()) * (retries.retryCnt() + 1);
        this.rnrRetry = retries.rnrRetry();
    }

    /** @param minRnrTimer the code that the peer answered with */
    void connected(int minRnrTimer) {
        receiverBudget = rnrRetry == 7 ? FOREVER : rnrRetry * RnrTimer.nanos(minRnrTimer);
        progressed();
    }

    void progressed() {
        running = false;
        calls = 0;
    }

    /** Makes the next call read the clock: the caller is about to sleep. */
    void hurry() {
        hurry = true;
    }

    /** When the oldest outstanding request of {@code queue} times out (nanoTime), if nothing arrives until then. */
    long deadline(SendQueue queue, long now) {
        if (!running) {
            running = true;
            startedAt = now;
        }
        return startedAt + budget(queue);
    }

    /**
     * Called when a poll found nothing to do although something is outstanding.
     *
     * @return whether the time is over
     */
    boolean isOver(SendQueue queue) {
        if (running && !hurry && ++calls < CALLS_PER_CLOCK_READ) {
            return false;
        }
        calls = 0;
        hurry = false;
        long now = System.nanoTime();
        return now - deadline(queue, now) >= 0;
    }

    private long budget(SendQueue queue) {
        // Requests behind the oldest one wait for it, so its opcode decides.
        boolean needsReceive = queue.opcode(queue.slot(queue.acked)) == Wire.SEND;
        return needsReceive ? Math.min(answerBudget + receiverBudget, FOREVER) : answerBudget;
    }
}
