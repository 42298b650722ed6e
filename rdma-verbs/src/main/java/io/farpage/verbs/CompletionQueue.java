package io.farpage.verbs;

/** Where work requests report their end: {@code struct ibv_cq}. Polled by one thread at a time. */
public interface CompletionQueue extends AutoCloseable {
    /** Completions that this queue can hold. */
    int capacity();

    /**
     * Takes up to {@code into.length} completions, oldest first, without waiting (ibv_poll_cq(3)). On the soft provider
     * this is also what moves the data of the caller's own work requests.
     *
     * @return how many were filled in, 0 if there are none
     * @throws VerbsException if the device failed
     */
    int poll(WorkCompletion[] into);

    /**
     * Arms the queue: its channel wakes at the next completion (ibv_req_notify_cq(3)). Has no effect while the queue is
     * armed or an event of it waits in the channel.
     *
     * @throws IllegalStateException if the queue was created without a channel
     */
    void requestNotification();

    /** @throws ResourceBusyException naming them, while queue pairs use this queue */
    @Override
    void close();
}
