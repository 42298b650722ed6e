package io.farpage.agent.control.link;

import io.farpage.agent.control.device.OpenDevice;
import io.farpage.agent.data.shard.Rail;
import io.farpage.agent.data.shard.ShardCommand;
import io.farpage.agent.data.shard.ShardLoop;
import io.farpage.coordinator.model.TransportKind;
import io.farpage.verbs.CompletionChannel;
import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.VerbsException;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The completion queues of one shard: one for each open device. Thread-safe. */
public final class ShardRails implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(ShardRails.class);

    /** Polls of a device in one duty cycle: a microsecond or two, beside which the rest of the cycle is short. */
    private static final int RDMA_POLLS = 64;

    /** The same over TCP, where a poll is a system call, and a fault may arrive meanwhile. */
    private static final int TCP_POLLS = 4;

    private final int cqe;
    private final Map<OpenDevice, Opened> byDevice = new ConcurrentHashMap<>();

    private record Opened(Rail rail, CompletionChannel channel, CompletionQueue queue) {
        void close() {
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

    /** Creates a completion queue on a device that was opened later and gives it to the shard. */
    public void add(OpenDevice device, ShardLoop shard) {
        shard.submit(new ShardCommand.AddRail(open(device)));
    }

    /** The device of a rail; empty if it was removed. */
    Optional<OpenDevice> deviceOf(Rail rail) {
        return byDevice.entrySet().stream()
                .filter(one -> one.getValue().rail() == rail)
                .map(Map.Entry::getKey)
                .findFirst();
    }

    /**
     * Destroys a completion queue that failed and creates another one. Its queue pairs must be gone.
     *
     * @throws io.farpage.verbs.VerbsException if the device creates none
     */
    void renew(OpenDevice device, ShardLoop shard) {
        Opened failed = byDevice.remove(device);
        if (failed != null) {
            try {
                failed.close();
            } catch (VerbsException e) {
                log.warn("{}", e.getMessage());
            }
            add(device, shard);
        }
    }

    /** The device says that a completion queue has failed: has the shard fail it, to be renewed. */
    void fail(OpenDevice device, ShardLoop shard, String cause) {
        Opened opened = byDevice.get(device);
        if (opened != null) {
            shard.submit(new ShardCommand.FailRail(opened.rail(), cause));
        }
    }

    /** Removes the completion queue of a device from the shard and destroys it. Its queue pairs must be gone. */
    public CompletableFuture<Void> remove(OpenDevice device, ShardLoop shard) {
        Opened opened = byDevice.remove(device);
        if (opened == null) {
            return CompletableFuture.completedFuture(null);
        }
        CompletableFuture<Void> done = new CompletableFuture<>();
        shard.submit(new ShardCommand.RemoveRail(opened.rail(), done));
        return done.thenRun(opened::close);
    }

    /** Destroys the completion queues; after {@link ShardLoop#close()}. */
    @Override
    public void close() {
        byDevice.values().forEach(Opened::close);
        byDevice.clear();
    }
}
