package io.farpage.agent.pager.model;

import io.farpage.agent.pager.GuestRegion;
import io.farpage.agent.pager.Pager;
import io.farpage.agent.pager.PagerEnd;
import io.farpage.agent.pager.PagerOptions;
import io.farpage.agent.pager.WorkingSet;
import io.farpage.agent.pager.model.GuestThread.State;
import io.farpage.agent.pager.model.SimulatedNetwork.Transfer;
import io.farpage.agent.pager.model.Step.Kind;
import io.farpage.agent.shard.DutyCycle;
import io.farpage.agent.shard.Fetcher;
import io.farpage.agent.shard.LinkPhase;
import io.farpage.agent.shard.PeerLink;
import io.farpage.agent.shard.Shard;
import io.farpage.agent.shard.ShardCommand;
import io.farpage.agent.shard.ShardNotice;
import io.farpage.agent.space.SpaceMap;
import io.farpage.pool.PagePool;
import io.farpage.pool.header.PoolHeader;
import java.lang.foreign.Arena;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A guest, its agent, a home and the way there, of which one goes on at a time, as a schedule says. The agent is the real pager on a real
 * shard; other things happen between its turns and before each of its calls into the kernel. After every step {@link Invariants} are
 * checked. One thread.
 */
final class World {
    /** The most staging frames that a setup may have. */
    static final int MAX_FRAMES = ModelPool.FRAMES;

    static final int MAX_LIMIT = 12;

    private static final String HOME = "b";
    private static final long DEADLINE_NANOS = TimeUnit.SECONDS.toNanos(1);
    /** A turn that finds something to do. */
    static final long SHORT_NANOS = 20_000;

    /** Longer than the agent pauses when it finds that something cannot be had at the moment. */
    static final long LONG_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

    /** Longer than eviction rests after a child's removal. */
    private static final long REMOVAL_NANOS = TimeUnit.SECONDS.toNanos(61);

    /** After so many turns a shard has looked at its clock. */
    private static final int TURNS_TO_HOUSEKEEPING = 65;

    final Setup setup;
    final Truth truth;
    final SimulatedNetwork network;
    final PagePool pool = ModelPool.pool();
    List<GuestThread> threads;
    final SimulatedPins pins;
    final Shard shard;
    final Fetcher fetcher;
    final PeerLink link = new PeerLink(HOME);
    Processes guest;
    Pager pager;

    @Nullable
    PagerEnd ended;

    private final Schedule schedule;
    private final SpaceMap map;
    private final Invariants invariants;
    private @Nullable SimulatedQueuePair queuePair;
    private @Nullable Throwable thrown;
    private DutyCycle cycle = () -> 0;
    private long attempts;
    private long now = 1;
    private int limit;
    private boolean isSettling;
    private boolean isHomeLost;
    /** Whether the agent knows of the loss. */
    private boolean isLossKnown;

    /** Pages that were resident when the agent learnt that their home is lost, and that the guest has not given up since. */
    private final boolean[] onlyCopy;

    World(Setup setup, Schedule schedule) {
        this.setup = setup;
        this.schedule = schedule;
        ModelPool.reset(setup.frames());
        truth = new Truth(setup.pages());
        onlyCopy = new boolean[setup.pages()];
        network = new SimulatedNetwork(HOME, setup.pages());
        map = ModelPool.map(HOME, setup);
        shard = new Shard(List.of(network.rail()), Arena.ofAuto().allocate(PoolHeader.BYTES), () -> now, () -> {});
        fetcher = shard.newFetcher(setup.slots(), DEADLINE_NANOS);
        invariants = new Invariants(this);
        connect();
        guest = start();
        threads = guest.threads();
        pins = new SimulatedPins(schedule.inspectsSlowly(), () -> guest.threads());
        pager = begin(false, WorkingSet.EMPTY);
        settleLink();
    }

    private Processes start() {
        return new Processes(truth, new SimulatedKernel(setup.pages(), this::beforeCall), setup.threads());
    }

    /** The address space that the guest is in. */
    SimulatedKernel kernel() {
        return guest.kernel();
    }

    private Pager begin(boolean written, WorkingSet workingSet) {
        SimulatedKernel kernel = guest.kernel();
        GuestRegion region = new GuestRegion(SimulatedKernel.BASE, (long) setup.pages() * Memory.PAGE, 0);
        Pager begun = new Pager(
                new Pager.Guest(
                        "model", kernel, kernel.file(), List.of(region), Memory.PAGE, written, workingSet, pins),
                new Pager.Backing(ModelPool.NODE, ModelPool.INCARNATION, () -> map, node -> link, fetcher, pool),
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

    /** A turn of the pager. What it throws, an invariant that does not hold for one, is the test's and not the shard's to deal with. */
    private int watched(Pager turned) {
        try {
            return turned.doWork();
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

    /** Runs the schedule, and then brings everything to its end. */
    void run() {
        for (Step step = schedule.next(this, false); step != null; step = schedule.next(this, false)) {
            take(step, false);
        }
        if (schedule.settles()) {
            settle();
        }
    }

    private void beforeCall() {
        invariants.check();
        if (isSettling) {
            runThreads();
        }
        while (!isSettling) {
            Step step = schedule.next(this, true);
            if (step == null || step.kind() == Kind.AGENT) {
                return;
            }
            take(step, true);
        }
    }

    private void take(Step step, boolean inTurn) {
        if (isPossible(step, inTurn)) {
            apply(step);
            invariants.check();
        } else {
            schedule.passedOver(step);
        }
    }

    /** Whether a step means something now; if not, it is passed over. */
    boolean isPossible(Step step, boolean inTurn) {
        int first = step.first();
        List<Transfer> underWay = network.underWay();
        return switch (step.kind()) {
            case AGENT, WAIT, EXPIRE -> !inTurn;
            case LIFE -> !inTurn && !isHomeLost;
            case LOSE -> !isHomeLost && kernel().isAlive() && !guest.hasChild();
            case PROBE -> !inTurn && ended == null;
            case FORK -> !isHomeLost && guest.canFork(first);
            case CHILD_END -> guest.hasChild();
            case READ, WRITE, ZERO -> guest.isIdle(first) && step.second() < setup.pages();
            case DIRECT -> guest.isIdle(first) && step.second() < setup.pages() && !truth.isBeingRemoved(step.second());
            case REMOVE -> guest.isIdle(first) && canRemove(step.second());
            case REMOVE_TWO -> guest.isIdle(first) && canRemove(step.second()) && canRemove(step.second() + 1);
            case INSPECT -> pins.canBegin();
            case INSPECTED -> pins.canEnd();
            case RUN -> first < threads.size() && canRun(threads.get(first));
            case LAND ->
                first < underWay.size()
                        && step.second() < underWay.get(first).pages()
                        && !underWay.get(first).landed().get(step.second());
            case LAND_LATE -> first < network.late();
            case COMPLETE -> !underWay.isEmpty();
            case BREAK -> link.phase() == LinkPhase.UP;
            case CONNECT -> queuePair == null && !isHomeLost;
            case RESIZE -> first >= 1 && first <= MAX_LIMIT;
            case STARVE -> true;
            case SPLIT -> first > 0 && first < setup.pages();
            case RECLAIM -> first < setup.pages() && kernel().isMapped(first);
            case END -> kernel().isAlive();
        };
    }

    private boolean canRemove(int page) {
        return page < setup.pages() && !guest.isTarget(page);
    }

    static boolean canRun(GuestThread thread) {
        return thread.state == State.WOKEN || thread.state == State.ZAPPING || thread.state == State.PINNED;
    }

    private void apply(Step step) {
        int first = step.first();
        switch (step.kind()) {
            case AGENT -> turn();
            case READ, WRITE, ZERO, DIRECT, REMOVE, REMOVE_TWO, FORK ->
                guest.begin(threads.get(first), step.kind(), step.second());
            case CHILD_END -> guest.endChild();
            case INSPECT -> pins.begin();
            case INSPECTED -> pins.end();
            case RUN -> guest.goOn(threads.get(first));
            case LAND -> network.land(network.underWay().get(first), step.second());
            case LAND_LATE -> network.landLate(first);
            case COMPLETE -> network.complete();
            case BREAK -> {
                if (queuePair != null) {
                    queuePair.fail();
                }
            }
            case CONNECT -> connect();
            case EXPIRE -> pass(DEADLINE_NANOS + LONG_NANOS);
            case WAIT -> pass(LONG_NANOS);
            case RESIZE -> {
                limit = first;
                pager.resize(limit);
                invariants.limit(limit);
            }
            case RECLAIM -> kernel().reclaim(first);
            case STARVE -> kernel().starve(first);
            case SPLIT -> kernel().split(first);
            case PROBE -> pager.probe();
            case LOSE -> loseHome();
            case END -> guest.end();
            case LIFE -> live();
        }
    }

    private void loseHome() {
        isHomeLost = true;
        kernel().mayPoison(this::isHomedRemotely);
        shard.submit(new ShardCommand.SetIncarnation(link, SimulatedNetwork.INCARNATION + 1));
        if (queuePair != null) {
            queuePair.fail();
        }
    }

    private boolean isHomedRemotely(int page) {
        return page < setup.pages() - setup.localPages();
    }

    /** Whether the home of a page is lost. */
    boolean isHomeLost(int page) {
        return isHomeLost && isHomedRemotely(page);
    }

    boolean isHomeLost() {
        return isHomeLost;
    }

    /** Whether a page must be resident, since it is nowhere else. */
    boolean isOnlyCopy(int page) {
        return onlyCopy[page];
    }

    private void turn() {
        now += schedule.turnNanos();
        if (isHomeLost && !isLossKnown) {
            isLossKnown = true;
            for (int page = 0; page < setup.pages(); page++) {
                onlyCopy[page] = isHomedRemotely(page) && kernel().isCached(page) && !truth.isBeingRemoved(page);
            }
        }
        shard.doWork();
        rethrow();
        invariants.turned(now);
        for (ShardNotice notice = shard.pollNotice(); notice != null; notice = shard.pollNotice()) {
            if (notice instanceof ShardNotice.Released released) {
                released.queuePair().close();
                shard.submit(new ShardCommand.Destroyed(released.link(), released.attempt()));
                queuePair = null;
            }
        }
    }

    private void pass(long nanos) {
        now += nanos;
        for (int i = 0; i < TURNS_TO_HOUSEKEEPING; i++) {
            turn();
        }
    }

    private void connect() {
        queuePair = network.connect();
        shard.submit(new ShardCommand.Attach(
                link, queuePair, network.rail(), SimulatedNetwork.INCARNATION, network.memory(), ++attempts));
    }

    /** Ends a guest, and begins the next one with what the homes have. */
    private void live() {
        settle();
        ended = null;
        isSettling = false;
        pins.unsettle();
        guest = start();
        threads = guest.threads();
        shard.submit(new ShardCommand.RemoveCycle(cycle));
        pager = begin(true, invariants.workingSet());
    }

    /** What a page would be read as if the agent were killed now, and the guest with it. */
    long survivor(int page) {
        return kernel().isCached(page) ? kernel().content(page) : home(page);
    }

    /** What the home of a page has. */
    long home(int page) {
        return page < setup.pages() - setup.localPages()
                ? network.home(page)
                : Memory.version(pool.exportedAddress() + (long) page * Memory.PAGE);
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

    /** Whether every thread has what it asked for, and nothing is under way. */
    private boolean isQuiet() {
        return network.isIdle() && fetcher.inUse() == 0 && threads.stream().allMatch(t -> t.state == State.IDLE);
    }

    /** Nothing fails any more: all comes to rest, the VMM ends, and its memory is at its homes. */
    void settle() {
        isSettling = true;
        pins.settle();
        settle(this::isQuiet, "a thread waits for ever");
        guest.endChild();
        if (guest.hasForked()) {
            pass(REMOVAL_NANOS);
        }
        settle(() -> resident() <= limit || !kernel().isAlive(), "more is resident than may be");
        if (kernel().isAlive()) {
            guest.end();
        }
        if (ended == null) {
            pager.probe();
        }
        settle(() -> ended != null && isQuiet(), "the pager does not end");
        invariants.checkEnd();
    }

    private void settleLink() {
        isSettling = true;
        settle(() -> link.phase() == LinkPhase.UP, "the link does not come up");
        isSettling = false;
    }

    private void settle(java.util.function.BooleanSupplier isDone, String otherwise) {
        for (int round = 0; !isDone.getAsBoolean(); round++) {
            if (round == 200) {
                throw new AssertionError(otherwise);
            }
            settleSome(round);
            invariants.check();
        }
    }

    private void settleSome(int round) {
        if (queuePair == null && !isHomeLost) {
            connect();
        }
        while (!network.underWay().isEmpty()) {
            network.complete();
        }
        runThreads();
        turn();
        if (round % 10 == 9) {
            pass(LONG_NANOS);
            if (guest.hasForked() && ended == null) {
                pager.probe();
            }
        }
    }

    /** On processors of their own, so that a thread that was woken has touched its page before the agent's next call. */
    private void runThreads() {
        for (GuestThread thread : List.copyOf(threads)) {
            if (canRun(thread)) {
                guest.goOn(thread);
            }
        }
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        for (int page = 0; page < setup.pages(); page++) {
            text.append("page ").append(page).append(": ").append(kernel().describe(page));
            text.append(", home ")
                    .append(home(page))
                    .append(", may be ")
                    .append(truth.of(page))
                    .append('\n');
        }
        threads.forEach(thread -> text.append(thread).append('\n'));
        return text.append("pins: ")
                .append(pins.shape())
                .append('\n')
                .append(network.shape())
                .append('\n')
                .append(pager.status())
                .append('\n')
                .toString();
    }
}
