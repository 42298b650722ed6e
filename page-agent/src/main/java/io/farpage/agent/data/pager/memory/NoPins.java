package io.farpage.agent.data.pager.memory;

/** Pins of memory that is never pinned: every inspection has passed. */
public class NoPins implements Pins {
    @Override
    public long inspect() {
        return 0;
    }

    @Override
    public boolean passed(long inspection) {
        return true;
    }

    @Override
    public boolean isHeld() {
        return false;
    }

    @Override
    public boolean isLasting() {
        return false;
    }

    @Override
    public boolean mayStall() {
        return false;
    }

    @Override
    public boolean isStalled() {
        return false;
    }
}
