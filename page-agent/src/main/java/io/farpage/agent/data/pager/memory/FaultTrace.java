package io.farpage.agent.data.pager.memory;

import io.farpage.agent.data.shard.Counter;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Faults that are traced: a sample of one in {@code oneIn}, and all that took long. The pager's thread puts their times
 * into a ring once the guest's thread was woken, and allocates nothing; one other thread takes them out. A fault that
 * finds the ring full is counted, and not traced.
 */
public final class FaultTrace {
    private static final int CAPACITY = 1024;
    private static final int PAGE = 0;
    private static final int SEEN = 1;
    private static final int ARRIVED = 2;
    private static final int ENDED = 3;
    private static final int FIELDS = 4;
    private static final VarHandle tail$vh;
    private static final VarHandle head$vh;

    static {
        try {
            tail$vh = MethodHandles.lookup().findVarHandle(FaultTrace.class, "tail", long.class);
            head$vh = MethodHandles.lookup().findVarHandle(FaultTrace.class, "head", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final long[] ring = new long[CAPACITY * FIELDS];
    private final Counter dropped = new Counter();
    private final Sampling sampling;
    /** Until the next fault of those that are counted out. The pager's thread only. */
    private int countdown;

    /**
     * Faults put in. Written by the pager's thread, with release, so that its entry is seen by the thread that acquires
     * it.
     */
    @SuppressWarnings("UnusedVariable") // accessed through tail$vh
    private long tail;

    /**
     * Faults taken out. Written by the other thread, with release, so that the entry is read before it is written
     * again.
     */
    @SuppressWarnings("UnusedVariable") // accessed through head$vh
    private long head;

    /**
     * Which faults are traced.
     *
     * @param oneIn sampling interval: one fault in {@code oneIn} is traced; 0 traces slow faults only
     * @param slowNanos all that took longer
     */
    public record Sampling(int oneIn, long slowNanos) {}

    /** Is given a fault. Times are of the pager's clock, nanoseconds. */
    @FunctionalInterface
    public interface Sink {
        /**
         * Takes a fault.
         *
         * @param page within the pager's part of the space
         * @param seenAt when it was read
         * @param arrivedAt when the page had come
         * @param endedAt when the page was installed, and the guest's thread woken
         */
        void fault(int page, long seenAt, long arrivedAt, long endedAt);
    }

    public FaultTrace(Sampling sampling) {
        this.sampling = sampling;
        countdown = sampling.oneIn();
    }

    /** The pager's thread only. */
    void record(int page, long seenAt, long arrivedAt, long now) {
        if (!isWanted(now - seenAt)) {
            return;
        }
        long at = (long) tail$vh.get(this);
        if (at - (long) head$vh.getAcquire(this) == CAPACITY) {
            dropped.add(1);
            return;
        }
        int entry = (int) (at % CAPACITY) * FIELDS;
        ring[entry + PAGE] = page;
        ring[entry + SEEN] = seenAt;
        ring[entry + ARRIVED] = arrivedAt;
        ring[entry + ENDED] = now;
        tail$vh.setRelease(this, at + 1);
    }

    private boolean isWanted(long nanos) {
        if (sampling.oneIn() > 0 && --countdown <= 0) {
            countdown = sampling.oneIn();
            return true;
        }
        return nanos > sampling.slowNanos();
    }

    /** Takes out what is in the ring. One thread, always the same. */
    public void drain(Sink sink) {
        long end = (long) tail$vh.getAcquire(this);
        for (long at = (long) head$vh.get(this); at < end; at++) {
            int entry = (int) (at % CAPACITY) * FIELDS;
            sink.fault((int) ring[entry + PAGE], ring[entry + SEEN], ring[entry + ARRIVED], ring[entry + ENDED]);
            head$vh.setRelease(this, at + 1);
        }
    }

    /** Faults that found the ring full. Any thread. */
    public long dropped() {
        return dropped.get();
    }
}
