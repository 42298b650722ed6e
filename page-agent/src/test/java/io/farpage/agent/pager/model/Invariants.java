package io.farpage.agent.pager.model;

import io.farpage.agent.pager.PagerEnd;
import io.farpage.agent.pager.WorkingSet;
import io.farpage.pool.frames.FrameAllocator;

/** What holds at every moment, and what at the end. */
final class Invariants {
    private final World world;
    private int highestLimit;
    private long steps;
    private WorkingSet workingSet = WorkingSet.EMPTY;

    Invariants(World world) {
        this.world = world;
    }

    /** The limit has changed. Pages that were let in before are taken out some time, so the highest counts. */
    void limit(int limit) {
        highestLimit = Math.max(highestLimit, limit);
    }

    /** How often everything was checked. */
    long steps() {
        return steps;
    }

    /** What was here when the latest guest ended. */
    WorkingSet workingSet() {
        return workingSet;
    }

    /**
     * A page is in at least one place that outlives the agent, and if it is in the memory file it is there in its newest version. Of a page that
     * was given up the agent alone knows that it is zeros, until they are at the home.
     */
    void check() {
        steps++;
        int resident = 0;
        for (int page = 0; page < world.setup.pages(); page++) {
            boolean here = world.kernel().isCached(page);
            if (here && !world.truth.isBeingRemoved(page) && !world.isHomeLost(page)) {
                resident++;
            }
            if (world.isOnlyCopy(page) && !here && !world.truth.isGivenUp(page)) {
                throw new AssertionError("page " + page + " was evicted although its home is lost");
            }
            if (world.isHomeLost(page) && !here) {
                continue;
            }
            if (!world.truth.allows(page, world.survivor(page)) && (here || !world.truth.isGivenUp(page))) {
                throw new AssertionError("page " + page + " would be read as version " + world.survivor(page)
                        + ", which is not of " + world.truth.of(page) + ", if the agent were killed now");
            }
        }
        // While a child shares the memory nothing is evicted.
        if (resident > highestLimit && !world.guest.hasForked()) {
            throw new AssertionError(resident + " pages are resident, above the limit of " + highestLimit);
        }
    }

    /** The guest has ended: its memory is at its homes, and nothing is left over. */
    void checkEnd() {
        PagerEnd end = world.ended;
        if (end == null) {
            throw new AssertionError("the pager has not ended");
        }
        if (end.saved() == world.isHomeLost()) {
            throw new AssertionError(
                    end.saved()
                            ? "the guest's memory counts as saved although its home is lost"
                            : "the guest's memory was not saved although its home lives");
        }
        for (int page = 0; page < world.setup.pages(); page++) {
            if (!world.isHomeLost(page)) {
                world.truth.found(page, world.home(page));
            }
        }
        FrameAllocator staging = world.pool.stagingFrames();
        if (staging.available() != world.setup.frames()) {
            throw new AssertionError(
                    "staging frames were lost: " + staging.available() + " of " + world.setup.frames() + " are free");
        }
        workingSet = end.workingSet();
    }
}
