package io.farpage.verbs;

/** Lets a thread sleep until a completion queue has something: {@code struct ibv_comp_channel}. */
public interface CompletionChannel extends AutoCloseable {
    /**
     * A file descriptor that is readable when {@link #await} would not block, for use in {@code poll(2)} or
     * {@code epoll(7)} beside others.
     */
    int fileDescriptor();

    /**
     * Sleeps until an armed completion queue has a completion, and consumes the event.
     *
     * <p>Use: {@link CompletionQueue#requestNotification()}, then poll once more until the queue is empty (a completion
     * may have come just before arming), then this. Spurious returns are allowed.
     *
     * @param timeoutNanos nanoseconds to wait at most; 0 to only consume pending events
     * @return whether an event came
     */
    boolean await(long timeoutNanos);

    /** @throws ResourceBusyException naming them, while completion queues use this channel */
    @Override
    void close();
}
