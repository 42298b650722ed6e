package io.farpage.agent.pager.model;

import io.farpage.agent.pager.model.GuestThread.State;
import io.farpage.agent.pager.model.Step.Kind;
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
            world.pass(REMOVAL_NANOS);
        }
        if (world.fabric.isAny(SimulatedHome::isSilent)) {
            goOnBesideSilentHome();
            world.fabric.homes().forEach(SimulatedHome::answer);
        }
        settle(this::isQuiet, World.LONG_NANOS, "a thread waits for ever");
        checkLostPagesArePoisoned();
        world.guest.endChild();
        if (world.guest.hasForked()) {
            world.pass(REMOVAL_NANOS);
        }
        settle(
                () -> world.isPrivate()
                        || world.resident() <= world.limit()
                        || !world.kernel().isAlive(),
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

    /** A kernel that cannot poison leaves threads waiting that touch lost pages; the agent's log says so. */
    private boolean isQuiet(GuestThread thread) {
        return thread.state == State.IDLE
                || (world.setup.has(Feature.NO_POISON)
                        && thread.state == State.FAULTING
                        && world.isHomeLost(thread.page));
    }

    /** A page that is lost is poisoned when it is touched, so that no later reader waits either. */
    private void checkLostPagesArePoisoned() {
        if (world.setup.has(Feature.NO_POISON) || world.guest.hasForked()) {
            return;
        }
        int poisoned = 0;
        for (int page = 0; page < world.setup.pages(); page++) {
            poisoned += world.kernel().isPoisoned(page) ? 1 : 0;
        }
        long lost = world.pager.status().lostPages();
        if (world.kernel().isAlive() && poisoned != lost) {
            throw new AssertionError(lost + " pages count as lost, and " + poisoned + " are poisoned");
        }
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
