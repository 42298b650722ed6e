package io.farpage.agent.data.shard;

/** Something that a shard's thread turns over and over: a source of fetches, such as the fault engine of a VM or a benchmark. */
@FunctionalInterface
public interface DutyCycle {
    /**
     * Does what there is to do, without waiting.
     *
     * @return how much was done, 0 if there was nothing; decides whether the shard may idle
     */
    int doWork();

    /**
     * Whether the shard's thread must keep turning although this had nothing to do, because what it waits for does not come through a
     * file descriptor, or is to be seen at once. False for a source that wakes the shard itself.
     */
    default boolean needsPolling() {
        return false;
    }

    /**
     * Whether another {@link #doWork()} right after this one would find nothing, however much this one did: only a completion, the
     * {@link #fileDescriptor} or {@link ShardLoop#wake} brings more. The shard's thread may then sleep without a second look.
     */
    default boolean isSettled() {
        return false;
    }

    /**
     * {@link #doWork()} threw. Called on the shard's thread, which goes on with the other cycles.
     *
     * @param cause what was thrown
     * @return whether this can still be turned; otherwise the shard never calls it again
     */
    default boolean failed(Throwable cause) {
        return false;
    }

    /** A descriptor that becomes readable when there is something to do, or -1. */
    default int fileDescriptor() {
        return -1;
    }
}
