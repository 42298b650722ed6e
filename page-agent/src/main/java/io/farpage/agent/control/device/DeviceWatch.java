package io.farpage.agent.control.device;

import io.farpage.agent.control.ControlThread;
import io.farpage.coordinator.model.TransportKind;
import io.farpage.verbs.AsyncEvent;
import io.farpage.verbs.VerbsException;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Watches devices: ports that go down or come up, that lose or get their GID, devices that are removed, and new ones.
 * Asynchronous events make it quick; polling every {@link #INTERVAL} makes it reliable.
 */
public final class DeviceWatch implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(DeviceWatch.class);
    private static final Duration INTERVAL = Duration.ofSeconds(1);
    /** A lost device that is in use for longer is reported once. */
    private static final Duration ABANDON_TIME = Duration.ofSeconds(10);

    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(15);

    /** Moves links and completion queues. Called on the watch's thread. */
    public interface Listener {
        /** A device was opened: peers must be informed, and links may use it. */
        void found(OpenDevice device);

        /** A lost device was closed: peers must be informed. */
        void removed(OpenDevice device);

        /**
         * The usability of a device or its GIDs have changed. Links on an unusable device must be failed, and RDMA must
         * be tried again where it failed before.
         */
        void changed(OpenDevice device);

        /**
         * A completion queue of a device has failed. It may deliver no further completion, and polling it may return
         * nothing.
         */
        void completionQueueFailed(OpenDevice device);

        /** The queue pair {@code qpn} of a device has failed, perhaps without completions that report the failure. */
        void queuePairFailed(OpenDevice device, int qpn);

        /**
         * A device is lost: its links must be failed, then its completion queues destroyed. Completes when it is no
         * longer in use. Called again if it completes with a failure.
         */
        CompletableFuture<Void> abandon(OpenDevice device);
    }

    private final Transports transports;
    private final Listener listener;
    private final ControlThread thread;
    private final LongSupplier clock;
    private final Set<OpenDevice> fatal = new HashSet<>();
    private final Map<OpenDevice, Abandoned> abandoned = new HashMap<>();

    /**
     * A lost device that is closed when its links and completion queues are destroyed, however long that takes.
     *
     * @param since when it was lost (nanoTime)
     * @param reported whether it is known to be in use for long
     */
    private record Abandoned(CompletableFuture<Void> unused, long since, boolean reported) {}

    /**
     * Watches the devices of transports.
     *
     * @param clock monotonic nanoseconds
     */
    public DeviceWatch(Transports transports, Listener listener, LongSupplier clock) {
        this.transports = transports;
        this.listener = listener;
        this.clock = clock;
        this.thread = ControlThread.ofPlatform(
                "devices", new ControlThread.Pauses(Duration.ZERO, INTERVAL, CLOSE_TIMEOUT), this::watch);
    }

    /** Starts watching, unless the mode is TCP. */
    public void start() {
        if (transports.mode() != TransportMode.TCP) {
            thread.start();
        }
    }

    /** One round. */
    Duration watch() throws InterruptedException {
        waitForEvent();
        for (OpenDevice device : rdmaDevices()) {
            poll(device);
        }
        Map.copyOf(abandoned).forEach(this::closeIfUnused);
        for (OpenDevice found : transports.openRdma()) {
            log.info("rdma device {} can be used", found);
            listener.found(found);
        }
        return Duration.ZERO;
    }

    private List<OpenDevice> rdmaDevices() {
        return transports.devices().stream()
                .filter(d -> d.transport() == TransportKind.RDMA)
                .toList();
    }

    private void waitForEvent() throws InterruptedException {
        List<OpenDevice> devices = rdmaDevices();
        if (devices.isEmpty()) {
            Thread.sleep(INTERVAL);
            return;
        }
        Duration each = INTERVAL.dividedBy(devices.size());
        for (OpenDevice device : devices) {
            Optional<AsyncEvent> event = device.device().awaitAsyncEvent(each);
            if (event.isPresent()) {
                log.info("rdma device {}: {}", device, event.get());
                handle(device, event.get());
                return;
            }
        }
    }

    /** Acts on an event. Ports are queried after each. */
    void handle(OpenDevice device, AsyncEvent event) {
        switch (event.type()) {
            case DEVICE_FATAL -> fatal.add(device);
            case GID_CHANGE -> listener.changed(device);
            case CQ_ERR -> listener.completionQueueFailed(device);
            case QP_FATAL -> listener.queuePairFailed(device, event.element());
            default -> {}
        }
    }

    private void poll(OpenDevice device) {
        if (device.state() == DeviceState.LOST) {
            return;
        }
        DeviceState now = query(device);
        if (now == device.state()) {
            return;
        }
        device.setState(now);
        log.warn("rdma device {} is {}; {}", device, now, transports.describe());
        if (now == DeviceState.LOST) {
            abandoned.put(device, new Abandoned(listener.abandon(device), clock.getAsLong(), false));
        } else {
            listener.changed(device);
        }
    }

    private DeviceState query(OpenDevice device) {
        if (fatal.remove(device)) {
            return DeviceState.LOST;
        }
        try {
            return DeviceState.of(device.device().queryPort());
        } catch (VerbsException e) {
            log.warn("{}", e.getMessage());
            return DeviceState.LOST;
        }
    }

    private void closeIfUnused(OpenDevice device, Abandoned state) {
        if (!state.unused().isDone()) {
            if (!state.reported() && clock.getAsLong() - state.since() > ABANDON_TIME.toNanos()) {
                log.error(
                        "rdma device {} is lost but still in use after {}; it is closed once it is not",
                        device,
                        ABANDON_TIME);
                abandoned.put(device, new Abandoned(state.unused(), state.since(), true));
            }
            return;
        }
        if (state.unused().isCompletedExceptionally()) {
            log.warn(
                    "rdma device {} is lost and could not be left: {}",
                    device,
                    state.unused().exceptionNow().toString());
            abandoned.put(device, new Abandoned(listener.abandon(device), state.since(), state.reported()));
            return;
        }
        abandoned.remove(device);
        try {
            transports.remove(device);
        } catch (VerbsException e) {
            log.warn("rdma device {} could not be closed cleanly: {}", device, e.toString());
        }
        listener.removed(device);
    }

    @Override
    public void close() {
        thread.closeNow();
    }
}
