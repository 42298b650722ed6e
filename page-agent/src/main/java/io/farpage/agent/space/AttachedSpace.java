package io.farpage.agent.space;

/** A space that this agent is attached to, and how many use it at the moment. Thread-safe. */
final class AttachedSpace {
    private volatile SpaceMap map;
    private int users;
    private boolean alone;
    private boolean leaving;
    private boolean stale;

    AttachedSpace(SpaceMap map) {
        this.map = map;
    }

    String name() {
        return map.name();
    }

    SpaceMap map() {
        return map;
    }

    void map(SpaceMap now) {
        map = now;
    }

    /** Begins a use, unless the space is to be let go or somebody uses it alone. */
    synchronized boolean enter() {
        if (leaving || alone) {
            return false;
        }
        users++;
        return true;
    }

    /** Begins a use during which nobody else begins one; false if that is not to be had. */
    synchronized boolean enterAlone() {
        if (leaving || users > 0) {
            return false;
        }
        users = 1;
        alone = true;
        return true;
    }

    synchronized boolean isAlone() {
        return alone;
    }

    synchronized void exit() {
        users--;
        alone = false;
    }

    /** From now on nobody begins a use. */
    synchronized void leave() {
        leaving = true;
    }

    /** Whether it is to be let go and the last use has ended. */
    synchronized boolean isUnused() {
        return leaving && users == 0;
    }

    synchronized void stale() {
        stale = true;
    }

    synchronized boolean takeStale() {
        boolean was = stale;
        stale = false;
        return was;
    }
}
