package io.farpage.agent.data.pager.model;

import io.farpage.agent.data.pager.Pager;
import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.pager.page.PresenceMap;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;

/** Which pages of a thin space or a clone have room at their homes, and for which the agent has asked. */
final class SimulatedRoom {
    private final Setup setup;
    private final boolean[] allocated;
    private final boolean[] wanted;
    /** The agent does not write to the homes of these, so their room may be given back. */
    private final boolean[] withdrawn;

    private final long[] epochs;
    private boolean roomless;

    SimulatedRoom(Setup setup) {
        this.setup = setup;
        allocated = new boolean[setup.remotePages()];
        wanted = new boolean[setup.remotePages()];
        withdrawn = new boolean[setup.remotePages()];
        epochs = new long[setup.remotePages()];
    }

    SpaceMap map(long revision) {
        return ModelPool.thin(setup, page -> allocated[page], page -> epochs[page], revision);
    }

    /** Whether a page has room at its home; one of this node always has. */
    boolean isAllocated(int page) {
        return page >= setup.remotePages() || allocated[page];
    }

    boolean isAnyUnallocated() {
        for (boolean is : allocated) {
            if (!is) {
                return true;
            }
        }
        return false;
    }

    /** The agent asks for room. */
    void want(long page, long epoch) {
        if (epochs[(int) page] == epoch) {
            wanted[(int) page] = true;
        }
    }

    /** Whether the coordinator may give a page room now. */
    boolean canAllocate(int page) {
        return page < setup.remotePages() && wanted[page] && !allocated[page];
    }

    void allocate(int page, Fabric fabric) {
        if (setup.has(Feature.CLONE)) {
            fabric.fill(page);
        }
        allocated[page] = true;
        wanted[page] = false;
        roomless = false;
        epochs[page]++;
    }

    /** Whether the coordinator may find no room: the agent has asked for some. */
    boolean canRefuse() {
        for (int page = 0; page < allocated.length; page++) {
            if (canAllocate(page)) {
                return true;
            }
        }
        return false;
    }

    /** There is no room, until some is given. */
    void refuse() {
        roomless = true;
    }

    boolean isRoomless() {
        return roomless;
    }

    /** Whether the agent may be asked to write no more to the home of a page. */
    boolean canWithdraw(int page) {
        return setup.has(Feature.THIN) && page < setup.remotePages() && allocated[page] && !withdrawn[page];
    }

    /** Asks the agent to write no more to the home of a page, which it does if the page is zeros. */
    void withdraw(int page, Pager pager) {
        withdrawn[page] = !pager.withdraw(Map.of((long) page, epochs[page])).contains((long) page);
    }

    boolean isWithdrawn(int page) {
        return page < setup.remotePages() && withdrawn[page];
    }

    /** The coordinator gives the room of a page back, which is zeroed. */
    void giveBack(int page, Fabric fabric) {
        withdrawn[page] = false;
        allocated[page] = false;
        wanted[page] = false;
        epochs[page]++;
        fabric.revoke(page);
    }

    /** The room of all pages is a snapshot's from now on. */
    void handOver(Fabric fabric) {
        for (int page = 0; page < allocated.length; page++) {
            wanted[page] = false;
            if (allocated[page]) {
                fabric.snapshot(page, fabric.contents(page)[0]);
                allocated[page] = false;
                epochs[page]++;
                fabric.revoke(page);
            }
        }
    }

    /** The coordinator has refused to give the room of a page back. */
    void reinstate(int page, Pager pager) {
        withdrawn[page] = false;
        pager.reinstate(Set.of((long) page));
    }

    /** The agent was killed: the coordinator refuses what it has asked for. */
    void forget() {
        Arrays.fill(wanted, false);
        Arrays.fill(withdrawn, false);
        roomless = false;
    }

    /** The guest has ended: pages of zeros give their room back, which is zeroed. */
    void deallocate(PresenceMap presence, Fabric fabric) {
        for (int page = 0; page < allocated.length; page++) {
            wanted[page] = false;
            withdrawn[page] = false;
            if (allocated[page] && presence.get(page) == PresenceMap.ZERO) {
                allocated[page] = false;
                epochs[page]++;
                fabric.revoke(page);
            }
        }
        roomless = false;
    }

    /** For {@link Fingerprint}. */
    String shape() {
        StringBuilder shape = new StringBuilder(roomless ? "full" : "");
        for (int page = 0; page < allocated.length; page++) {
            shape.append(withdrawn[page] ? 'W' : allocated[page] ? 'A' : wanted[page] ? 'w' : '-');
        }
        return shape.toString();
    }
}
