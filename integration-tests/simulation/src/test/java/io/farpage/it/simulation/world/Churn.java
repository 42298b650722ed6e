package io.farpage.it.simulation.world;

import io.farpage.it.simulation.engine.Engine;
import io.farpage.it.simulation.guest.Guest;
import io.farpage.it.simulation.guest.MemoryShape;

/**
 * Guests that come and go on one host: each in a space of its own, which is deleted afterwards, so that frames pass
 * from one space to the next.
 */
final class Churn {
    private static final long SECOND = 1_000_000_000L;
    private static final int MOST_CLONES = 3;

    private final Scenario scenario;
    private final Engine engine = Engine.get();
    private final String name;
    private final LiveSnapshots snapshots;
    private boolean stopping;
    private boolean ended;

    Churn(Scenario scenario, String name) {
        this.scenario = scenario;
        this.name = name;
        snapshots = new LiveSnapshots(scenario, space -> {
            scenario.verdicts().deleting();
            delete(space);
        });
    }

    void stop() {
        stopping = true;
    }

    boolean hasEnded() {
        return ended;
    }

    void run() {
        try {
            for (int i = 1; !stopping; i++) {
                live("%s%d".formatted(name, i));
            }
            ended = true;
        } catch (Exception e) {
            e.printStackTrace();
            engine.fail("a guest that comes and goes: " + e);
        }
    }

    private void live(String space) throws Exception {
        MemoryShape shape = scenario.variant().has(Variant.LARGE) && engine.oneIn(2)
                ? scenario.large(1)
                : MemoryShape.small(
                        192 + 32 * engine.random().nextInt(6),
                        1 + engine.random().nextInt(2));
        Guest guest = new Guest(space, shape, 2, scenario.variant().pace());
        scenario.attach(guest, scenario.anyHost(), scenario.fields(guest, engine.oneIn(4) ? 3 : 2));
        spend(guest, MOST_CLONES);
    }

    /**
     * A guest that has its memory runs for a while, and its space is deleted.
     *
     * @param clones how many may follow, one of the other
     */
    private void spend(Guest guest, int clones) throws Exception {
        run(guest);
        while (engine.oneIn(2) && !stopping) {
            if (engine.oneIn(2)) {
                leaveFor(guest);
            } else {
                scenario.move(guest, scenario.anyHost());
            }
            run(guest);
        }
        if (clones > 0 && !stopping && scenario.mayBeCloned(guest) && engine.oneIn(2)) {
            scenario.leave(guest, guest.host());
            Guest clone = scenario.cloned(guest);
            scenario.gone(guest);
            scenario.enter(clone, scenario.anyHost());
            spend(clone, clones - 1);
            scenario.verdicts().deleting();
            delete(guest.space());
            snapshots.deleteOf(guest.space());
            return;
        }
        if (scenario.variant().hasDeletions() && engine.oneIn(2)) {
            guest.run();
            engine.pause(engine.between(0, 3 * SECOND));
            scenario.verdicts().deleting();
            scenario.deleteUnder(guest);
        } else {
            scenario.leave(guest, guest.host());
            scenario.verdicts().deleting();
        }
        scenario.gone(guest);
        delete(guest.space());
        snapshots.deleteOf(guest.space());
    }

    private void delete(String space) {
        scenario.delete(space);
    }

    private void run(Guest guest) throws Exception {
        guest.run();
        engine.pause(engine.between(SECOND / 10, 6 * SECOND));
        if (scenario.mayBeFrozen(guest) && engine.oneIn(2)) {
            snapshots.make(guest);
            engine.pause(engine.between(0, 2 * SECOND));
        }
        if (scenario.variant().hasTakeovers() && scenario.takeOver(guest)) {
            guest.run();
            engine.pause(engine.between(0, 3 * SECOND));
        }
        scenario.stop(guest);
        scenario.compare(guest);
    }

    /** No agent has the space for a while. */
    private void leaveFor(Guest guest) throws Exception {
        String to = scenario.anyHost();
        scenario.leave(guest, to);
        engine.pause(engine.between(0, 3 * SECOND));
        scenario.enter(guest, to);
    }
}
