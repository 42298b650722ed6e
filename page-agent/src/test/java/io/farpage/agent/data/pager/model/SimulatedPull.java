package io.farpage.agent.data.pager.model;

import io.farpage.agent.data.pager.home.SpaceMap;

/**
 * The copy that a home makes itself while it joins: page after page from any of the other homes, as soon as the agent
 * notes what it writes.
 */
final class SimulatedPull {
    private final int pages;
    private SpaceMap.Pull state;
    private boolean isNoted;
    private int next;

    private SimulatedPull(SpaceMap.Pull state, int pages) {
        this.state = state;
        this.pages = pages;
    }

    /** The pull of a home that does not join. */
    static SimulatedPull none() {
        return new SimulatedPull(SpaceMap.Pull.NONE, 0);
    }

    static SimulatedPull awaited(int pages) {
        return new SimulatedPull(SpaceMap.Pull.AWAITED, pages);
    }

    SpaceMap.Pull state() {
        return state;
    }

    /** The agent has said that it notes what it writes, in the epoch of now. */
    void noted(boolean isNotedNow) {
        isNoted = isNotedNow;
    }

    /** Whether the coordinator can let the home begin. */
    boolean canBegin() {
        return isNoted && state == SpaceMap.Pull.AWAITED;
    }

    void begin() {
        state = SpaceMap.Pull.RUNNING;
    }

    boolean canCopy() {
        return state == SpaceMap.Pull.RUNNING && next < pages;
    }

    /** Copies the next page. */
    void copy(SimulatedNetwork from, SimulatedNetwork to) {
        to.home(next, from.home(next));
        next++;
    }

    /** Whether the home can say that it has copied all pages. */
    boolean canEnd() {
        return state == SpaceMap.Pull.RUNNING && next == pages;
    }

    void end() {
        state = SpaceMap.Pull.DONE;
    }

    String shape() {
        return state == SpaceMap.Pull.NONE ? "" : state + (isNoted ? "noted" : "") + next;
    }
}
