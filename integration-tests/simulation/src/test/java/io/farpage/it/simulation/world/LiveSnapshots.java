package io.farpage.it.simulation.world;

import io.farpage.it.simulation.engine.Engine;
import io.farpage.it.simulation.guest.Guest;
import io.farpage.it.simulation.guest.Guest.Activity;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Snapshots of the guests of one {@link Churn}, made while they run. A clone of some begins with what its guest had
 * stored at the moment, whatever fails meanwhile.
 */
final class LiveSnapshots {
    private static final long SECOND = 1_000_000_000L;
    private static final long POLL_NANOS = SECOND / 50;
    private static final long PAUSED_NANOS = 3 * SECOND;
    /** With the snapshots that are made of what guests leave, fewer than there may be layers. */
    private static final int MOST = 2;

    private final Scenario scenario;
    private final Consumer<String> delete;
    private final Engine engine = Engine.get();
    /** Those that there may be, by the space of the guest; the uppermost first. */
    private final Map<String, Deque<String>> made = new HashMap<>();

    /** @param delete deletes a space that no guest uses */
    LiveSnapshots(Scenario scenario, Consumer<String> delete) {
        this.scenario = scenario;
        this.delete = delete;
    }

    /** Makes a snapshot of a guest, or tries to, and has a guest of a clone run. */
    void make(Guest guest) throws Exception {
        Deque<String> names = made.computeIfAbsent(guest.space(), _ -> new ArrayDeque<>());
        if (engine.oneIn(2)) {
            prepare(guest);
        }
        if (names.size() == MOST || !pause(guest)) {
            guest.be(Activity.USUAL);
            return;
        }
        String name = "%s-s%d".formatted(guest.space(), names.size() + 1);
        Guest moment = guest.cloned(name + "c");
        String host = guest.host();
        String answer = scenario.operator().post(host, guest.space(), "snapshot", "\"name\":\"" + name + "\"");
        guest.be(Activity.USUAL);
        boolean isFrozen = answer.startsWith("200");
        engine.trail().count(isFrozen ? "guest frozen" : "guest not frozen");
        engine.trail().note(engine.elapsed(), "snapshot %s: %s".formatted(name, answer));
        // One without an answer may be made later, of a guest that runs.
        names.push(name);
        if (isFrozen && isMade(guest, host, name)) {
            engine.trail().count("live snapshot made");
            if (engine.oneIn(2)) {
                live(moment, name);
            }
        }
    }

    /** The guest runs on. A snapshot follows, or none. */
    private void prepare(Guest guest) {
        String answer = scenario.operator()
                .post(guest.host(), guest.space(), "snapshot/preparation", "\"name\":\"" + guest.space() + "-p\"");
        engine.trail().count(answer.startsWith("200") ? "snapshot prepared" : "snapshot not prepared");
    }

    /** The threads stand still, and so does the guest. */
    private boolean pause(Guest guest) {
        guest.be(Activity.REST);
        for (long end = engine.now() + PAUSED_NANOS; engine.now() < end && !guest.isResting(); ) {
            engine.pause(POLL_NANOS);
        }
        return guest.isResting();
    }

    /** Waits until the agent, or its successor, and the coordinator say whether there is a snapshot. */
    private boolean isMade(Guest guest, String host, String name) {
        scenario.awaitUnderFaults("the snapshot of " + guest.space() + " has ended", 60, () -> {
            String said = scenario.operator().snapshot(host, guest.space());
            return said.startsWith("404") || said.contains("\"state\":\"made\"") || said.contains("\"failed\"");
        });
        boolean[] exists = new boolean[1];
        scenario.awaitUnderFaults("the coordinator says whether there is snapshot " + name, 60, () -> {
            Optional<Boolean> known = scenario.operator().exists(name);
            exists[0] = known.orElse(false);
            return known.isPresent();
        });
        return exists[0];
    }

    private void live(Guest clone, String snapshot) throws Exception {
        scenario.awaitUnderFaults(
                "a clone of " + snapshot + " is made",
                60,
                () -> scenario.operator().makeClone(snapshot, clone.space()));
        scenario.enter(clone, scenario.anyHost());
        clone.run();
        engine.pause(engine.between(SECOND / 10, 3 * SECOND));
        scenario.stop(clone);
        scenario.compare(clone);
        scenario.leave(clone, clone.host());
        scenario.gone(clone);
        delete.accept(clone.space());
    }

    /** The space of a guest was deleted: its snapshots are, too. */
    void deleteOf(String space) {
        Deque<String> names = made.remove(space);
        while (names != null && !names.isEmpty()) {
            delete.accept(names.pop());
        }
    }
}
