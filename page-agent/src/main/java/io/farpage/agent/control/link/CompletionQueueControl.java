package io.farpage.agent.control.link;

import io.farpage.agent.control.device.OpenDevice;
import io.farpage.agent.data.shard.Rail;
import io.farpage.verbs.VerbsException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Renews completion queues that failed, and destroys those of devices that are lost: each once no queue pair is on the device any more. Used by the
 * links' thread, except for {@link #abandon}.
 */
final class CompletionQueueControl {
    private static final Logger log = LoggerFactory.getLogger(CompletionQueueControl.class);
    private static final Duration RENEWAL_PAUSE = Duration.ofSeconds(1);

    private final LinkContext context;
    private final Map<OpenDevice, CompletableFuture<Void>> abandoned = new ConcurrentHashMap<>();
    private final List<Failed> failed = new ArrayList<>();

    /** A completion queue that is to be renewed once its queue pairs are destroyed and a pause is over. */
    private record Failed(LinkShard shard, OpenDevice device, long due) {}

    CompletionQueueControl(LinkContext context) {
        this.context = context;
    }

    /** Destroys the completion queues of a device once it is not in use. Completes then. Any thread. */
    CompletableFuture<Void> abandon(OpenDevice device) {
        return abandoned.computeIfAbsent(device, _ -> new CompletableFuture<>());
    }

    /** A completion queue of a shard has failed, and the shard has failed its links. */
    void failed(LinkShard shard, Rail rail, String reason) {
        log.error(
                "{}: {}; its links fail, and the completion queue is created again",
                shard.loop().thread().getName(),
                reason);
        shard.rails()
                .deviceOf(rail)
                .ifPresent(device -> failed.add(new Failed(shard, device, context.now() + RENEWAL_PAUSE.toNanos())));
    }

    /** Does what has become possible. */
    void step(Predicate<OpenDevice> isInUse) {
        abandoned.forEach((device, done) -> {
            if (!isInUse.test(device)) {
                abandoned.remove(device);
                failed.removeIf(one -> one.device().equals(device));
                remove(device, done);
            }
        });
        for (Failed one : List.copyOf(failed)) {
            if (!isInUse.test(one.device()) && context.now() - one.due() >= 0) {
                failed.remove(one);
                renew(one);
            }
        }
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

    private static void renew(Failed one) {
        try {
            one.shard().rails().renew(one.device(), one.shard().loop());
        } catch (VerbsException e) {
            log.error(
                    "{} does not use {} any more: {}",
                    one.shard().loop().thread().getName(),
                    one.device(),
                    e.getMessage());
        }
    }
}
