package io.farpage.agent.control.link;

import io.farpage.agent.control.device.OpenDevice;
import io.farpage.agent.data.shard.Rail;
import io.farpage.verbs.VerbsException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps a completion queue of each shard on each open device: creates those of new devices, renews those that failed,
 * and destroys those of devices that are lost, once the device has no queue pair left. What a device refuses is tried
 * again. Used by the links' thread, except for {@link #abandon}.
 */
final class CompletionQueueControl {
    private static final Logger log = LoggerFactory.getLogger(CompletionQueueControl.class);
    private static final Duration FIRST_PAUSE = Duration.ofSeconds(1);
    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(30);

    private final LinkContext context;
    private final Map<OpenDevice, CompletableFuture<Void>> abandoned = new ConcurrentHashMap<>();
    /** Devices that were abandoned and are not closed yet. */
    private final Set<OpenDevice> lost = ConcurrentHashMap.newKeySet();

    private final List<Missing> missing = new ArrayList<>();

    /**
     * A completion queue that must be created once the queue pairs of a failed one are destroyed and a pause is over.
     */
    private record Missing(LinkShard shard, OpenDevice device, Backoff pause) {
        Missing(LinkShard shard, OpenDevice device) {
            this(shard, device, new Backoff(FIRST_PAUSE, LONGEST_PAUSE));
        }
    }

    CompletionQueueControl(LinkContext context) {
        this.context = context;
    }

    /** Destroys the completion queues of a device once it is not in use. Completes then. Any thread. */
    CompletableFuture<Void> abandon(OpenDevice device) {
        lost.add(device);
        return abandoned.computeIfAbsent(device, _ -> new CompletableFuture<>());
    }

    /** A completion queue of a shard has failed, and the shard has failed its links. */
    void failed(LinkShard shard, Rail rail, String reason) {
        log.error(
                "{}: {}; its links fail, and the completion queue is created again",
                shard.loop().thread().getName(),
                reason);
        shard.rails().deviceOf(rail).ifPresent(device -> {
            Missing one = new Missing(shard, device);
            one.pause().failed(context.now());
            missing.add(one);
        });
    }

    /** Does what has become possible. */
    void step(Predicate<OpenDevice> isInUse) {
        abandoned.forEach((device, done) -> {
            if (!isInUse.test(device)) {
                abandoned.remove(device);
                missing.removeIf(one -> one.device().equals(device));
                remove(device, done);
            }
        });
        addMissing();
        missing.removeIf(one -> !isInUse.test(one.device()) && one.pause().isOver(context.now()) && create(one));
    }

    /** Devices that were opened later have no completion queue yet. */
    private void addMissing() {
        List<OpenDevice> open = context.transports().devices();
        lost.retainAll(open);
        for (OpenDevice device : open) {
            for (LinkShard shard : context.shards()) {
                if (!lost.contains(device) && !shard.rails().has(device) && !isMissing(shard, device)) {
                    missing.add(new Missing(shard, device));
                }
            }
        }
    }

    private boolean isMissing(LinkShard shard, OpenDevice device) {
        return missing.stream()
                .anyMatch(one -> one.shard().equals(shard) && one.device().equals(device));
    }

    private void remove(OpenDevice device, CompletableFuture<Void> done) {
        CompletableFuture<?>[] removed = context.shards().stream()
                .map(shard -> shard.rails().remove(device, shard.loop()))
                .toArray(CompletableFuture<?>[]::new);
        var _ = CompletableFuture.allOf(removed).whenComplete((_, failure) -> {
            if (failure == null) {
                done.complete(null);
            } else {
                done.completeExceptionally(failure);
            }
        });
    }

    /** Creates a completion queue; false if the device refuses. */
    private boolean create(Missing one) {
        try {
            one.shard().rails().renew(one.device(), one.shard().loop());
            return true;
        } catch (VerbsException e) {
            one.pause().failed(context.now());
            log.error(
                    "{} does not use {} and tries again in {}: {}",
                    one.shard().loop().thread().getName(),
                    one.device(),
                    one.pause().pause(),
                    e.getMessage());
            return false;
        }
    }
}
