package io.farpage.verbs.ibverbs;

import io.farpage.verbs.AsyncEvent;
import io.farpage.verbs.CompletionChannel;
import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.Device;
import io.farpage.verbs.DeviceAttributes;
import io.farpage.verbs.PortAttributes;
import io.farpage.verbs.ProtectionDomain;
import io.farpage.verbs.ibverbs.LibIbverbs.Release;
import java.time.Duration;
import java.util.Optional;

/** An open device: makes its objects. */
final class IbvDevice implements Device {
    private final NativeDevice device;
    private final AsyncEvents events;

    IbvDevice(NativeDevice device) {
        this.device = device;
        this.events = new AsyncEvents(device.library(), device.context(), device.asyncFd());
    }

    /** The number of the port chosen. */
    int port() {
        return device.port();
    }

    @Override
    public String name() {
        return device.name();
    }

    @Override
    public String presentName() {
        return device.presentName();
    }

    @Override
    public DeviceAttributes attributes() {
        return device.attributes();
    }

    @Override
    public PortAttributes queryPort() {
        return device.queryPort();
    }

    @Override
    public ProtectionDomain allocateProtectionDomain() {
        return device.children().add(() -> new IbvProtectionDomain(this, device));
    }

    @Override
    public CompletionChannel createCompletionChannel() {
        return device.children().add(() -> new IbvCompletionChannel(device));
    }

    @Override
    public CompletionQueue createCompletionQueue(int cqe) {
        requireCapacity(cqe);
        return device.children().add(() -> new IbvCompletionQueue(device, cqe, null));
    }

    @Override
    public CompletionQueue createCompletionQueue(int cqe, CompletionChannel channel) {
        requireCapacity(cqe);
        if (!(channel instanceof IbvCompletionChannel own) || own.device() != device) {
            throw new IllegalArgumentException(channel + " is not a completion channel of " + this);
        }
        return device.children().add(() -> own.addQueue(cqe));
    }

    private void requireCapacity(int cqe) {
        if (cqe < 1 || cqe > device.attributes().maxCqe()) {
            throw new IllegalArgumentException(
                    "cqe " + cqe + " is not within 1.." + device.attributes().maxCqe());
        }
    }

    @Override
    public Optional<AsyncEvent> awaitAsyncEvent(Duration timeout) throws InterruptedException {
        return events.await(timeout);
    }

    @Override
    public void close() {
        device.children().close(() -> {
            events.stop();
            Failure.check(
                    device.library().release(Release.CLOSE_DEVICE, device.context()),
                    "close_device",
                    toString(),
                    "the device refused");
        });
    }

    /** {@code mlx5_0/1}. */
    @Override
    public String toString() {
        return device.toString();
    }
}
