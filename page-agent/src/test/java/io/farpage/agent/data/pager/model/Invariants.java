package io.farpage.agent.data.pager.model;

import io.farpage.agent.data.pager.PagerEnd;
import io.farpage.agent.data.pager.WorkingSet;

/** What holds at every moment, and what at the end. */
final class Invariants {
    private static final long NOT_OVER = Long.MIN_VALUE;
    /** Longer than the pager pauses after a search that found no victim, and the turn that ends the pause. */
    private static final long PATIENCE_NANOS = 2 * World.LONG_NANOS;

    private final World world;
    private int highestLimit;
    /** Pages that may be resident because they came while pins were held or a home was silent; it falls as they go, since none take their place. */
    private long letIn;

    private boolean heldInTurn;
    /** Whether, in this turn, a home did not answer, so that pages of others may come beyond the limit. */
    private boolean besideSilentHome;

    /** Since when more clean pages have been resident, at the end of every turn, than may be; {@link #NOT_OVER} if they are not. */
    private long overSince = NOT_OVER;

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
        for (int page = 0; page < world.setup.pages(); page++) {
            if (world.isOnlyCopy(page)
                    && !world.kernel().isCached(page)
                    && !world.truth().isGivenUp(page)) {
                throw new AssertionError("page " + page + " was evicted although its home is lost");
            }
        }
        world.guest.eachMemory(this::check);
        if (!world.isPrivate()) {
            checkLimit();
        }
    }

    private void check(SimulatedKernel kernel, Truth truth) {
        for (int page = 0; page < world.setup.pages(); page++) {
            boolean here = kernel.isCached(page);
            if (world.isHomeLost(page) && !here) {
                continue;
            }
            long survivor = here ? kernel.content(page) : world.home(page);
            if (!truth.allows(page, survivor) && (here || !truth.isGivenUp(page))) {
                throw new AssertionError("page " + page + " would be read as version " + survivor + ", which is not of "
                        + truth.of(page) + ", if the agent were killed now");
            }
        }
    }

    /** A page is about to be at its home alone, which must be one that the agent can ask for it, unless the VMM is giving the page up. */
    void dropped(int page) {
        if (!world.truth().isBeingRemoved(page) && world.fabric.isAtHomeThat(page, home -> !home.isUp())) {
            throw new AssertionError("page " + page + " is evicted as clean although the link to its home is down");
        }
    }

    private void checkLimit() {
        // While a child shares the memory nothing is evicted.
        heldInTurn |= world.pins.takeHeld();
        besideSilentHome |= world.isHomeSilentBesideOthers();
        int resident = resident();
        long most = Math.max(highestLimit, letIn);
        if (resident > most && !heldInTurn && !besideSilentHome && !world.guest.hasForked()) {
            throw new AssertionError(
                    resident + " pages are resident, above " + most + "; the limit is " + highestLimit);
        }
    }

    /** Pages that count towards the limit. */
    private int resident() {
        int resident = 0;
        for (int page = 0; page < world.setup.pages(); page++) {
            boolean here = world.kernel().isCached(page);
            resident += here && !world.truth().isBeingRemoved(page) && !world.isHomeLost(page) ? 1 : 0;
        }
        return resident;
    }

    /**
     * A turn of the agent has ended. While pins are held, pages come whatever the limit is, and those that were not stored to are taken out
     * again, until the limit holds or only pages that were stored to are resident, unless pins may last. When pins are held no more, no page comes until all are
     * within the limit.
     */
    void turned(long now) {
        if (world.isPrivate()) {
            return;
        }
        heldInTurn |= world.pins.takeHeld();
        long held = world.pager.held();
        letIn = heldInTurn || besideSilentHome ? held : Math.min(letIn, held);
        besideSilentHome = world.isHomeSilentBesideOthers();
        if (isOver(heldInTurn)) {
            overSince = overSince == NOT_OVER ? now : overSince;
        } else {
            overSince = NOT_OVER;
        }
        heldInTurn = false;
        if (overSince != NOT_OVER && now - overSince > PATIENCE_NANOS) {
            throw new AssertionError(resident() + " pages are resident while pins are held, above the limit of "
                    + highestLimit + ", and " + untouched() + " of them were not stored to");
        }
    }

    private boolean isOver(boolean isHeld) {
        boolean canEvict = world.ended == null
                && world.kernel().isAlive()
                && !world.guest.hasForked()
                && !world.pins.isLasting()
                && world.fabric.isEvery(SimulatedHome::answers);
        return isHeld && canEvict && resident() > highestLimit && untouched() > 0;
    }

    /** Resident pages of which the agent knows that they were not stored to since they were installed. */
    private int untouched() {
        int untouched = 0;
        for (int page = 0; page < world.setup.pages(); page++) {
            untouched += world.kernel().memory().isKnownUntouched(page)
                            && !world.truth().isBeingRemoved(page)
                            && !world.isHomeLost(page)
                    ? 1
                    : 0;
        }
        return untouched;
    }

    /** The guest has ended: its memory is at its homes, and nothing is left over. */
    void checkEnd() {
        PagerEnd end = world.ended;
        if (end == null) {
            throw new AssertionError("the pager has not ended");
        }
        if (end.saved() && (world.isAnyHomeLost() || world.isPrivate())) {
            throw new AssertionError("the guest's memory counts as saved although it is not at its homes");
        }
        if (!end.saved() && !world.isAnyHomeLost() && !world.isPrivate()) {
            throw new AssertionError("the guest's memory was not saved although its homes live");
        }
        for (int page = 0; page < world.setup.pages(); page++) {
            if (world.isPrivate() && world.home(page) != world.initial(page)) {
                throw new AssertionError("page " + page + " was written home although it is private");
            }
            if (!world.isHomeLost(page) && !world.isPrivate()) {
                world.truth().found(page, world.home(page));
            }
        }
        int free = ModelPool.freePages(world.setup);
        if (free != world.setup.frames()) {
            throw new AssertionError(
                    "staging frames were lost: those of " + free + " of " + world.setup.frames() + " pages are free");
        }
        workingSet = end.workingSet();
    }
}
