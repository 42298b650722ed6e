package io.farpage.verbs;

import java.lang.foreign.MemorySegment;
import java.util.Set;

/**
 * A protection domain: memory regions and queue pairs work together only within one ({@code struct ibv_pd}). A peer
 * that presents an rkey of another domain gets {@link WcStatus#REM_ACCESS_ERR}.
 */
public interface ProtectionDomain extends AutoCloseable {
    Device device();

    /**
     * Registers native memory (ibv_reg_mr(3)). The memory must stay mapped until the region is closed.
     *
     * @param memory native memory, not empty; larger than 2 GiB is fine
     * @param access what is permitted
     * @throws IllegalArgumentException if the memory is on the Java heap or the access flags contradict each other
     * @throws VerbsException if the device refuses, for one with ENOMEM when RLIMIT_MEMLOCK is too small
     */
    MemoryRegion registerMemory(MemorySegment memory, Set<AccessFlag> access);

    /**
     * Creates a reliable-connected queue pair in RESET, with a random first PSN.
     *
     * @param sendQueue where its sends complete
     * @param receiveQueue where its receives complete; may be the same
     * @throws VerbsException if one of the completion queues could overrun: the completions that all its queue pairs
     *     may have outstanding at once must fit, so none is ever lost
     */
    QueuePair createQueuePair(CompletionQueue sendQueue, CompletionQueue receiveQueue, QpOptions options);

    /**
     * Creates a queue pair that takes its receives from a shared receive queue.
     *
     * @see #createQueuePair(CompletionQueue, CompletionQueue, QpOptions)
     */
    QueuePair createQueuePair(
            CompletionQueue sendQueue, CompletionQueue receiveQueue, SharedReceiveQueue shared, QpOptions options);

    /**
     * Creates a shared receive queue.
     *
     * @param maxWr receives that it can hold, 1 to {@link DeviceAttributes#maxSrqWr()}
     * @param maxSge scatter/gather entries of one receive
     */
    SharedReceiveQueue createSharedReceiveQueue(int maxWr, int maxSge);

    /** @throws ResourceBusyException naming them, while regions or queues of this domain are open */
    @Override
    void close();
}
