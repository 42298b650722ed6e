package io.farpage.agent.control.guest;

import io.farpage.agent.control.guest.GuestException.Obstacle;
import io.farpage.agent.control.page.SpacePresence;
import io.farpage.agent.control.space.SpaceUse;
import io.farpage.agent.data.pager.evict.FreezeStatus;
import io.farpage.agent.data.pager.evict.FreezeStatus.State;
import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.pager.page.PresenceMap;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Space;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A snapshot of a guest that runs. While the VMM is paused, the pages are frozen that the homes do not have. The VMM
 * runs again while they are written home. Then the coordinator gives the homes to the snapshot, in one change, and the
 * guest's space is a clone of it. Until that change a failure leaves the guest as it was. After it nothing can fail,
 * and an agent that ends at any time leaves one or the other.
 *
 * <p>While it is not known whether the change was made, no page is written home.
 */
final class GuestSnapshot {
    private static final Logger log = LoggerFactory.getLogger(GuestSnapshot.class);
    /** How long the VMM may have to be paused. */
    private static final Duration FREEZE_DEADLINE = Duration.ofSeconds(5);

    private static final String ENDED = "its guest has ended";
    private static final String SILENT = "a shard did not answer within %d s".formatted(PagerHost.TIMEOUT.toSeconds());

    private static final long FREEZE_PAUSE_NANOS = TimeUnit.MICROSECONDS.toNanos(200);
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(2);
    private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    private final SpaceUse use;
    private final PagerFreezing pagers;
    private final SpacePresence presence;
    private final String name;
    private final LongSupplier clock;
    private final int pageSize;
    private final String key = Incarnation.draw().toString();
    private final long beganAt;
    private final Thread thread;

    private volatile SnapshotStatus status;
    private volatile boolean stopping;
    private long freezeMicros;
    private FreezeStatus frozen = FreezeStatus.OFF;

    /**
     * Begins nothing yet.
     *
     * @param use of the guest's space, exclusive
     * @param name of the snapshot
     * @param clock monotonic nanoseconds
     */
    GuestSnapshot(SpaceUse use, PagerFreezing pagers, SpacePresence presence, String name, LongSupplier clock) {
        this.use = use;
        this.pagers = pagers;
        this.presence = presence;
        this.name = name;
        this.clock = clock;
        pageSize = use.map().pageSize();
        beganAt = clock.getAsLong();
        status = new SnapshotStatus(name, "freezing", 0, 0, 0, 0, "");
        thread = Thread.ofPlatform()
                .daemon()
                .name("snapshot-" + use.map().name())
                .unstarted(this::run);
    }

    SnapshotStatus status() {
        return status;
    }

    /**
     * Protects pages while the VMM runs, and answers when that is done.
     *
     * @param map of the guest's space
     * @throws GuestException if the pages cannot be protected
     */
    static SnapshotPreparation prepare(SpaceMap map, PagerFreezing pagers, LongSupplier clock) throws GuestException {
        long beganAt = clock.getAsLong();
        Optional<String> obstacle;
        try {
            obstacle = pagers.prepare();
            while (obstacle.isEmpty() && pagers.status().state() == State.PREPARING) {
                if (clock.getAsLong() - beganAt > FREEZE_DEADLINE.toNanos()) {
                    obstacle = Optional.of(
                            "its pages were not protected within %d s".formatted(FREEZE_DEADLINE.toSeconds()));
                }
                LockSupport.parkNanos(FREEZE_PAUSE_NANOS);
            }
        } catch (TimeoutException e) {
            obstacle = Optional.of(SILENT);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            obstacle = Optional.of("this agent is ending");
        }
        FreezeStatus done = pagers.status();
        if (obstacle.isEmpty() && done.state() != State.PREPARED) {
            obstacle = Optional.of("another snapshot of it is being made, or its guest has ended");
        }
        if (obstacle.isPresent()) {
            throw new GuestException(
                    Obstacle.CONFLICT,
                    "space '%s' is not prepared for a snapshot: %s".formatted(map.name(), obstacle.get()));
        }
        return new SnapshotPreparation(
                (long) done.pages() * map.pageSize(), TimeUnit.NANOSECONDS.toMicros(clock.getAsLong() - beganAt));
    }

    /**
     * Freezes the pages, and goes on with the rest on a thread of its own. The VMM may run again when this has
     * answered, or has thrown.
     *
     * @throws GuestException if the pages cannot be frozen
     */
    SnapshotStatus freeze() throws GuestException {
        Optional<String> obstacle;
        try {
            obstacle = pagers.begin().or(this::awaitFrozen);
        } catch (TimeoutException e) {
            obstacle = Optional.of(SILENT);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            obstacle = Optional.of("this agent is ending");
        }
        if (obstacle.isPresent()) {
            pagers.thaw();
            end(SnapshotStatus.FAILED, obstacle.get());
            throw new GuestException(
                    Obstacle.CONFLICT,
                    "no snapshot is made of space '%s': %s".formatted(use.map().name(), obstacle.get()));
        }
        freezeMicros = TimeUnit.NANOSECONDS.toMicros(clock.getAsLong() - beganAt);
        say(SnapshotStatus.SAVING, "");
        thread.start();
        return status;
    }

    /** Waits until all pages are frozen. Returns why that cannot be. */
    private Optional<String> awaitFrozen() {
        for (frozen = pagers.status(); failure().isEmpty(); frozen = pagers.status()) {
            if (frozen.state() != State.FREEZING) {
                return Optional.empty();
            }
            if (clock.getAsLong() - beganAt > FREEZE_DEADLINE.toNanos()) {
                return Optional.of(("its pages could not be frozen within %d s: a home does not answer, or it is not"
                                + " clear what may write to them past the page table")
                        .formatted(FREEZE_DEADLINE.toSeconds()));
            }
            LockSupport.parkNanos(FREEZE_PAUSE_NANOS);
        }
        return failure();
    }

    private Optional<String> failure() {
        return frozen.state() != State.FAILED && frozen.state() != State.OFF
                ? Optional.empty()
                : Optional.of(frozen.failure().isEmpty() ? ENDED : frozen.failure());
    }

    /** Gives the snapshot up, unless it is being handed over: this agent ends. */
    void stop() {
        stopping = true;
        pagers.fail("this agent is ending");
        LockSupport.unpark(thread);
    }

    private void run() {
        try {
            Optional<String> failure = awaitHandedOver();
            if (failure.isEmpty()) {
                failure = handOver(mark());
                if (stopping) {
                    return; // with the guest's pagers, which must not write home before the outcome is known
                }
            }
            pagers.thaw();
            end(failure.isPresent() ? SnapshotStatus.FAILED : SnapshotStatus.MADE, failure.orElse(""));
        } catch (TimeoutException e) {
            pagers.thaw();
            end(SnapshotStatus.FAILED, SILENT);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Waits until the homes have all pages and nothing is written to them. Returns why that cannot be. */
    private Optional<String> awaitHandedOver() throws TimeoutException, InterruptedException {
        while (true) {
            frozen = pagers.status();
            if (failure().isPresent()) {
                return failure();
            }
            if (frozen.state().compareTo(State.SAVED) >= 0 && pagers.handOver()) {
                return Optional.empty();
            }
            say(SnapshotStatus.SAVING, "");
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    /** The mark of a map of the pages that the homes have, written behind them. Without it clones fetch zeros. */
    private Optional<String> mark() throws TimeoutException, InterruptedException {
        Optional<PresenceMap> map = pagers.presence();
        return map.isPresent() ? presence.write(use, map.get()) : Optional.empty();
    }

    /** Has the coordinator make the snapshot. Returns why it is not made. */
    private Optional<String> handOver(Optional<String> mark) {
        for (int attempt = 1; !isOver(); attempt++) {
            try {
                rebase(use.makeSnapshot(name, key, attempt, mark));
                return Optional.empty();
            } catch (CoordinatorRefusedException e) {
                if (!e.isUnavailable()) {
                    return Optional.of(String.valueOf(e.getMessage()));
                }
                retry(attempt, e);
            } catch (CoordinatorException e) {
                retry(attempt, e);
            }
        }
        return Optional.of(ENDED);
    }

    /** The guest's pages are those of the snapshot, apart from what it has written since. */
    private void rebase(Space snapshot) {
        for (int attempt = 1; !isOver(); attempt++) {
            try {
                if (use.rebase(snapshot.id())) {
                    return;
                }
                LockSupport.parkNanos(RETRY_NANOS);
            } catch (CoordinatorException e) {
                retry(attempt, e);
            }
        }
    }

    private boolean isOver() {
        return stopping || use.isRevoked();
    }

    private void retry(int attempt, CoordinatorException why) {
        String said = String.valueOf(why.getMessage());
        if (attempt == 1) {
            log.warn(
                    "space {}: its snapshot '{}' waits for the coordinator: {}; what the guest writes stays in its"
                            + " memory",
                    use.map().name(),
                    name,
                    said);
        }
        say(SnapshotStatus.SAVING, said);
        LockSupport.parkNanos(RETRY_NANOS);
    }

    private void say(String state, String detail) {
        status = new SnapshotStatus(
                name,
                state,
                (long) frozen.pages() * pageSize,
                (long) frozen.left() * pageSize,
                freezeMicros,
                TimeUnit.NANOSECONDS.toMillis(clock.getAsLong() - beganAt),
                detail);
    }

    private void end(String state, String detail) {
        say(state, detail);
        if (state.equals(SnapshotStatus.MADE)) {
            log.info(
                    "space {}: snapshot '{}' is made, of {} bytes that its homes did not have, in {} ms; the VMM was"
                            + " to be paused for {} us",
                    use.map().name(),
                    name,
                    status.frozenBytes(),
                    status.millis(),
                    freezeMicros);
        } else {
            log.warn("space {}: snapshot '{}' is not made: {}", use.map().name(), name, detail);
        }
    }
}
