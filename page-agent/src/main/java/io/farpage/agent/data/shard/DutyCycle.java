package io.farpage.agent.data.shard;

/**
 * Work that a shard's thread runs in every duty cycle: a source of transfers, such as the pager of a guest or a
 * benchmark.
 */
@FunctionalInterface
public interface DutyCycle {
    /**
     * Does the part of the work that threads wait for, without waiting. A shard does this part of all sources, and
     * posts what it has requested, before it calls {@link #doWork()} of any. That does it if this was not called.
     *
     * @return the amount of work, as of {@link #doWork()}
     */
    default int doUrgentWork() {
        return 0;
    }

    /**
     * Does the work that is due, without waiting. The shorter it takes, the shorter faults of other guests wait.
     *
     * @return the amount of work, 0 if there was none; decides whether the shard may idle
     */
    int doWork();

    /**
     * Whether the shard's thread must not sleep although there was no work: what this source waits for is not signalled
     * by a file descriptor, or has to be noticed at once. False for a source that wakes the shard itself.
     */
    default boolean needsPolling() {
        return false;
    }

    /**
     * Whether another {@link #doWork()} right after this one would find no work, however much this one did: only a
     * completion, the {@link #fileDescriptor} or {@link ShardLoop#wake} brings more. The shard's thread may then sleep
     * at once.
     */
    default boolean isQuiescent() {
        return false;
    }

    /**
     * Whether {@link #doWork()} would find no work unless {@link #fileDescriptor} is readable or the shard was woken.
     * A shard of several sources leaves out those that rest, so that idle guests do not delay the faults of others.
     * One that {@link #isQuiescent} does not rest once a transfer of it has completed.
     */
    default boolean isAtRest() {
        return false;
    }

    /** The shard's thread has slept: {@link #fileDescriptor} may be readable. */
    default void slept() {}

    /**
     * The {@link #fileDescriptor} was polled. A source need not look for more there in the next duty cycle, if it is
     * not readable; after that one it must.
     */
    default void polled(boolean isReadable) {}

    /** Whether time alone brings work, so that the shard's thread may sleep for milliseconds only. */
    default boolean waitsForTime() {
        return false;
    }

    /** Whether the other sources of the shard go first in every duty cycle. */
    default boolean isBackground() {
        return false;
    }

    /**
     * {@link #doWork()} threw. Called on the shard's thread, which continues with the other cycles.
     *
     * @param cause what was thrown
     * @return whether {@link #doWork()} may be called again; otherwise the shard removes this source
     */
    default boolean failed(Throwable cause) {
        return false;
    }

    /** A descriptor that becomes readable when there is work, or -1. */
    default int fileDescriptor() {
        return -1;
    }
}
