package io.farpage.agent.control.link;

import io.farpage.agent.control.CloseStack;
import io.farpage.agent.control.device.OpenDevice;
import io.farpage.agent.data.shard.Rail;
import io.farpage.agent.data.shard.ShardCommand;
import io.farpage.agent.data.shard.ShardLoop;
import io.farpage.coordinator.model.TransportKind;
import io.farpage.verbs.CompletionChannel;
import io.farpage.verbs.CompletionQueue;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;

/** The completion queues of one shard: one for each open device. Thread-safe. */
public final class ShardRails implements AutoCloseable {
    /** Polls of a device in one duty cycle: a microsecond or two, beside which the rest of the cycle is short. */
    private static final int RDMA_POLLS = 64;

    /** The same over TCP, where a poll is a system call, and a fault may arrive meanwhile. */
    private static final int TCP_POLLS = 4;

    private final int cqe;
    private final Map<OpenDevice, Opened> byDevice = new ConcurrentHashMap<>();
    /** Completion queues that are no longer used, until the device has destroyed them. */
    private final Map<OpenDevice, Opened> leaving = new ConcurrentHashMap<>();

    private record Opened(Rail rail, CompletionChannel channel, CompletionQueue queue) implements AutoCloseable {
        /** May be repeated if the device refuses. */
        @Override
        public void close() {
            queue.close();
            channel.close();
        }
    }

    /** @param cqe completions that all queue pairs of the shard on one device may have outstanding */
    public ShardRails(List<OpenDevice> devices, int cqe) {
        this.cqe = cqe;
        for (OpenDevice device : devices) {
            open(device);
        }
    }

    private Rail open(OpenDevice device) {
        CompletionChannel channel = device.device().createCompletionChannel();
        int capacity = Math.min(cqe, device.device().attributes().maxCqe());
        CompletionQueue queue;
        try {
            queue = device.device().createCompletionQueue(capacity, channel);
        } catch (RuntimeException e) {
            channel.close();
            throw e;
        }
        Rail rail = new Rail(
                device.device().name(), queue, channel, device.staging().lkey(), maxPolls(device.transport()));
        byDevice.put(device, new Opened(rail, channel, queue));
        return rail;
    }

    private static int maxPolls(TransportKind transport) {
        return switch (transport) {
            case RDMA -> RDMA_POLLS;
            case TCP -> TCP_POLLS;
        };
    }

    /** All of them, in no order. */
    public List<Rail> rails() {
        return byDevice.values().stream().map(Opened::rail).toList();
    }

    Rail on(OpenDevice device) {
        return Objects.requireNonNull(byDevice.get(device), "device is open").rail();
    }

    /** Whether there is a completion queue on {@code device}, for queue pairs to use. */
    boolean has(OpenDevice device) {
        return byDevice.containsKey(device);
    }

    /** The device of a rail; empty if it was removed. */
    Optional<OpenDevice> deviceOf(Rail rail) {
        return byDevice.entrySet().stream()
                .filter(one -> one.getValue().rail() == rail)
                .map(Map.Entry::getKey)
                .findFirst();
    }

    /**
     * Creates the completion queue of a device and gives it to the shard. One that failed is destroyed first; its queue
     * pairs must be gone.
     *
     * @throws io.farpage.verbs.VerbsException if the device refuses; to be tried again
     */
    void renew(OpenDevice device, ShardLoop shard) {
        leave(device);
        destroy(device);
        shard.submit(new ShardCommand.AddRail(open(device)));
    }

    private void leave(OpenDevice device) {
        Opened opened = byDevice.remove(device);
        if (opened != null) {
            leaving.put(device, opened);
        }
    }

    private void destroy(OpenDevice device) {
        Opened opened = leaving.get(device);
        if (opened != null) {
            opened.close();
            leaving.remove(device);
        }
    }

    /** The device says that a completion queue has failed: has the shard fail it, to be renewed. */
    void fail(OpenDevice device, ShardLoop shard, String cause) {
        Opened opened = byDevice.get(device);
        if (opened != null) {
            shard.submit(new ShardCommand.FailRail(opened.rail(), cause));
        }
    }

    /**
     * Removes the completion queue of a device from the shard and destroys it. Its queue pairs must be gone. Completes
     * with a failure if the device refuses; to be called again then.
     */
    public CompletableFuture<Void> remove(OpenDevice device, ShardLoop shard) {
        leave(device);
        Opened opened = leaving.get(device);
        if (opened == null) {
            return CompletableFuture.completedFuture(null);
        }
        CompletableFuture<Void> done = new CompletableFuture<>();
        shard.submit(new ShardCommand.RemoveRail(opened.rail(), done));
        return done.thenRun(() -> destroy(device));
    }

    /** Destroys the completion queues; after {@link ShardLoop#close()}. */
    @Override
    public void close() {
        CloseStack closing = new CloseStack();
        leaving.values().forEach(closing::add);
        byDevice.values().forEach(closing::add);
        leaving.clear();
        byDevice.clear();
        closing.close();
    }
}
