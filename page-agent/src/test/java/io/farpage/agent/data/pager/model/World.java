package io.farpage.agent.data.pager.model;

import io.farpage.agent.data.pager.model.Step.Kind;
import io.farpage.agent.data.pager.page.PresenceMap;
import io.farpage.agent.data.shard.SilenceClock;
import io.farpage.pool.PagePool;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * A guest, its agent, homes and the network between them. One of them takes a step at a time, in the order of a
 * schedule. The agent is the real pager on a real shard; other steps happen between its duty cycles and before each of
 * its calls into the kernel. After every step the {@link Invariants} are checked. One thread.
 */
final class World {
    /** The most staging memory that a setup may have, pages. */
    static final int MAX_FRAMES = ModelPool.PAGES;

    static final int MAX_LIMIT = 12;

    /** A duty cycle that finds work. */
    static final long SHORT_NANOS = 20_000;

    /** Longer than the agent pauses when something is not available at the moment. */
    static final long LONG_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

    /** Duty cycles after which a shard has read its clock. */
    private static final int CYCLES_TO_HOUSEKEEPING = 65;

    final Setup setup;
    final Fabric fabric;
    final PagePool pool;
    final SimulatedCoordinator coordinator;
    final Agent agent;
    final SimulatedPins pins;
    final SimulatedSnapshot snapshot = new SimulatedSnapshot(this);
    final @Nullable SimulatedSeal seal;
    List<GuestThread> threads;
    Processes guest;

    private final Schedule schedule;
    private final Invariants invariants;
    private final Quiescence quiescence = new Quiescence(this);
    private long now = 1;
    private boolean isQuiescing;

    /**
     * Pages that were resident when the agent learnt that their home is lost, and that the guest has not given up
     * since.
     */
    private final boolean[] onlyCopy;

    World(Setup setup, Schedule schedule) {
        this.setup = setup;
        this.schedule = schedule;
        ModelPool.reset(setup);
        pool = ModelPool.pool(setup);
        onlyCopy = new boolean[setup.pages()];
        fabric = new Fabric(setup);
        seal = setup.has(Feature.SEALED) ? new SimulatedSeal(setup.pages()) : null;
        coordinator = new SimulatedCoordinator(setup, fabric);
        agent = new Agent(this);
        invariants = new Invariants(this);
        fabric.homes().forEach(home -> home.connect(agent.shard()));
        if (isPrivate()) {
            fillHomes();
        }
        for (int page = 0; setup.has(Feature.CLONE) && page < setup.remotePages(); page++) {
            fabric.snapshot(page, initial(page));
        }
        guest = start(newTruth());
        threads = guest.threads();
        pins = new SimulatedPins(schedule.inspectsSlowly(), () -> guest.threads());
        agent.serve(
                isPrivate() || setup.has(Feature.CLONE)
                        ? PresenceMap.unknown(setup.pages())
                        : PresenceMap.zeros(setup.pages()));
        isQuiescing = true;
        quiescence.connect();
        isQuiescing = false;
    }

    /** Whether the guest's memory is private: what its homes have is what they had in the beginning. */
    boolean isPrivate() {
        return setup.has(Feature.PRIVATE);
    }

    private void fillHomes() {
        for (int page = 0; page < setup.pages(); page++) {
            if (isHomedRemotely(page)) {
                fabric.content(page, initial(page));
            } else {
                Memory.version(pool.exportedAddress() + (long) page * setup.pageBytes(), initial(page));
            }
        }
    }

    /** What the home of a page has in the beginning: something of every page but the first. */
    long initial(int page) {
        return isPrivate() || (setup.has(Feature.CLONE) && isHomedRemotely(page)) ? page : 0;
    }

    private Truth newTruth() {
        return new Truth(
                IntStream.range(0, setup.pages()).mapToLong(this::initial).toArray());
    }

    private Processes start(Truth truth) {
        Host host = new Host(setup, this::beforeCall);
        host.observeDrops(invariants::dropped);
        return new Processes(truth, new SimulatedKernel(host), setup);
    }

    /** The address space that the guest is in. */
    SimulatedKernel kernel() {
        return guest.kernel();
    }

    /** What the VMM may find in its memory. */
    Truth truth() {
        return guest.truth();
    }

    /** Monotonic nanoseconds. */
    long now() {
        return now;
    }

    /** Runs the schedule, and then ends the guest. */
    void run() {
        for (Step step = schedule.next(this, false); step != null; step = schedule.next(this, false)) {
            handle(step, false);
        }
        if (schedule.quiesces()) {
            quiesce();
        }
    }

    private void beforeCall() {
        observe();
        invariants.check();
        if (isQuiescing) {
            quiescence.runThreads();
        }
        while (!isQuiescing) {
            Step step = schedule.next(this, true);
            if (step == null || step.kind() == Kind.AGENT) {
                return;
            }
            handle(step, true);
            if (agent.isKilled()) {
                throw new AgentKilled();
            }
        }
    }

    private void handle(Step step, boolean inCycle) {
        if (isPossible(step, inCycle)) {
            if (step.kind() == Kind.KILL) {
                agent.kill(step, inCycle);
            } else {
                apply(step);
            }
            invariants.check();
        } else {
            schedule.passedOver(step);
        }
    }

    /** Whether a step applies now; if not, it is passed over. */
    boolean isPossible(Step step, boolean inCycle) {
        return Rules.allow(step, inCycle, this);
    }

    static boolean canRun(GuestThread thread) {
        return switch (thread.state) {
            case WOKEN, ZAPPING, PUNCHING, PINNED -> true;
            default -> false;
        };
    }

    private void apply(Step step) {
        int first = step.first();
        switch (step.kind()) {
            case AGENT -> runCycle();
            case READ, WRITE, ZERO, DIRECT, REMOVE, REMOVE_TWO, DISCARD, REMOVE_PART, REMOVE_ACROSS, FORK ->
                guest.begin(threads.get(first), step.kind(), step.second());
            case CHILD_END -> guest.endChild();
            case INSPECT -> pins.begin();
            case INSPECTED -> pins.end();
            case RUN -> guest.goOn(threads.get(first));
            case LAND -> fabric.land(fabric.underWay().get(first), step.second());
            case LAND_LATE -> fabric.landLate(first);
            case COMPLETE -> fabric.home(first).network().complete();
            case BREAK -> fabric.home(first).fail();
            case CONNECT -> fabric.home(first).connect(agent.shard());
            case SILENCE -> fabric.home(first).fallSilent();
            case ANSWER -> fabric.home(first).answer();
            case DROP -> coordinator.drop(first);
            case JOIN -> coordinator.join(first);
            case PULL_BEGIN -> coordinator.beginPull(first);
            case PULL -> fabric.pull(first);
            case PULL_END -> coordinator.endPull(first);
            case PROMOTE -> coordinator.promote(first, step.second());
            case ALLOCATE -> coordinator.allocate(first);
            case REFUSE -> coordinator.room().refuse();
            case WITHDRAW -> coordinator.room().withdraw(first, agent.pager());
            case GIVE_BACK -> coordinator.giveBack(first);
            case REINSTATE -> coordinator.room().reinstate(first, agent.pager());
            case EXPIRE -> expire();
            case WAIT -> pass(LONG_NANOS);
            case RESIZE -> agent.resize(first);
            case PARK -> agent.park(first);
            case UNPARK -> agent.unpark();
            case RECLAIM -> kernel().reclaim(first);
            case STARVE -> kernel().host().starve(first);
            case SPLIT -> kernel().split(first);
            case PROBE -> agent.probe();
            case LOSE -> loseHome(first);
            case PREPARE -> snapshot.prepare();
            case FREEZE -> snapshot.begin();
            case HAND_OVER -> snapshot.handOver();
            case THAW -> snapshot.thaw(first == 1);
            case END -> guest.end();
            case KILL -> throw new AssertionError(step);
            case LIFE -> live();
        }
    }

    private void loseHome(int home) {
        coordinator.lose(home);
        kernel().host().mayPoison(this::isHomeLost);
    }

    private boolean isHomedRemotely(int page) {
        return page < setup.remotePages();
    }

    /** Whether the home of a page is lost. */
    boolean isHomeLost(int page) {
        return fabric.isAtHomeThat(page, SimulatedHome::isLost);
    }

    boolean isAnyHomeLost() {
        return fabric.isAnyPageLost();
    }

    /** Whether a home that is not lost does not answer while pages of another one, of this node or of none go on. */
    boolean isHomeSilentBesideOthers() {
        return (setup.localPages() > 0 || setup.homes() > 1 || setup.isThin())
                && fabric.isAny(home -> !home.isLost() && (!home.answers() || home.isSlow(now)));
    }

    /** Whether a page must be resident, since it is nowhere else. */
    boolean isOnlyCopy(int page) {
        return onlyCopy[page];
    }

    private void learnOfLosses() {
        for (SimulatedHome home : fabric.homes()) {
            if (home.learnOfLoss()) {
                for (int page = 0; page < setup.pages(); page++) {
                    onlyCopy[page] |= home.has(page)
                            && isHomeLost(page)
                            && !isPrivate()
                            && kernel().isCached(page)
                            && !truth().isBeingRemoved(page);
                }
            }
        }
    }

    private void observe() {
        fabric.homes().forEach(home -> home.observe(now));
    }

    /** A duty cycle of the agent. */
    void runCycle() {
        now += schedule.cycleNanos();
        learnOfLosses();
        observe();
        agent.runCycle();
        observe();
        invariants.cycleEnded(now);
        agent.handleNotices();
    }

    /**
     * Lets time pass and runs duty cycles until the agent has read the clock. {@link SilenceClock#MAX_STEP_NANOS} of
     * that time, at most, count as silence.
     */
    void pass(long nanos) {
        now += nanos;
        for (int i = 0; i < CYCLES_TO_HOUSEKEEPING; i++) {
            runCycle();
        }
    }

    /** Lets time pass in which the agent runs. */
    void passAwake(long nanos) {
        long step = SilenceClock.MAX_STEP_NANOS / 2;
        for (long left = nanos; left > step; left -= step) {
            now += step;
            runCycle();
        }
        pass(Math.min(nanos, step));
    }

    /** Lets the deadline of every transfer pass. */
    private void expire() {
        for (long left = Agent.DEADLINE_NANOS + LONG_NANOS; left > 0; left -= SilenceClock.MAX_STEP_NANOS) {
            pass(Math.min(left, SilenceClock.MAX_STEP_NANOS));
        }
    }

    /** Ends a guest, and begins the next one with the pages at the homes. */
    private void live() {
        quiesce();
        isQuiescing = false;
        pins.resume();
        guest = start(isPrivate() ? newTruth() : guest.truth());
        threads = guest.threads();
        if (setup.has(Feature.JOINING)) {
            coordinator.reattach();
        }
        PresenceMap presence = invariants.presence();
        if (setup.has(Feature.THIN)) {
            coordinator.deallocate(presence);
            coordinator.map().describe(presence);
        }
        agent.serveNext(presence);
    }

    /** What the home of a page has, the first of several; of an encrypted space, what the agent finds in it. */
    long home(int page) {
        return homes(page)[0];
    }

    /** What each home of a page has that is neither dropped nor lost. */
    long[] homes(int page) {
        long[] contents = contentsAtHomes(page);
        if (seal != null) {
            for (int i = 0; i < contents.length; i++) {
                contents[i] = seal.open(page, contents[i]);
            }
        }
        return contents;
    }

    private long[] contentsAtHomes(int page) {
        if (!coordinator.isAllocated(page)) {
            return new long[] {setup.has(Feature.CLONE) ? fabric.snapshot(page) : 0};
        }
        return isHomedRemotely(page)
                ? fabric.contents(page)
                : new long[] {Memory.version(pool.exportedAddress() + (long) page * setup.pageBytes())};
    }

    /** Pages in the guest's memory whose home lives. */
    int resident() {
        int resident = 0;
        for (int page = 0; page < setup.pages(); page++) {
            resident += kernel().isCached(page) && !isHomeLost(page) ? 1 : 0;
        }
        return resident;
    }

    Invariants invariants() {
        return invariants;
    }

    /** Runs without failures until no work is left, the VMM has ended, and its memory is at its homes. */
    private void quiesce() {
        isQuiescing = true;
        pins.quiesce();
        quiescence.run();
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        for (int page = 0; page < setup.pages(); page++) {
            text.append("page ").append(page).append(": ").append(kernel().describe(page));
            text.append(", home ")
                    .append(home(page))
                    .append(", may be ")
                    .append(truth().of(page))
                    .append('\n');
        }
        threads.forEach(thread -> text.append(thread).append('\n'));
        return text.append("pins: ")
                .append(pins.shape())
                .append('\n')
                .append(fabric.shape())
                .append('\n')
                .append(coordinator.room().shape())
                .append('\n')
                .append(agent.pager().status())
                .append('\n')
                .toString();
    }
}
