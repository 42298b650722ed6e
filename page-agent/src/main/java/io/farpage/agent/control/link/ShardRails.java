package io.farpage.agent.control.link;

import io.farpage.agent.control.device.OpenDevice;
import io.farpage.agent.control.device.Transport;
import io.farpage.agent.data.shard.Rail;
import io.farpage.agent.data.shard.ShardCommand;
import io.farpage.agent.data.shard.ShardLoop;
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

    /** A microsecond or two of looking, beside which the rest of a turn is short. */
    private static final int RDMA_LOOKS = 64;

    /** A poll is recv(2), and a fault may come meanwhile. */
    private static final int TCP_LOOKS = 4;

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

    private static int maxPolls(Transport transport) {
        return switch (transport) {
            case RDMA -> RDMA_LOOKS;
            case TCP -> TCP_LOOKS;
        };
    }

    /** All of them, in no order. */
    public List<Rail> rails() {
        return byDevice.values().stream().map(Opened::rail).toList();
    }

    Rail on(OpenDevice device) {
        return Objects.requireNonNull(byDevice.get(device), "device is open").rail();
    }

    /** Whether queue pairs can be made on {@code device}. */
    boolean has(OpenDevice device) {
        return byDevice.containsKey(device);
    }

    /** Makes a completion queue on a device that was opened later and gives it to the shard. */
    public void add(OpenDevice device, ShardLoop shard) {
        shard.submit(new ShardCommand.AddRail(open(device)));
    }

    /** The device of a rail; empty if it was taken back. */
    Optional<OpenDevice> deviceOf(Rail rail) {
        return byDevice.entrySet().stream()
                .filter(one -> one.getValue().rail() == rail)
                .map(Map.Entry::getKey)
                .findFirst();
    }

    /**
     * Destroys a completion queue that failed and makes another one. Its queue pairs must be gone.
     *
     * @throws io.farpage.verbs.VerbsException if the device makes none
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

    /** Takes the completion queue of a device back from the shard and destroys it. Its queue pairs must be gone. */
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
