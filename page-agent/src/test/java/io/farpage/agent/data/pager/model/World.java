package io.farpage.agent.data.pager.model;

import io.farpage.agent.data.pager.GuestRegion;
import io.farpage.agent.data.pager.Pager;
import io.farpage.agent.data.pager.PagerEnd;
import io.farpage.agent.data.pager.PagerOptions;
import io.farpage.agent.data.pager.SpaceMap;
import io.farpage.agent.data.pager.WorkingSet;
import io.farpage.agent.data.pager.model.Step.Kind;
import io.farpage.agent.data.shard.DutyCycle;
import io.farpage.agent.data.shard.Fetcher;
import io.farpage.agent.data.shard.Shard;
import io.farpage.agent.data.shard.ShardCommand;
import io.farpage.agent.data.shard.ShardNotice;
import io.farpage.pool.PagePool;
import io.farpage.pool.header.PoolHeader;
import java.lang.foreign.Arena;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * A guest, its agent, homes and the network between them. One of them takes a step at a time, in the order of a schedule. The agent is the real
 * pager on a real shard; other steps happen between its duty cycles and before each of its calls into the kernel. After every step the
 * {@link Invariants} are checked. One thread.
 */
final class World {
    /** The most staging memory that a setup may have, pages. */
    static final int MAX_FRAMES = ModelPool.PAGES;

    static final int MAX_LIMIT = 12;

    private static final long DEADLINE_NANOS = TimeUnit.SECONDS.toNanos(1);
    /** A duty cycle that finds work. */
    static final long SHORT_NANOS = 20_000;

    /** Longer than the agent pauses when it finds that something cannot be had at the moment. */
    static final long LONG_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

    /** After so many duty cycles a shard has read its clock. */
    private static final int CYCLES_TO_HOUSEKEEPING = 65;

    final Setup setup;
    final Fabric fabric;
    final PagePool pool;
    final Shard shard;
    final Fetcher fetcher;
    final SimulatedPins pins;
    List<GuestThread> threads;
    Processes guest;
    Pager pager;

    @Nullable
    PagerEnd ended;

    private final Schedule schedule;
    private final @Nullable SimulatedSeal seal;
    private final SpaceMap map;
    private final Invariants invariants;
    private final Quiescence quiescence = new Quiescence(this);
    private @Nullable Throwable thrown;
    private DutyCycle cycle = () -> 0;
    private long now = 1;
    private int limit;
    private boolean isQuiescing;

    /** Pages that were resident when the agent learnt that their home is lost, and that the guest has not given up since. */
    private final boolean[] onlyCopy;

    World(Setup setup, Schedule schedule) {
        this.setup = setup;
        this.schedule = schedule;
        ModelPool.reset(setup);
        pool = ModelPool.pool(setup);
        onlyCopy = new boolean[setup.pages()];
        fabric = new Fabric(setup);
        seal = setup.has(Feature.SEALED) ? new SimulatedSeal(setup.pages()) : null;
        map = ModelPool.map(setup, SimulatedHome.name(0), SimulatedHome.name(1));
        shard = new Shard(fabric.rails(), Arena.ofAuto().allocate(2 * PoolHeader.BYTES), () -> now, () -> {});
        fetcher = shard.newFetcher(setup.slots(), DEADLINE_NANOS);
        invariants = new Invariants(this);
        fabric.homes().forEach(home -> home.connect(shard));
        if (isPrivate()) {
            fillHomes();
        }
        guest = start(newTruth());
        threads = guest.threads();
        pins = new SimulatedPins(schedule.inspectsSlowly(), () -> guest.threads());
        pager = begin(isPrivate(), WorkingSet.EMPTY);
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
        return isPrivate() ? page : 0;
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

    private Pager begin(boolean written, WorkingSet workingSet) {
        SimulatedKernel kernel = guest.kernel();
        GuestRegion region = new GuestRegion(SimulatedKernel.BASE, (long) setup.pages() * setup.pageBytes(), 0);
        Pager begun = new Pager(
                new Pager.Guest(
                        "model",
                        kernel,
                        isPrivate() ? null : kernel.memory(),
                        List.of(region),
                        setup.pageBytes(),
                        written,
                        workingSet,
                        pins,
                        seal == null ? null : seal.begin()),
                new Pager.Backing(ModelPool.NODE, ModelPool.INCARNATION, () -> map, fabric::link, fetcher, pool),
                new PagerOptions(PagerOptions.MIN_LOCAL_PAGES, setup.prefetch(), 1, PagerOptions.FLUSH_DEADLINE),
                () -> now,
                end -> ended = end);
        limit = setup.limit();
        begun.resize(limit);
        invariants.limit(limit);
        cycle = () -> watched(begun);
        shard.submit(new ShardCommand.AddCycle(cycle));
        return begun;
    }

    /** A duty cycle of the pager. The test, and not the shard, handles what it throws, such as a failed invariant. */
    private int watched(Pager of) {
        try {
            return of.doWork();
        } catch (RuntimeException | Error e) {
            thrown = e;
            throw e;
        }
    }

    private void rethrow() {
        switch (thrown) {
            case RuntimeException e -> throw e;
            case Error e -> throw e;
            case null, default -> {}
        }
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
        }
    }

    private void handle(Step step, boolean inCycle) {
        if (isPossible(step, inCycle)) {
            apply(step);
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
            case CONNECT -> fabric.home(first).connect(shard);
            case SILENCE -> fabric.home(first).fallSilent();
            case ANSWER -> fabric.home(first).answer();
            case EXPIRE -> pass(DEADLINE_NANOS + LONG_NANOS);
            case WAIT -> pass(LONG_NANOS);
            case RESIZE -> {
                limit = first;
                pager.resize(limit);
                invariants.limit(limit);
            }
            case RECLAIM -> kernel().reclaim(first);
            case STARVE -> kernel().host().starve(first);
            case SPLIT -> kernel().split(first);
            case PROBE -> pager.probe();
            case LOSE -> loseHome(fabric.home(first));
            case END -> guest.end();
            case LIFE -> live();
        }
    }

    private void loseHome(SimulatedHome home) {
        home.lose(shard);
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
        return fabric.isAny(SimulatedHome::isLost);
    }

    /** Whether a home that is not lost does not answer while pages of another one, or of this node, go on. */
    boolean isHomeSilentBesideOthers() {
        return (setup.localPages() > 0 || setup.has(Feature.TWO_HOMES))
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
                    onlyCopy[page] |=
                            home.has(page) && !isPrivate() && kernel().isCached(page) && !truth().isBeingRemoved(page);
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
        shard.doWork();
        rethrow();
        observe();
        invariants.cycleEnded(now);
        for (ShardNotice notice = shard.pollNotice(); notice != null; notice = shard.pollNotice()) {
            if (notice instanceof ShardNotice.Released released) {
                fabric.released(released, shard);
            }
        }
    }

    /** Lets time pass, and runs duty cycles until the agent has read the clock. */
    void pass(long nanos) {
        now += nanos;
        for (int i = 0; i < CYCLES_TO_HOUSEKEEPING; i++) {
            runCycle();
        }
    }

    /** Ends a guest, and begins the next one with the pages at the homes. */
    private void live() {
        quiesce();
        ended = null;
        isQuiescing = false;
        pins.resume();
        guest = start(isPrivate() ? newTruth() : guest.truth());
        threads = guest.threads();
        shard.submit(new ShardCommand.RemoveCycle(cycle));
        Pager before = pager;
        shard.submit(new ShardCommand.Run(before::close));
        pager = begin(true, invariants.workingSet());
    }

    /** What the home of a page has; of an encrypted space, what the agent finds in it. */
    long home(int page) {
        long found = contentAtHome(page);
        return seal == null ? found : seal.open(page, found);
    }

    private long contentAtHome(int page) {
        return isHomedRemotely(page)
                ? fabric.content(page)
                : Memory.version(pool.exportedAddress() + (long) page * setup.pageBytes());
    }

    /** Pages in the guest's memory whose home lives. */
    int resident() {
        int resident = 0;
        for (int page = 0; page < setup.pages(); page++) {
            resident += kernel().isCached(page) && !isHomeLost(page) ? 1 : 0;
        }
        return resident;
    }

    int limit() {
        return limit;
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
                .append(pager.status())
                .append('\n')
                .toString();
    }
}
