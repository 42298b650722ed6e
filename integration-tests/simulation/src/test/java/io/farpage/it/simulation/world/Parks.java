package io.farpage.it.simulation.world;

import io.farpage.it.simulation.engine.Engine;
import io.farpage.it.simulation.guest.Guest;
import io.farpage.it.simulation.guest.Guest.Activity;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Guests are parked and unparked, one at a time: those that go on, and those that rest. Some that rest are woken by
 * their own faults, and some are parked by their agents.
 */
final class Parks {
    private static final long SECOND = 1_000_000_000L;
    private static final int SECONDS = 20;
    /** As {@link #SECONDS}, of large pages: one stays a minute after the guest has given up a part of it. */
    private static final int SECONDS_OF_LARGE = 80;

    /** Within how long the memory of a parked guest leaves while nothing fails. */
    private static final long AWAY_NANOS = 5 * SECOND;

    /** Within how long a guest that rushes is woken: the agent looks five times a second. */
    private static final long WOKEN_NANOS = 3 * SECOND;

    /** Within how long a guest that rests is parked: the agent looks each five seconds, twice at least. */
    private static final long IDLE_NANOS = 12 * SECOND;

    /** How long a request without an answer may still be executed: the agent may stand still meanwhile. */
    private static final long LATE_NANOS = 20 * SECOND;

    private final Scenario scenario;
    private final Engine engine;
    private final Cluster cluster;
    private final Faults faults;
    /** Until when a request may be executed that has had no answer, by space. */
    private final Map<String, Long> unansweredUntil = new HashMap<>();

    private boolean isStopping;
    private boolean runs;

    Parks(Scenario scenario, Engine engine, Cluster cluster, Faults faults) {
        this.scenario = scenario;
        this.engine = engine;
        this.cluster = cluster;
        this.faults = faults;
    }

    void begin() {
        if (scenario.variant().has(Variant.PARK)) {
            runs = true;
            engine.running().start("parks", this::run);
        }
    }

    void end() {
        isStopping = true;
        while (runs) {
            engine.pause(SECOND / 20);
        }
    }

    private void run() {
        while (!isStopping) {
            engine.pause(engine.between(0, 2 * SECOND));
            List<Guest> served = scenario.served().stream()
                    .filter(Guest::isRunning)
                    .filter(guest -> unansweredUntil.getOrDefault(guest.space(), 0L) < engine.now())
                    .toList();
            if (!served.isEmpty()) {
                Guest guest = served.get(engine.random().nextInt(served.size()));
                ParkedGuest parked = parked(guest);
                play(parked, guest);
                guest.be(Activity.USUAL);
                if (parked.hasUnanswered()) {
                    unansweredUntil.put(guest.space(), engine.now() + LATE_NANOS);
                }
            }
        }
        runs = false;
    }

    private ParkedGuest parked(Guest guest) {
        return new ParkedGuest(scenario, engine, faults, guest);
    }

    private void play(ParkedGuest parked, Guest guest) {
        int kind = engine.random().nextInt(8);
        boolean stays = engine.oneIn(2);
        int more = engine.oneIn(2) ? 0 : engine.random().nextInt(48);
        if (kind < 3) {
            parkBusy(parked, guest, more, stays);
        } else if (parked.rest()) {
            boolean isIdle = kind == 3 && cluster.parksIdleGuests(cluster.host(guest.host()));
            int deadline = engine.oneIn(2) ? 0 : engine.random().nextInt(2000);
            if (isIdle ? parked.awaitParked(IDLE_NANOS) : parked.park(parked.least() + more, deadline)) {
                watch(parked, guest, true);
                end(parked, guest, stays);
            }
        }
    }

    /** Watches a guest that rests; with a keeper its agent may be killed meanwhile. */
    private void watch(ParkedGuest parked, Guest guest, boolean isParked) {
        long nanos = engine.between(0, 8 * SECOND);
        if (scenario.variant().has(Variant.KEEPER) && engine.oneIn(2) && !faults.areEnding()) {
            engine.pause(engine.between(0, SECOND));
            faults.restartAgent(cluster.host(guest.host()), engine.between(0, 3 * SECOND));
            nanos += 5 * SECOND;
        }
        parked.watch(isParked, nanos, guest.shape().isLarge() ? SECONDS_OF_LARGE * SECOND : AWAY_NANOS);
    }

    /** A guest that goes on is parked, which slows it down, unless it faults so often that it wakes. */
    private void parkBusy(ParkedGuest parked, Guest guest, int more, boolean stays) {
        if (parked.park(
                parked.least() + more, engine.oneIn(2) ? 0 : engine.random().nextInt(2000))) {
            engine.pause(engine.between(0, 3 * SECOND));
            end(parked, guest, stays);
        }
    }

    private void end(ParkedGuest parked, Guest guest, boolean stays) {
        if (parked.isOver()) {
            return;
        }
        int limit = 64 * guest.shape().slices()
                + engine.random().nextInt(guest.shape().pages());
        switch (engine.random().nextInt(3)) {
            case 0 -> {
                boolean isUnparked = parked.unpark(stays ? 0 : limit);
                if (isUnparked && guest.isResting() && !cluster.parksIdleGuests(cluster.host(guest.host()))) {
                    watch(parked, guest, false);
                }
            }
            case 1 -> parked.wake(WOKEN_NANOS);
            default -> {
                if (!stays) {
                    parked.unpark(0);
                }
            }
        }
    }

    /** Nothing fails from now on: the memory of guests leaves, and comes back, and what faults often is woken. */
    void settle(List<Guest> guests) {
        if (!scenario.variant().has(Variant.PARK)) {
            return;
        }
        for (Guest guest : guests) {
            ParkedGuest parked = parked(guest);
            scenario.await("the threads of %s rest".formatted(guest.space()), SECONDS, parked::rest);
            int before = guest.filled();
            scenario.await(
                    "guest %s is parked".formatted(guest.space()), SECONDS, () -> parked.park(parked.least(), 0));
            parked.awaitAway(guest.shape().isLarge() ? SECONDS_OF_LARGE : SECONDS);
            int left = guest.filled();
            if (engine.oneIn(2)) {
                parked.wake(WOKEN_NANOS);
            } else {
                scenario.await("guest %s is unparked".formatted(guest.space()), SECONDS, () -> parked.unpark(0));
                scenario.await(
                        "half of the memory of %s is back".formatted(guest.space()),
                        SECONDS,
                        () -> guest.filled() >= (before + left) / 2 || parked.isParked());
            }
            guest.be(Activity.USUAL);
        }
    }
}
