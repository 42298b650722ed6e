package io.farpage.verbs;

import io.farpage.linux.PollSet;

/** Lets a thread sleep until a completion queue has something: {@code struct ibv_comp_channel}. */
public interface CompletionChannel extends AutoCloseable {
    /**
     * Adds the descriptors that end a sleep in {@link #await} to a set that the caller waits on for others, too. They
     * are valid for one wait, and {@link #polled} follows it. The thread that waits only.
     */
    void addTo(PollSet set);

    /**
     * The set that {@link #addTo} was last called with was waited on: consumes the event, if there is one. The thread
     * that waits only.
     *
     * @return whether an event came
     */
    boolean polled(PollSet set);

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

    /**
     * As {@link #await}, for a thread that waits for completions of sends. That of a receive may end the sleep late,
     * but within 100 ms, which lets the soft provider sleep with fewer system calls.
     */
    default boolean awaitSends(long timeoutNanos) {
        return await(timeoutNanos);
    }

    /** @throws ResourceBusyException naming them, while completion queues use this channel */
    @Override
    void close();
}
