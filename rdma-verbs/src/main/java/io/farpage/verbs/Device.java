package io.farpage.verbs;

import java.time.Duration;
import java.util.Optional;

/**
 * An open device and one of its ports: {@code struct ibv_context}. Nothing is shared between two open devices, so
 * several devices, and one device opened once per port, work side by side.
 *
 * <p>Every object that comes from a device must be closed before it, children before parents; a parent refuses to close
 * while it has any ({@link ResourceBusyException}, as libibverbs' EBUSY).
 */
public interface Device extends AutoCloseable {
    /**
     * Name as the system knew it when the device was opened, such as {@code mlx5_0}; {@code soft0} for the soft
     * provider.
     */
    String name();

    /**
     * The name that the system has for it now: udev may rename a device soon after it appeared. {@link #name} if the
     * device was removed.
     */
    default String presentName() {
        return name();
    }

    DeviceAttributes attributes();

    /**
     * The port as it is now: asks the device each time.
     *
     * @throws VerbsException if the device does not answer, for one because it was removed
     */
    PortAttributes queryPort();

    /** Allocates a protection domain. */
    ProtectionDomain allocateProtectionDomain();

    /**
     * Creates a completion channel: a file descriptor that becomes readable when an armed completion queue has
     * something.
     */
    CompletionChannel createCompletionChannel();

    /**
     * Creates a completion queue without a channel, for polling only.
     *
     * @param cqe completions that it can hold, 1 to {@link DeviceAttributes#maxCqe()}
     */
    CompletionQueue createCompletionQueue(int cqe);

    /**
     * Creates a completion queue whose events go to {@code channel}.
     *
     * @param cqe completions that it can hold, 1 to {@link DeviceAttributes#maxCqe()}
     */
    CompletionQueue createCompletionQueue(int cqe, CompletionChannel channel);

    /**
     * Takes the next asynchronous event (ibv_get_async_event(3)), waiting for one up to {@code timeout}.
     *
     * @return the event, or empty if none came in time or the device was closed meanwhile
     */
    Optional<AsyncEvent> awaitAsyncEvent(Duration timeout) throws InterruptedException;

    /**
     * Closes the device. Closing twice does nothing.
     *
     * @throws ResourceBusyException naming them, while objects of this device are open
     */
    @Override
    void close();
}
