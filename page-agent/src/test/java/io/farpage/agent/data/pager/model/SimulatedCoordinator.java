package io.farpage.agent.data.pager.model;

import io.farpage.agent.data.pager.home.Mirroring;
import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.pager.page.PresenceMap;
import java.util.concurrent.TimeUnit;

/**
 * The coordinator, and the control plane of the agent that talks to it: decides on which homes the pages live. Each
 * decision makes another map, which the pager finds in its next duty cycle.
 */
final class SimulatedCoordinator {
    private static final long DROP_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final Setup setup;
    private final Fabric fabric;
    private final SimulatedRoom room;
    private SpaceMap map;

    SimulatedCoordinator(Setup setup, Fabric fabric) {
        this.setup = setup;
        this.fabric = fabric;
        room = new SimulatedRoom(setup);
        map = setup.isThin()
                ? room.map(0)
                : setup.isMirrored()
                        ? ModelPool.mirrored(setup, fabric.members(), fabric.joining(), SpaceMap.Pull.NONE, false, 0)
                        : ModelPool.map(setup, SimulatedHome.name(0), SimulatedHome.name(1));
    }

    /** The latest map. */
    SpaceMap map() {
        return map;
    }

    /** Which pages of a thin space have room. */
    SimulatedRoom room() {
        return room;
    }

    /** Whether a page has room at its home. */
    boolean isAllocated(int page) {
        return !setup.isThin() || room.isAllocated(page);
    }

    void allocate(int page) {
        room.allocate(page, fabric);
        map = room.map(map.revision() + 1);
    }

    void giveBack(int page) {
        room.giveBack(page, fabric);
        map = room.map(map.revision() + 1);
    }

    /** The homes of a clone are those of a snapshot from now on. */
    void handOver() {
        room.handOver(fabric);
        map = room.map(map.revision() + 1);
    }

    /** What the pager asks the control plane for. */
    Mirroring mirroring() {
        return mirroring;
    }

    private final Mirroring mirroring = new Mirroring() {
        @Override
        public long dropNanos() {
            return DROP_NANOS;
        }

        @Override
        public void suspect(String node, long incarnation, boolean silent) {
            fabric.homes().stream()
                    .filter(home -> home.link().peer().equals(node))
                    .forEach(SimulatedHome::suspect);
        }

        @Override
        public long repairBytesPerSecond() {
            // Several homes may fail during a copy, so half the worlds copy a page in milliseconds.
            return setup.slots() % 2 == 0 ? 1L << 40 : setup.pageBytes() * 200L;
        }

        @Override
        public void needsRoom(long firstPage, long epoch) {
            room.want(firstPage, epoch);
        }

        @Override
        public boolean hasNoRoom() {
            return room.isRoomless();
        }

        @Override
        public void mayPull(long firstPage, long epoch) {
            if (epoch == map.revision()) {
                fabric.noted(true);
            }
        }

        @Override
        public void copied(long firstPage, long epoch) {
            if (epoch == map.revision()) {
                fabric.copied(true);
            }
        }

        @Override
        public void joiningFailed(String node, long incarnation) {
            fabric.homes().stream()
                    .filter(home -> home.link().peer().equals(node) && home.isJoining())
                    .forEach(SimulatedHome::suspect);
        }

        @Override
        public void settled(long revision) {
            if (revision == map.revision()) {
                fabric.homes().stream().filter(SimulatedHome::isDropped).forEach(SimulatedHome::reuse);
            }
        }
    };

    /** The attachment ends under the guest. */
    void revoke() {
        map = map.lost();
    }

    /**
     * A home was started anew with empty memory: it is no longer a home, or, if it was the last, its pages are lost.
     */
    void lose(int home) {
        fabric.lose(home);
        if (setup.isMirrored()) {
            homesChanged();
        } else {
            map = ModelPool.map(
                    setup,
                    SimulatedHome.name(0),
                    SimulatedHome.name(1),
                    name -> fabric.isAny(
                            each -> each.isLost() && each.link().peer().equals(name)),
                    map.revision() + 1);
        }
    }

    void drop(int home) {
        fabric.home(home).drop();
        homesChanged();
    }

    void join(int home) {
        fabric.home(home).join();
        homesChanged();
    }

    void beginPull(int home) {
        fabric.home(home).pull().begin();
        homesChanged();
    }

    void endPull(int home) {
        fabric.home(home).pull().end();
        homesChanged();
    }

    /**
     * Promotes a home that joins.
     *
     * @param replaced the home that is dropped in the same epoch, counted from 1; 0 for none
     */
    void promote(int home, int replaced) {
        fabric.home(home).promote();
        if (replaced > 0) {
            fabric.home(replaced - 1).drop();
        }
        homesChanged();
    }

    /** The guest of a thin space has ended. */
    void deallocate(PresenceMap presence) {
        room.deallocate(presence, fabric);
        map = room.map(map.revision() + 1);
    }

    /** The agent has detached, and attaches again. */
    void reattach() {
        fabric.homes().stream()
                .filter(home -> home.isDropped() || home.isJoining())
                .forEach(SimulatedHome::reuse);
        homesChanged();
    }

    /**
     * Passes the attachment on when the homes have cut the killed process off. Before, it may have carried out a
     * promotion that the process has asked for, and dropped a home whose lease has run out. No further home joins, and
     * frames of dropped homes are reused.
     */
    void passOn(Step kill) {
        if (!setup.isMirrored()) {
            return;
        }
        for (int home = 0; home < setup.homes(); home++) {
            if (kill.first() == 1 && fabric.canPromote(home)) {
                promote(home, 0);
            }
            if (kill.second() == home + 1 && fabric.canDropForHeir(home)) {
                drop(home);
            }
        }
        fabric.cutOff();
        homesChanged();
    }

    private void homesChanged() {
        fabric.copied(false);
        fabric.noted(false);
        map = ModelPool.mirrored(
                setup, fabric.members(), fabric.joining(), fabric.pulled(), fabric.isAnyPageLost(), map.revision() + 1);
    }
}
