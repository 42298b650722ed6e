package io.farpage.agent.data.pager.model;

import io.farpage.agent.data.pager.model.GuestThread.State;
import io.farpage.agent.data.pager.model.Step.Kind;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * Brings a world to its end: nothing fails any more, what was begun comes to rest, and the guest ends. While a home is silent, or lost for
 * good, that must come about for all that does not need it.
 */
final class Settlement {
    /** Rounds after which nothing more is to be expected. */
    private static final int ROUNDS = 200;

    /** Longer than a home may be silent before the agent no longer counts on it. */
    private static final long SILENCE_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    /** Longer than eviction rests after a child's removal, and than a page stays of which a part was given up. */
    private static final long REMOVAL_NANOS = TimeUnit.SECONDS.toNanos(61);

    private final World world;

    Settlement(World world) {
        this.world = world;
    }

    /** The links come up. */
    void connect() {
        settle(() -> world.fabric.isEvery(SimulatedHome::isUp), World.LONG_NANOS, "a link does not come up");
    }

    /** All comes to rest, the VMM ends, and its memory is at its homes. */
    void run() {
        if (world.setup.has(Feature.LARGE_PAGES)) {
            settle(this::isNothingCut, World.LONG_NANOS, "a thread that gives up a part of a page waits for ever");
            passRemovalTime();
        }
        if (world.fabric.isAny(SimulatedHome::isSilent)) {
            goOnBesideSilentHome();
            world.fabric.homes().forEach(SimulatedHome::answer);
        }
        settle(this::isQuiet, World.LONG_NANOS, "a thread waits for ever");
        settle(
                () -> isQuiet() && areLostPagesPoisoned(),
                World.LONG_NANOS,
                "other pages count as lost than are poisoned, although nothing is under way");
        world.guest.endChild();
        if (world.guest.hasForked()) {
            passRemovalTime();
        }
        settle(
                () -> world.isPrivate()
                        || world.resident() <= world.limit()
                        || !world.kernel().isAlive()
                        || isDirectReadStuck(),
                World.LONG_NANOS,
                "more is resident than may be");
        if (world.kernel().isAlive()) {
            world.guest.end();
        }
        if (world.ended == null) {
            world.pager.probe();
        }
        settle(() -> world.ended != null && isQuiet(), World.LONG_NANOS, "the pager does not end");
        world.invariants().checkEnd();
    }

    /**
     * Lets so much time pass that eviction of all pages is possible again. A thread that gives up pages goes on when the agent has read of
     * it, but the agent gives up a bounded number of pages in a turn, so some turns pass until it has noted the last one. The time of a page
     * begins then: a later beginning is safe, because the page only stays longer. In a running agent these turns take microseconds, since a
     * pager that is behind needs polling; only a clock that jumps ahead between two of them makes the delay as long as the time itself.
     */
    private void passRemovalTime() {
        world.pass(World.LONG_NANOS);
        world.pass(REMOVAL_NANOS);
    }

    private boolean isNothingCut() {
        return world.threads.stream()
                .allMatch(thread ->
                        thread.state == State.IDLE || thread.cutPages().isEmpty());
    }

    /** Threads that wait for pages of other homes get them; and an idle thread, if there is one, gets every other page. */
    private void goOnBesideSilentHome() {
        settle(this::isQuietBesideSilentHome, SILENCE_NANOS, "a thread waits for a silent home that is not its page's");
        for (int page = 0; page < world.setup.pages(); page++) {
            int idle = idleThread();
            if (idle >= 0 && !isAtSilentHome(page)) {
                world.guest.begin(world.threads.get(idle), Kind.READ, page);
                settle(this::isQuietBesideSilentHome, SILENCE_NANOS, "a silent home keeps page " + page + " away");
            }
        }
    }

    private int idleThread() {
        for (GuestThread thread : world.threads) {
            if (world.guest.isIdle(thread.number)) {
                return thread.number;
            }
        }
        return -1;
    }

    private boolean isAtSilentHome(int page) {
        return world.fabric.isAtHomeThat(page, SimulatedHome::isSilent);
    }

    private boolean isQuietBesideSilentHome() {
        return world.threads.stream()
                .allMatch(thread -> isQuiet(thread) || (thread.state == State.FAULTING && isAtSilentHome(thread.page)));
    }

    /** Whether every thread has what it asked for, and nothing is under way. */
    private boolean isQuiet() {
        return world.fabric.isIdle()
                && world.fetcher.inUse() == 0
                && world.threads.stream().allMatch(this::isQuiet);
    }

    /**
     * Whether a direct read waits for ever for a page that is lost, because the kernel cannot poison. It may have pinned other pages before,
     * which a device then writes to past their protection. So the agent keeps every page that was stored to, whatever the limit: a page too
     * many is better than one that loses what the device writes.
     */
    private boolean isDirectReadStuck() {
        return world.setup.has(Feature.NO_POISON)
                && world.threads.stream()
                        .anyMatch(thread ->
                                thread.isPinning() && thread.state == State.FAULTING && world.isHomeLost(thread.page));
    }

    /** A kernel that cannot poison leaves threads waiting that touch lost pages; the agent's log says so. */
    private boolean isQuiet(GuestThread thread) {
        return thread.state == State.IDLE
                || (world.setup.has(Feature.NO_POISON)
                        && thread.state == State.FAULTING
                        && world.isHomeLost(thread.page));
    }

    /**
     * Whether every page that counts as lost is poisoned, and no other, so that no later reader waits. The agent may have turns to take until
     * then although no thread waits any more. A page that is found to be lost while it is fetched ahead is poisoned in the next turn, and a
     * removal of several pages is carried out by the kernel, which takes the poison out, before the agent has noted all of it. A reader that
     * comes in between waits no longer than these turns, and the shard may not sleep before them.
     */
    private boolean areLostPagesPoisoned() {
        if (world.setup.has(Feature.NO_POISON)
                || world.guest.hasForked()
                || !world.kernel().isAlive()) {
            return true;
        }
        int poisoned = 0;
        for (int page = 0; page < world.setup.pages(); page++) {
            poisoned += world.kernel().isPoisoned(page) ? 1 : 0;
        }
        long lost = world.pager.status().lostPages();
        if (poisoned != lost && !world.pager.needsPolling()) {
            throw new AssertionError(lost + " pages count as lost, " + poisoned
                    + " are poisoned, and the pager sees nothing to do\n" + world);
        }
        return poisoned == lost;
    }

    private void settle(BooleanSupplier isDone, long pauseNanos, String otherwise) {
        for (int round = 0; !isDone.getAsBoolean(); round++) {
            if (round == ROUNDS) {
                throw new AssertionError(otherwise + "\n" + world);
            }
            settleSome(round, pauseNanos);
            world.invariants().check();
        }
    }

    private void settleSome(int round, long pauseNanos) {
        for (SimulatedHome home : world.fabric.homes()) {
            if (home.canConnect()) {
                home.connect(world.shard);
            }
        }
        world.fabric.completeAll();
        runThreads();
        world.turn();
        if (round % 10 == 9) {
            world.pass(pauseNanos);
            if (world.guest.hasForked() && world.ended == null) {
                world.pager.probe();
            }
        }
    }

    /** On processors of their own, so that a thread that was woken has touched its page before the agent's next call. */
    void runThreads() {
        for (GuestThread thread : List.copyOf(world.threads)) {
            if (World.canRun(thread)) {
                world.guest.goOn(thread);
            }
        }
    }
}
