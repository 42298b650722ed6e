package io.farpage.agent.data.pager.model;

import io.farpage.agent.data.pager.PagerEnd;
import io.farpage.agent.data.pager.page.PresenceMap;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/** What must be true at every moment, and what at the end. */
final class Invariants {
    private static final long NOT_OVER = Long.MIN_VALUE;
    private static final long NEVER = Long.MIN_VALUE / 2;

    /** Longer than the pager pauses after a search that found no victim, and the duty cycle that ends the pause. */
    private static final long TIMEOUT_NANOS = 2 * World.LONG_NANOS;

    /**
     * How long a page counts as stored to after a part of it was given up and the thread returned; the agent may have
     * read the message later.
     */
    private static final long PART_NANOS = TimeUnit.SECONDS.toNanos(60) + TIMEOUT_NANOS;

    private final World world;
    private int highestLimit;
    /**
     * Pages that may be resident because they were installed while pins were held or a home was silent; it falls as
     * they go, since none replaces them.
     */
    private long letIn;

    private boolean heldInCycle;
    /** Whether, in this duty cycle, a home did not answer, so that pages of others may come beyond the limit. */
    private boolean besideSilentHome;

    /** Whether pages came beyond the limit that no home took for a time, and some of them are left. */
    private boolean afterRefusal;

    /**
     * Since when more clean pages have been resident, at the end of every duty cycle, than may be; {@link #NOT_OVER} if
     * they are not.
     */
    private long overSince = NOT_OVER;

    /** When a thread last gave up a part of each page. */
    private final long[] partGivenUp;

    private long steps;
    private PresenceMap presence;

    Invariants(World world) {
        this.world = world;
        this.partGivenUp = new long[world.setup.pages()];
        Arrays.fill(partGivenUp, NEVER);
        presence = PresenceMap.unknown(world.setup.pages());
    }

    /**
     * The limit has changed. Pages that were installed under an earlier limit are evicted some time later, so the
     * highest counts.
     */
    void limit(int limit) {
        highestLimit = Math.max(highestLimit, limit);
    }

    /** How often everything was checked. */
    long steps() {
        return steps;
    }

    /** What the homes have since the latest guest ended, as its pager says. */
    PresenceMap presence() {
        return presence;
    }

    /**
     * A page is in at least one place that outlives the agent, and if it is in the memory file, the file has its newest
     * version. That a page was given up, and so is zeros, only the agent and the table that it may leave know until the
     * zeros are at the home.
     */
    void check() {
        steps++;
        for (int page = 0; page < world.setup.pages(); page++) {
            if (!world.coordinator.isAllocated(page) && world.fabric.contents(page)[0] != 0) {
                throw new AssertionError("page " + page + " was written home without room there");
            }
            if (world.isOnlyCopy(page)
                    && !world.kernel().isCached(page)
                    && !world.truth().isGivenUp(page)) {
                throw new AssertionError("page " + page + " was evicted although its home is lost");
            }
        }
        world.snapshot.check();
        world.guest.eachMemory(this::check);
        if (!world.isPrivate()) {
            checkLimit();
        }
        if (world.agent.pager().counters().foreign().get() > 0) {
            throw new AssertionError("a page was reported that the agent has installed itself");
        }
    }

    private void check(SimulatedKernel kernel, Truth truth) {
        for (int page = 0; page < world.setup.pages(); page++) {
            boolean resident = kernel.isCached(page);
            if (world.isHomeLost(page) && !resident) {
                continue;
            }
            for (long survivor : survivors(kernel, page, resident)) {
                if (!truth.allows(page, survivor) && (resident || !truth.isGivenUp(page))) {
                    throw new AssertionError("page " + page + " would be read as version " + survivor
                            + ", which is not of " + truth.of(page) + ", if the agent were killed now");
                }
            }
        }
    }

    /** Versions of a page that outlive the agent. Each of several homes counts: any of them may be asked next. */
    private long[] survivors(SimulatedKernel kernel, int page, boolean resident) {
        if (resident) {
            return new long[] {kernel.content(page)};
        }
        return kernel == world.kernel() && world.agent.leavesZeros(page) ? new long[] {0} : world.homes(page);
    }

    /**
     * A page is about to be at its home alone, which must be one that the agent can ask for it, unless the VMM is
     * giving the page up.
     */
    void dropped(int page) {
        if (!world.truth().isBeingRemoved(page) && world.fabric.isAtHomeThat(page, home -> !home.isUp())) {
            throw new AssertionError("page " + page + " is evicted as clean although the link to its home is down");
        }
    }

    private void checkLimit() {
        // While a child shares the memory nothing is evicted.
        heldInCycle |= world.pins.pollHeld();
        besideSilentHome |= world.isHomeSilentBesideOthers();
        int resident = resident();
        long most = Math.max(highestLimit, letIn);
        afterRefusal = world.coordinator.room().isRoomless()
                || world.snapshot.isOn()
                || (afterRefusal && isAnyLetInLeft(resident));
        if (resident > most && !heldInCycle && !besideSilentHome && !afterRefusal && !world.guest.hasForked()) {
            throw new AssertionError(
                    resident + " pages are resident, above " + most + "; the limit is " + highestLimit);
        }
    }

    /** Whether pages that were let in while no home had room are resident or on their way. */
    private boolean isAnyLetInLeft(int resident) {
        return resident > highestLimit
                || world.agent.pager().held() > highestLimit
                || world.agent.pager().status().strandedPages() > 0;
    }

    /** Pages that count towards the limit. */
    private int resident() {
        int count = 0;
        for (int page = 0; page < world.setup.pages(); page++) {
            boolean counts = !world.truth().isBeingRemoved(page) && !world.isHomeLost(page);
            count += world.kernel().isCached(page) && counts ? 1 : 0;
        }
        return count;
    }

    /**
     * A duty cycle of the agent has ended. While pins are held, pages are installed whatever the limit is, and pages
     * that were not stored to are evicted again, until the limit holds or only pages that were stored to are resident,
     * unless pins may last or a page waits for being copied to a home that joins. Once no pin is held, no page is
     * installed until the limit holds.
     */
    void cycleEnded(long now) {
        if (world.isPrivate()) {
            return;
        }
        heldInCycle |= world.pins.pollHeld();
        notePartialRemovals(now);
        long held = world.agent.pager().held();
        letIn = heldInCycle || besideSilentHome ? held : Math.min(letIn, held);
        besideSilentHome = world.isHomeSilentBesideOthers();
        if (isOver(heldInCycle, now)) {
            overSince = overSince == NOT_OVER ? now : overSince;
        } else {
            overSince = NOT_OVER;
        }
        heldInCycle = false;
        if (overSince != NOT_OVER && now - overSince > TIMEOUT_NANOS) {
            throw new AssertionError(resident() + " pages are resident while pins are held, above the limit of "
                    + highestLimit + ", and " + untouched(now) + " of them were not stored to");
        }
    }

    private void notePartialRemovals(long now) {
        for (GuestThread thread : world.threads) {
            if (thread.state != GuestThread.State.IDLE) {
                thread.partlyRemovedPages().forEach(page -> partGivenUp[page] = now);
            }
        }
    }

    private boolean isOver(boolean isHeld, long now) {
        boolean canEvict = world.agent.ended() == null
                && world.kernel().isAlive()
                && !world.guest.hasForked()
                && !world.pins.isLasting()
                && !world.snapshot.isOn()
                && !world.fabric.isAny(SimulatedHome::isJoining)
                && !(world.setup.isThin() && world.coordinator.room().isAnyUnallocated())
                && world.fabric.isEvery(SimulatedHome::answers);
        return isHeld && canEvict && resident() > highestLimit && untouched(now) > 0;
    }

    /** Resident pages that, as the agent knows, were not stored to since they were installed. */
    private int untouched(long now) {
        int untouched = 0;
        for (int page = 0; page < world.setup.pages(); page++) {
            untouched += world.kernel().memory().isKnownUntouched(page)
                            && now - partGivenUp[page] > PART_NANOS
                            && !world.truth().isBeingRemoved(page)
                            && !world.isHomeLost(page)
                    ? 1
                    : 0;
        }
        return untouched;
    }

    /** The guest has ended: its memory is at its homes, and nothing is left over. */
    void checkEnd() {
        PagerEnd end = world.agent.ended();
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
                for (long found : world.homes(page)) {
                    world.truth().found(page, found);
                }
            }
        }
        int free = ModelPool.freePages(world.setup);
        if (free != world.setup.frames()) {
            throw new AssertionError(
                    "staging frames were lost: those of " + free + " of " + world.setup.frames() + " pages are free");
        }
        presence = presence(end);
    }

    private PresenceMap presence(PagerEnd end) {
        PresenceMap found = PresenceMap.unknown(world.setup.pages());
        if (!end.saved() && !world.isPrivate()) {
            return found;
        }
        world.agent.pager().describe(found, 0);
        for (int page = 0; page < world.setup.pages(); page++) {
            for (long atHome : world.homes(page)) {
                if (found.get(page) == PresenceMap.ZERO && atHome != 0) {
                    throw new AssertionError("page " + page + " is zeros in the presence map, and a home has version "
                            + atHome + " of it");
                }
            }
        }
        return world.seal == null && world.setup.has(Feature.PRESENCE) ? found : found.asWishes();
    }
}
