package io.farpage.agent.data.pager.model;

import io.farpage.agent.data.pager.model.GuestThread.State;
import io.farpage.agent.data.pager.model.Step.Kind;
import io.farpage.agent.data.shard.FailureDetector;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * Brings a world to its end: no further failure is injected, transfers and threads come to rest, and the guest ends.
 * While a home is silent or lost, all pages and threads that do not need it must come to rest.
 */
final class Quiescence {
    /** Rounds within which a world comes to rest. */
    private static final int ROUNDS = 200;

    /** Longer than a home may be silent before the agent no longer counts on it. */
    private static final long SILENCE_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    /** Longer than eviction pauses after a child's removal, and than a page that is given up in part stays resident. */
    private static final long REMOVAL_NANOS = TimeUnit.SECONDS.toNanos(61);

    /** A home that joins and cannot be reached is dropped within the rounds. */
    private static final long WAIT_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final World world;

    Quiescence(World world) {
        this.world = world;
    }

    /** The links come up. */
    void connect() {
        quiesce(() -> world.fabric.isEvery(SimulatedHome::isUp), World.LONG_NANOS, "a link does not come up");
    }

    /** Runs until no work is left, the VMM has ended, and its memory is at its homes. */
    void run() {
        if (world.setup.has(Feature.LARGE_PAGES)) {
            quiesce(
                    this::isNoPartBeingRemoved,
                    World.LONG_NANOS,
                    "a thread that gives up a part of a page waits for ever");
            passRemovalTime();
        }
        if (world.fabric.isAny(SimulatedHome::isSilent)) {
            checkOtherHomes();
            world.fabric.homes().forEach(SimulatedHome::answer);
        }
        quiesce(this::isQuiet, World.LONG_NANOS, "a thread waits for ever");
        quiesce(() -> !world.snapshot.isOn(), World.LONG_NANOS, "a snapshot is neither made nor given up");
        quiesce(
                () -> isQuiet() && areLostPagesPoisoned(),
                World.LONG_NANOS,
                "the pages that count as lost are not the poisoned ones, although nothing is under way");
        world.guest.endChild();
        if (world.guest.hasForked()) {
            passRemovalTime();
        }
        quiesce(
                () -> world.isPrivate()
                        || world.resident() <= world.agent.limit()
                        || !world.kernel().isAlive()
                        || isDirectReadStuck(),
                World.LONG_NANOS,
                "more pages are resident than the limit allows");
        quiesce(
                () -> !world.kernel().isAlive()
                        || world.isAnyHomeLost()
                        || !world.fabric.isAny(SimulatedHome::isJoining),
                WAIT_NANOS,
                "a home that joins is neither promoted nor dropped");
        if (world.kernel().isAlive()) {
            world.guest.end();
        }
        if (world.agent.ended() == null) {
            world.agent.pager().probe();
        }
        quiesce(() -> world.agent.ended() != null && isQuiet(), World.LONG_NANOS, "the pager does not end");
        world.invariants().checkEnd();
    }

    /**
     * Lets so much time pass that all pages can be evicted again. A thread that gives up pages continues when the agent
     * has read the event, but the agent handles a bounded number of pages in a duty cycle, so some cycles pass until
     * the last page is in its table. The time of a page begins then. A later beginning is safe, because the page only
     * stays resident longer. In a running agent these duty cycles take microseconds, since a pager that is behind needs
     * polling.
     */
    private void passRemovalTime() {
        world.pass(World.LONG_NANOS);
        world.pass(REMOVAL_NANOS);
    }

    private boolean isNoPartBeingRemoved() {
        return world.threads.stream()
                .allMatch(thread -> thread.state == State.IDLE
                        || thread.partlyRemovedPages().isEmpty());
    }

    /** Threads that wait for pages of other homes get them, and so does an idle thread that reads every other page. */
    private void checkOtherHomes() {
        quiesce(
                this::isQuietBesideSilentHome,
                silenceNanos(),
                "a thread waits for a silent home that is not its page's");
        for (int page = 0; page < world.setup.pages(); page++) {
            int idle = idleThread();
            if (idle >= 0 && !isAtSilentHome(page)) {
                world.guest.begin(world.threads.get(idle), Kind.READ, page);
                quiesce(
                        this::isQuietBesideSilentHome,
                        silenceNanos(),
                        "page " + page + ", which is not at the silent home, does not arrive");
            }
        }
    }

    /** A successor has no link to the silent home, and gives it time for that before it has the home dropped. */
    private long silenceNanos() {
        return SILENCE_NANOS
                + (world.agent.kills() > 0 && world.setup.isMirrored() ? FailureDetector.FIRST_LINK_NANOS : 0);
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

    /** Whether no thread waits, and nothing is under way. */
    private boolean isQuiet() {
        return world.fabric.isIdle()
                && world.agent.fetcher().inUse() == 0
                && world.threads.stream().allMatch(this::isQuiet);
    }

    /**
     * Whether a direct read waits for ever for a page that is lost, because the kernel cannot poison. It may have
     * pinned other pages before, which a device then writes to past their protection. So the agent keeps every page
     * that was stored to, even above the limit: otherwise the device's bytes could be lost.
     */
    private boolean isDirectReadStuck() {
        return world.setup.has(Feature.NO_POISON)
                && world.threads.stream()
                        .anyMatch(thread ->
                                thread.isPinning() && thread.state == State.FAULTING && world.isHomeLost(thread.page));
    }

    /** If the kernel cannot poison, threads that touch lost pages wait for ever, and the agent logs that. */
    private boolean isQuiet(GuestThread thread) {
        return thread.state == State.IDLE
                || (world.setup.has(Feature.NO_POISON)
                        && thread.state == State.FAULTING
                        && world.isHomeLost(thread.page));
    }

    /**
     * Whether every page that counts as lost is poisoned, and no other, so that no later reader waits. The agent may
     * need some duty cycles for that although no thread waits. A page that is found to be lost while it is prefetched
     * is poisoned in the next cycle, and the kernel carries a removal of several pages out, which removes the poison,
     * before the whole removal is in the agent's table. A thread that reads in between waits for these cycles, and the
     * shard may not sleep before them. A successor of an agent that was killed before it poisoned a page does that when
     * a thread touches the page.
     */
    private boolean areLostPagesPoisoned() {
        if (world.setup.has(Feature.NO_POISON)
                || world.guest.hasForked()
                || world.agent.kills() > 0
                || !world.kernel().isAlive()) {
            return true;
        }
        int poisoned = 0;
        for (int page = 0; page < world.setup.pages(); page++) {
            poisoned += world.kernel().isPoisoned(page) ? 1 : 0;
        }
        long lost = world.agent.pager().status().lostPages();
        if (poisoned != lost && !world.agent.pager().needsPolling()) {
            throw new AssertionError(
                    lost + " pages count as lost, " + poisoned + " are poisoned, and the pager has no work\n" + world);
        }
        return poisoned == lost;
    }

    private void quiesce(BooleanSupplier isDone, long pauseNanos, String failure) {
        for (int round = 0; !isDone.getAsBoolean(); round++) {
            if (round == ROUNDS) {
                throw new AssertionError(failure + "\n" + world);
            }
            quiesceRound(round, pauseNanos);
            world.invariants().check();
        }
    }

    private void quiesceRound(int round, long pauseNanos) {
        for (SimulatedHome home : world.fabric.homes()) {
            if (home.canConnect()) {
                home.connect(world.agent.shard());
            }
        }
        for (int home = 0; home < world.setup.homes(); home++) {
            if (world.fabric.canDrop(home)) {
                world.coordinator.drop(home);
            }
            if (world.fabric.canBeginPull(home)) {
                world.coordinator.beginPull(home);
            }
            while (world.fabric.canPull(home)) {
                world.fabric.pull(home);
            }
            if (world.fabric.canEndPull(home)) {
                world.coordinator.endPull(home);
            }
            if (world.fabric.canPromote(home)) {
                world.coordinator.promote(home, 0);
            }
        }
        for (int page = 0; page < world.setup.remotePages(); page++) {
            if (world.setup.isThin() && world.coordinator.room().canAllocate(page)) {
                world.coordinator.allocate(page);
            }
            if (world.coordinator.room().isWithdrawn(page)) {
                world.coordinator.giveBack(page);
            }
        }
        world.snapshot.quiesce();
        world.fabric.completeAll();
        runThreads();
        world.runCycle();
        if (round % 10 == 9) {
            world.passAwake(pauseNanos);
            if (world.guest.hasForked() && world.agent.ended() == null) {
                world.agent.pager().probe();
            }
        }
    }

    /**
     * Runs the threads as on processors of their own: a thread that was woken touches its page before the agent's next
     * call.
     */
    void runThreads() {
        for (GuestThread thread : List.copyOf(world.threads)) {
            if (World.canRun(thread) && Rules.allow(Step.of(Kind.RUN, thread.number), true, world)) {
                world.guest.goOn(thread);
            }
        }
    }
}
