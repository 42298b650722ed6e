package io.farpage.agent.data.pager.model;

import io.farpage.agent.data.pager.evict.FreezeStatus.State;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Snapshots of the guest while it runs: what each page held at the moment, and whether the homes have that and keep it.
 * In a clone's world the homes are then given to the snapshot; in others the coordinator refuses it.
 */
final class SimulatedSnapshot {
    private final World world;
    /** What each page may have held while the VMM was paused: a device may have written meanwhile. */
    private final List<Set<Long>> moment = new ArrayList<>();

    private boolean wasPaused;
    /** What the homes had when they were handed over; null if they were not. */
    private long @Nullable [][] sealed;

    private int made;
    /** Rounds of the quiescence in which the VMM was paused. */
    private int paused;

    /** After that number of rounds the snapshot is given up: a device may wait for a page that is frozen. */
    private static final int PATIENCE = 50;

    SimulatedSnapshot(World world) {
        this.world = world;
    }

    /** Snapshots whose pages were all at the homes. */
    int made() {
        return made;
    }

    private State state() {
        return world.agent.pager().frozen().state();
    }

    /** Whether a snapshot is being prepared or made, or has failed and was not ended: dirty pages stay resident. */
    boolean isOn() {
        return state() != State.OFF;
    }

    /** Whether the VMM is paused: its processors stand still, and devices go on. */
    boolean isPaused() {
        return state() == State.FREEZING;
    }

    private boolean isPrepared() {
        return state() == State.PREPARING || state() == State.PREPARED;
    }

    boolean canPrepare() {
        return world.setup.has(Feature.SNAPSHOT) && world.agent.ended() == null && (!isOn() || isPrepared());
    }

    /** The guest runs on. Whether that is possible is of no matter. */
    void prepare() {
        world.agent.pager().prepareFreeze();
    }

    boolean canBegin() {
        return canPrepare();
    }

    void begin() {
        if (world.agent.pager().freeze() == null) {
            wasPaused = true;
            moment.clear();
            for (int page = 0; page < world.setup.pages(); page++) {
                moment.add(new HashSet<>());
            }
            observe();
        }
    }

    private void observe() {
        for (int page = 0; page < moment.size(); page++) {
            moment.get(page).addAll(world.truth().of(page));
        }
    }

    boolean canHandOver() {
        return state() == State.SAVED;
    }

    /** Nothing is written to the homes any longer, if the pager says so. */
    void handOver() {
        if (!world.agent.pager().handOver()) {
            return;
        }
        sealed = new long[world.setup.pages()][];
        for (int page = 0; page < world.setup.pages(); page++) {
            sealed[page] = world.homes(page);
            for (long version : sealed[page]) {
                if (!world.isHomeLost(page) && !moment.get(page).contains(version)) {
                    throw new AssertionError("a home has version %d of page %d in a snapshot, where it was one of %s"
                            .formatted(version, page, moment.get(page)));
                }
            }
        }
        made++;
    }

    /** @param isMade whether the coordinator has made the snapshot */
    boolean canThaw(boolean isMade) {
        return isMade
                ? sealed != null && world.setup.has(Feature.CLONE) && world.fabric.isIdle() && isFetcherIdle()
                : isOn();
    }

    private boolean isFetcherIdle() {
        return world.agent.fetcher().inUse() == 0;
    }

    void thaw(boolean isMade) {
        if (isMade) {
            world.coordinator.handOver();
        }
        forget();
        world.agent.pager().thaw();
    }

    /** The agent was killed, and the coordinator refuses what it may ask for. */
    void forget() {
        wasPaused = false;
        moment.clear();
        sealed = null;
    }

    /** After each step. */
    void check() {
        if (wasPaused) {
            observe();
            wasPaused = isPaused();
        }
        for (int page = 0; sealed != null && page < sealed.length; page++) {
            if (!world.isHomeLost(page) && !isAmong(world.homes(page), sealed[page])) {
                throw new AssertionError("page %d was written home after the homes were handed over".formatted(page));
            }
        }
    }

    /** A home may have been dropped since. */
    private static boolean isAmong(long[] now, long[] before) {
        return Arrays.stream(now).allMatch(version -> Arrays.stream(before).anyMatch(was -> was == version));
    }

    /** Ends a snapshot as soon as that is possible. */
    void quiesce() {
        paused = isPaused() ? paused + 1 : 0;
        if (canHandOver()) {
            handOver();
        }
        if (paused > PATIENCE) {
            thaw(false);
        } else if (canThaw(true)) {
            thaw(true);
        } else if (state() == State.FAILED || isPrepared() || (sealed != null && !world.setup.has(Feature.CLONE))) {
            thaw(false);
        }
    }
}
