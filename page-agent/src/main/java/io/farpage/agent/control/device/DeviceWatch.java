package io.farpage.agent.control.device;

import io.farpage.agent.control.ControlThread;
import io.farpage.coordinator.model.TransportKind;
import io.farpage.verbs.AsyncEvent;
import io.farpage.verbs.VerbsException;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Watches devices: ports that go down or come up, that lose or get their GID, devices that are removed, and new ones. Asynchronous events make it quick; polling every
 * {@link #INTERVAL} makes it reliable.
 */
public final class DeviceWatch implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(DeviceWatch.class);
    private static final Duration INTERVAL = Duration.ofSeconds(1);
    private static final Duration ABANDON_TIMEOUT = Duration.ofSeconds(10);
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(15);

    /** Moves links and completion queues. Called on the watch's thread. */
    public interface Listener {
        /** A device was opened: completion queues are to be created on it, and peers informed. */
        void found(OpenDevice device);

        /** A lost device was closed: peers are to be informed. */
        void removed(OpenDevice device);

        /** The usability of a device or its GIDs have changed. Links on an unusable one are to be failed, and RDMA tried where it failed. */
        void changed(OpenDevice device);

        /** A device is lost: its links are to be failed, then its completion queues destroyed. Completes when it is no longer in use. */
        CompletableFuture<Void> abandon(OpenDevice device);
    }

    private final Transports transports;
    private final Listener listener;
    private final ControlThread thread;
    private final Set<OpenDevice> fatal = new HashSet<>();

    public DeviceWatch(Transports transports, Listener listener) {
        this.transports = transports;
        this.listener = listener;
        this.thread = ControlThread.ofPlatform(
                "devices", new ControlThread.Pauses(Duration.ZERO, INTERVAL, CLOSE_TIMEOUT), this::watch);
    }

    /** Starts watching, unless the mode is TCP. */
    public void start() {
        if (transports.mode() != TransportMode.TCP) {
            thread.start();
        }
    }

    private Duration watch() throws InterruptedException {
        waitForEvent();
        for (OpenDevice device : rdmaDevices()) {
            poll(device);
        }
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
            default -> {}
        }
    }

    private void poll(OpenDevice device) {
        DeviceState now = query(device);
        if (now == device.state()) {
            return;
        }
        device.setState(now);
        log.warn("rdma device {} is {}; {}", device, now, transports.describe());
        if (now == DeviceState.LOST) {
            abandon(device);
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

    private void abandon(OpenDevice device) {
        try {
            listener.abandon(device).get(ABANDON_TIMEOUT.toNanos(), TimeUnit.NANOSECONDS);
            transports.remove(device);
            listener.removed(device);
        } catch (TimeoutException e) {
            log.error("rdma device {} is lost but still in use after {}", device, ABANDON_TIMEOUT);
        } catch (ExecutionException | VerbsException e) {
            log.warn("rdma device {} could not be closed cleanly: {}", device, e.toString());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void close() {
        thread.closeNow();
    }
}
