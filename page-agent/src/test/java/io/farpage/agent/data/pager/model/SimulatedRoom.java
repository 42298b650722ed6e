package io.farpage.agent.data.pager.model;

import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.pager.page.PresenceMap;

/** Which pages of a thin space have room at their homes, and for which the agent has asked. */
final class SimulatedRoom {
    private final Setup setup;
    private final boolean[] allocated;
    private final boolean[] wanted;
    private final long[] epochs;
    private boolean roomless;

    SimulatedRoom(Setup setup) {
        this.setup = setup;
        allocated = new boolean[setup.remotePages()];
        wanted = new boolean[setup.remotePages()];
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

    void allocate(int page) {
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

    /** The guest has ended: pages of zeros give their room back, which is zeroed. */
    void deallocate(PresenceMap presence, Fabric fabric) {
        for (int page = 0; page < allocated.length; page++) {
            wanted[page] = false;
            if (allocated[page] && presence.get(page) == PresenceMap.ZERO) {
                allocated[page] = false;
                epochs[page]++;
                fabric.content(page, 0);
            }
        }
        roomless = false;
    }

    /** For {@link Fingerprint}. */
    String shape() {
        StringBuilder shape = new StringBuilder(roomless ? "full" : "");
        for (int page = 0; page < allocated.length; page++) {
            shape.append(allocated[page] ? 'A' : wanted[page] ? 'w' : '-');
        }
        return shape.toString();
    }
}
