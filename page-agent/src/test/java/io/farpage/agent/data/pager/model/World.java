package io.farpage.agent.data.pager.model;

import io.farpage.agent.data.pager.GuestRegion;
import io.farpage.agent.data.pager.KeptTable;
import io.farpage.agent.data.pager.Mirroring;
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
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
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

    /** How often the agent may be killed. */
    static final int MAX_KILLS = 20;

    /** For a few regions. */
    private static final int LAYOUTS_BYTES = 512;

    private static final long DROP_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final long NO_DEADLINE_NANOS = TimeUnit.HOURS.toNanos(1);
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
    Shard shard;
    Fetcher fetcher;
    final SimulatedPins pins;
    List<GuestThread> threads;
    Processes guest;
    Pager pager;

    @Nullable
    PagerEnd ended;

    private final Schedule schedule;
    private final @Nullable SimulatedSeal seal;
    private SpaceMap map;
    private final Invariants invariants;
    private final Quiescence quiescence = new Quiescence(this);
    private @Nullable Throwable thrown;
    private DutyCycle cycle = () -> 0;
    private @Nullable Kept kept;
    private int kills;
    private boolean isKilled;
    /** How the agent was killed last. */
    private Step kill = Step.of(Kind.KILL);

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
        map = setup.isMirrored()
                ? ModelPool.mirrored(setup, fabric.members(), fabric.joining(), SpaceMap.Pull.NONE, 0)
                : ModelPool.map(setup, SimulatedHome.name(0), SimulatedHome.name(1));
        shard = newShard();
        fetcher = newFetcher();
        invariants = new Invariants(this);
        fabric.homes().forEach(home -> home.connect(shard));
        if (isPrivate()) {
            fillHomes();
        }
        guest = start(newTruth());
        threads = guest.threads();
        pins = new SimulatedPins(schedule.inspectsSlowly(), () -> guest.threads());
        pager = beginNew(isPrivate(), WorkingSet.EMPTY);
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

    private Shard newShard() {
        return new Shard(fabric.rails(), Arena.ofAuto().allocate(3 * PoolHeader.BYTES), () -> now, () -> {});
    }

    /** No deadline helps where another home has the page. */
    private Fetcher newFetcher() {
        return shard.newFetcher(setup.slots(), setup.isMirrored() ? NO_DEADLINE_NANOS : DEADLINE_NANOS);
    }

    /** What outlives the agent. */
    private record Kept(boolean written, MemorySegment entries, MemorySegment messages, MemorySegment layouts) {
        KeptTable table() {
            return new KeptTable(entries, messages, layouts);
        }
    }

    private Pager beginNew(boolean written, WorkingSet workingSet) {
        kept = setup.has(Feature.KEPT)
                ? new Kept(
                        written,
                        Arena.ofAuto().allocate(Pager.tableBytes(setup.pages()), 8),
                        Arena.ofAuto().allocate(KeptTable.MESSAGES_BYTES, 8),
                        Arena.ofAuto().allocate(LAYOUTS_BYTES, 8))
                : null;
        limit = setup.limit();
        return begin(written, workingSet, kept == null ? null : kept.table());
    }

    /** How often the agent was killed. */
    int kills() {
        return kills;
    }

    /** The agent is killed, and another one adopts what it has left, which may be killed, too, while it does. */
    private void succeed() {
        while (true) {
            try {
                isKilled = false;
                ModelPool.succeed(setup);
                shard = newShard();
                fetcher = newFetcher();
                for (SimulatedHome home : fabric.homes()) {
                    home.succeed(shard);
                }
                passOn();
                Kept left = Objects.requireNonNull(kept);
                KeptTable table = left.table();
                refuse(table.obstacle(setup.pages(), setup.pageBytes(), left.written()));
                refuse(table.adopt(regions(), setup.pageBytes(), kernel().memory(), left.written()));
                pager = begin(left.written(), WorkingSet.EMPTY, table);
                return;
            } catch (AgentKilled again) {
                // Once more.
            }
        }
    }

    /**
     * The coordinator passes the attachment on when the homes have cut the killed process off. Before, it may have carried out a promotion that the process
     * has asked for, and dropped a home whose lease has run out. No home joins any more, and frames of dropped homes are reused.
     */
    private void passOn() {
        if (!setup.isMirrored()) {
            return;
        }
        for (int home = 0; home < setup.homes(); home++) {
            if (kill.first() == 1 && fabric.canPromote(home)) {
                promote(home, 0);
            }
            if (kill.second() == home + 1 && fabric.canDropForHeir(home)) {
                drop(home);
            }
        }
        fabric.cutOff();
        homesChanged();
    }

    private static void refuse(Optional<String> obstacle) {
        obstacle.ifPresent(why -> {
            throw new AssertionError("the guest is not adopted: " + why);
        });
    }

    private List<GuestRegion> regions() {
        return List.of(new GuestRegion(SimulatedKernel.BASE, (long) setup.pages() * setup.pageBytes(), 0));
    }

    private Pager begin(boolean written, WorkingSet workingSet, @Nullable KeptTable table) {
        SimulatedKernel kernel = guest.kernel();
        Pager begun = new Pager(
                new Pager.Guest(
                        "model",
                        kernel,
                        isPrivate() ? null : kernel.memory(),
                        regions(),
                        setup.pageBytes(),
                        written,
                        workingSet,
                        pins,
                        seal == null ? null : seal.begin(),
                        table),
                new Pager.Backing(
                        ModelPool.NODE, ModelPool.INCARNATION, () -> map, fabric::link, fetcher, pool, mirroring),
                new PagerOptions(PagerOptions.MIN_LOCAL_PAGES, setup.prefetch(), 1, PagerOptions.FLUSH_DEADLINE),
                () -> now,
                end -> ended = end);
        begun.resize(limit);
        invariants.limit(limit);
        cycle = () -> watched(begun);
        shard.submit(new ShardCommand.AddCycle(cycle));
        return begun;
    }

    /** What the pager asks the control plane for. */
    private final Mirroring mirroring = new Mirroring() {
        @Override
        public long dropNanos() {
            return DROP_NANOS;
        }

        @Override
        public void suspect(String node, long incarnation, boolean silent) {
            fabric.homes().stream()
                    .filter(home -> home.link().peer().equals(node))
                    .forEach(SimulatedHome::suspect);
        }

        @Override
        public long repairBytesPerSecond() {
            // Of several homes that may fail meanwhile, half the worlds copy a page in milliseconds.
            return setup.slots() % 2 == 0 ? 1L << 40 : setup.pageBytes() * 200L;
        }

        @Override
        public void mayPull(long firstPage, long epoch) {
            if (epoch == map.revision()) {
                fabric.noted(true);
            }
        }

        @Override
        public void copied(long firstPage, long epoch) {
            if (epoch == map.revision()) {
                fabric.copied(true);
            }
        }

        @Override
        public void joiningFailed(String node, long incarnation) {
            fabric.homes().stream()
                    .filter(home -> home.link().peer().equals(node) && home.isJoining())
                    .forEach(SimulatedHome::suspect);
        }

        @Override
        public void settled(long revision) {
            if (revision == map.revision()) {
                fabric.homes().stream().filter(SimulatedHome::isDropped).forEach(SimulatedHome::reuse);
            }
        }
    };

    /** The coordinator drops a home; the agent learns of it in its next duty cycle. */
    void drop(int number) {
        fabric.home(number).drop();
        homesChanged();
    }

    private void join(int number, boolean pulls) {
        fabric.home(number).join(pulls);
        homesChanged();
    }

    void beginPull(int number) {
        fabric.home(number).pull().begin();
        homesChanged();
    }

    void endPull(int number) {
        fabric.home(number).pull().end();
        homesChanged();
    }

    /**
     * The coordinator promotes a home that joins.
     *
     * @param replaced the home that is dropped in the same epoch, counted from 1; 0 for none
     */
    void promote(int number, int replaced) {
        fabric.home(number).promote();
        if (replaced > 0) {
            fabric.home(replaced - 1).drop();
        }
        homesChanged();
    }

    private void homesChanged() {
        fabric.copied(false);
        fabric.noted(false);
        map = ModelPool.mirrored(setup, fabric.members(), fabric.joining(), fabric.pulled(), map.revision() + 1);
    }

    /** A duty cycle of the pager. The test, and not the shard, handles what it throws, such as a failed invariant. */
    private int watched(Pager of) {
        try {
            return of.doWork();
        } catch (AgentKilled e) {
            // Nothing that it has prepared is posted.
            fabric.homes().forEach(home -> home.succeed(shard));
            return 0;
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
            if (isKilled) {
                throw new AgentKilled();
            }
        }
    }

    private void handle(Step step, boolean inCycle) {
        if (isPossible(step, inCycle)) {
            if (step.kind() == Kind.KILL) {
                kills++;
                isKilled = true;
                kill = step;
                if (!inCycle) {
                    succeed();
                }
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
            case CONNECT -> fabric.home(first).connect(shard);
            case SILENCE -> fabric.home(first).fallSilent();
            case ANSWER -> fabric.home(first).answer();
            case DROP -> drop(first);
            case JOIN -> join(first, step.second() == 1);
            case PULL_BEGIN -> beginPull(first);
            case PULL -> fabric.pull(first);
            case PULL_END -> endPull(first);
            case PROMOTE -> promote(first, step.second());
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
            case PROBE -> probe();
            case LOSE -> loseHome(fabric.home(first));
            case END -> guest.end();
            case KILL -> throw new AssertionError(step);
            case LIFE -> live();
        }
    }

    /** Calls into the kernel beside the duty cycles. */
    private void probe() {
        try {
            pager.probe();
        } catch (AgentKilled e) {
            succeed();
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
        return fabric.isAnyPageLost();
    }

    /** Whether a home that is not lost does not answer while pages of another one, or of this node, go on. */
    boolean isHomeSilentBesideOthers() {
        return (setup.localPages() > 0 || setup.homes() > 1)
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
        shard.doWork();
        if (isKilled) {
            thrown = null;
            succeed();
        }
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
        if (setup.has(Feature.JOINING)) {
            // The agent has detached, and attaches again.
            fabric.homes().stream()
                    .filter(home -> home.isDropped() || home.isJoining())
                    .forEach(SimulatedHome::reuse);
            homesChanged();
        }
        shard.submit(new ShardCommand.RemoveCycle(cycle));
        Pager before = pager;
        shard.submit(new ShardCommand.Run(before::close));
        pager = beginNew(true, invariants.workingSet());
    }

    /** What the home of a page has, the first of several; of an encrypted space, what the agent finds in it. */
    long home(int page) {
        return homes(page)[0];
    }

    /** What each home of a page has that is neither dropped nor lost. */
    long[] homes(int page) {
        return contentsAtHomes(page)
                .map(found -> seal == null ? found : seal.open(page, found))
                .toArray();
    }

    private LongStream contentsAtHomes(int page) {
        return isHomedRemotely(page)
                ? fabric.contents(page)
                : LongStream.of(Memory.version(pool.exportedAddress() + (long) page * setup.pageBytes()));
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
