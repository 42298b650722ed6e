package io.farpage.coordinator.cluster;

import io.farpage.coordinator.store.StoreException;
import io.farpage.rest.Health.Part;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Whether the store can be written, for {@code /health}. A commit of the last ten seconds shows it. If there was none,
 * a commit without changes is made, on a thread of its own, so that a disk that does not answer holds up no request.
 * However many requests come, one probe is under way. Thread-safe.
 */
public final class StoreProbe {
    private static final long FRESH_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final Duration DEADLINE = Duration.ofSeconds(2);
    private static final String STORE = "store";

    private final Ledger ledger;
    private final LongSupplier clock;
    private final Duration deadline;
    private Optional<Probe> running = Optional.empty();
    private Optional<Instant> failedSince = Optional.empty();

    /** A commit that is under way. */
    private record Probe(Instant began, CompletableFuture<Void> done) {}

    public StoreProbe(Ledger ledger) {
        this(ledger, System::nanoTime, DEADLINE);
    }

    /**
     * @param clock in the units of {@link System#nanoTime()}, by which a commit ages
     * @param deadline by which a commit that has not ended counts as failed
     */
    StoreProbe(Ledger ledger, LongSupplier clock, Duration deadline) {
        this.ledger = ledger;
        this.clock = clock;
        this.deadline = deadline;
    }

    /** The store as a part of the coordinator. Waits for two seconds at most. */
    public Part part() {
        Probe probe;
        synchronized (this) {
            if (running.isEmpty()
                    && ledger.failure().isEmpty()
                    && clock.getAsLong() - ledger.committedNanos() < FRESH_NANOS) {
                failedSince = Optional.empty();
                return Part.ok(STORE, "it was written within the last 10 s");
            }
            probe = running.filter(one -> !one.done().isDone()).orElseGet(this::begin);
        }
        long left =
                Duration.between(Instant.now(), probe.began().plus(deadline)).toMillis();
        try {
            probe.done().get(Math.max(0, left), TimeUnit.MILLISECONDS);
            return ended(Optional.empty(), probe.began());
        } catch (TimeoutException e) {
            return ended(Optional.of("a commit has not ended; the disk may not answer"), probe.began());
        } catch (ExecutionException e) {
            return ended(Optional.of(reason(e.getCause())), probe.began());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Part.failed(STORE, "interrupted while a commit was under way")
                    .since(probe.began());
        }
    }

    private Probe begin() {
        CompletableFuture<Void> done = new CompletableFuture<>();
        Probe probe = new Probe(Instant.now(), done);
        running = Optional.of(probe);
        Thread.ofPlatform().daemon().name("store-probe").start(() -> {
            try {
                ledger.prove();
                done.complete(null);
            } catch (RuntimeException | Error e) {
                // Whatever it is: a probe that never ends would be the answer for ever.
                done.completeExceptionally(e);
            }
        });
        return probe;
    }

    private static String reason(@Nullable Throwable failure) {
        return failure instanceof StoreException ? String.valueOf(failure.getMessage()) : "a commit failed: " + failure;
    }

    private synchronized Part ended(Optional<String> failure, Instant began) {
        running = running.filter(one -> !one.done().isDone());
        if (failure.isEmpty()) {
            failedSince = Optional.empty();
            return Part.ok(STORE, "a commit was written just now");
        }
        if (failedSince.isEmpty()) {
            failedSince = Optional.of(began);
        }
        return Part.failed(STORE, failure.get()).since(failedSince.get());
    }
}
