package io.farpage.agent.data.pager.model;

import io.farpage.agent.data.pager.Pager;
import io.farpage.agent.data.pager.PagerEnd;
import io.farpage.agent.data.pager.home.PagerBacking;
import io.farpage.agent.data.pager.memory.PagedGuest;
import io.farpage.agent.data.pager.model.Step.Kind;
import io.farpage.agent.data.pager.page.GuestRegion;
import io.farpage.agent.data.pager.page.KeptTable;
import io.farpage.agent.data.pager.page.PagerOptions;
import io.farpage.agent.data.pager.page.PresenceMap;
import io.farpage.agent.data.pager.page.VictimMemory;
import io.farpage.agent.data.shard.DutyCycle;
import io.farpage.agent.data.shard.Fetcher;
import io.farpage.agent.data.shard.Shard;
import io.farpage.agent.data.shard.ShardCommand;
import io.farpage.agent.data.shard.ShardNotice;
import io.farpage.pool.header.PoolHeader;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/** The agent of a world: the real pager on a real shard. When it is killed, a successor adopts what it has left. */
final class Agent {
    /** How often the agent may be killed. */
    static final int MAX_KILLS = 20;

    /** Within which a transfer completes, unless another home has the page. */
    static final long DEADLINE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private static final long NO_DEADLINE_NANOS = TimeUnit.HOURS.toNanos(1);
    /** For a few regions. */
    private static final int LAYOUTS_BYTES = 512;

    private final World world;
    private final Setup setup;
    private Shard shard;
    private Fetcher fetcher;
    private @Nullable Pager pager;
    private DutyCycle cycle = () -> 0;
    private int limit;
    /** Pages that may be resident while the guest is parked. */
    private int parkedLimit;

    private @Nullable PagerEnd ended;
    private @Nullable Throwable thrown;
    private @Nullable Kept kept;
    private int kills;
    private boolean isKilled;
    /** How the agent was killed last. */
    private Step kill = Step.of(Kind.KILL);

    /** What outlives the agent. */
    private record Kept(boolean written, MemorySegment entries, MemorySegment messages, MemorySegment layouts) {
        KeptTable table() {
            return new KeptTable(entries, messages, layouts);
        }
    }

    Agent(World world) {
        this.world = world;
        setup = world.setup;
        shard = newShard();
        fetcher = newFetcher();
    }

    private Shard newShard() {
        return new Shard(world.fabric.rails(), Arena.ofAuto().allocate(3 * PoolHeader.BYTES), world::now, () -> {});
    }

    /** No deadline helps where another home has the page. */
    private Fetcher newFetcher() {
        return shard.newFetcher(setup.slots(), setup.isMirrored() ? NO_DEADLINE_NANOS : DEADLINE_NANOS);
    }

    Shard shard() {
        return shard;
    }

    Fetcher fetcher() {
        return fetcher;
    }

    /** The pager of the guest that is served, or was served last. */
    Pager pager() {
        return Objects.requireNonNull(pager);
    }

    /** How the pager has ended; null if it has not. */
    @Nullable
    PagerEnd ended() {
        return ended;
    }

    /** Pages of the guest that may be resident. */
    int limit() {
        return pager().isParked() ? Math.min(limit, parkedLimit) : limit;
    }

    /** How often the agent was killed. */
    int kills() {
        return kills;
    }

    /** Whether a successor would take a page for zeros that the memory file does not have. */
    boolean leavesZeros(int page) {
        return kept != null && kept.table().isZerosIfAbsent(page, kept.written());
    }

    /** Whether the agent was killed, and its successor has not begun. */
    boolean isKilled() {
        return isKilled;
    }

    /**
     * Serves a guest that has just started.
     *
     * @param presence which pages its homes have
     */
    void serve(PresenceMap presence) {
        boolean written = presence.isAnyPresent();
        kept = setup.has(Feature.KEPT)
                ? new Kept(
                        written,
                        Arena.ofAuto().allocate(Pager.tableBytes(setup.pages()), 8),
                        Arena.ofAuto().allocate(KeptTable.MESSAGES_BYTES, 8),
                        Arena.ofAuto().allocate(LAYOUTS_BYTES, 8))
                : null;
        limit = setup.limit();
        begin(written, presence, kept == null ? null : kept.table());
    }

    /** Serves the next guest, whose pages are at the homes of the one that has ended. */
    void serveNext(PresenceMap presence) {
        shard.submit(new ShardCommand.RemoveCycle(cycle));
        shard.submit(new ShardCommand.Run(pager()::close));
        ended = null;
        serve(presence);
    }

    private void begin(boolean written, PresenceMap presence, @Nullable KeptTable table) {
        SimulatedKernel kernel = world.kernel();
        SimulatedCoordinator coordinator = world.coordinator;
        Pager begun = new Pager(
                new PagedGuest(
                        "model",
                        kernel,
                        world.isPrivate() ? null : kernel.memory(),
                        regions(),
                        setup.pageBytes(),
                        written,
                        presence,
                        world.pins,
                        world.seal == null ? null : world.seal.begin(),
                        table,
                        false),
                new PagerBacking(
                        ModelPool.NODE,
                        ModelPool.INCARNATION,
                        coordinator::map,
                        world.fabric::link,
                        fetcher,
                        world.pool,
                        ModelPool.shares(setup),
                        coordinator.mirroring(),
                        setup.has(Feature.VICTIMS) ? new VictimMemory(setup.pages(), 2) : VictimMemory.NONE),
                new PagerOptions(PagerOptions.MIN_LOCAL_PAGES, setup.prefetch(), 1, PagerOptions.FLUSH_DEADLINE),
                world::now,
                end -> ended = end);
        begun.resize(limit);
        world.invariants().limit(limit);
        cycle = new Watched(begun);
        shard.submit(new ShardCommand.AddCycle(cycle));
        pager = begun;
    }

    private List<GuestRegion> regions() {
        return List.of(new GuestRegion(SimulatedKernel.BASE, (long) setup.pages() * setup.pageBytes(), 0));
    }

    void resize(int pages) {
        limit = pages;
        pager().resize(limit);
        world.invariants().limit(limit);
    }

    void park(int pages) {
        parkedLimit = pages;
        pager().park(pages);
    }

    void unpark() {
        pager().unpark();
    }

    /** Makes the pager look after its guest, as a thread beside the duty cycles does, with calls into the kernel. */
    void probe() {
        try {
            pager().probe();
        } catch (AgentKilled e) {
            succeed();
        }
    }

    /** A duty cycle of the shard. */
    void runCycle() {
        shard.doWork();
        if (isKilled) {
            thrown = null;
            succeed();
        }
        rethrow();
    }

    /** The duty cycles of a pager. The test, and not the shard, handles what it throws, such as a failed invariant. */
    private final class Watched implements DutyCycle {
        private final Pager of;

        Watched(Pager of) {
            this.of = of;
        }

        @Override
        public int doUrgentWork() {
            return watched(of::doUrgentWork);
        }

        @Override
        public int doWork() {
            return watched(of::doWork);
        }
    }

    private int watched(IntSupplier part) {
        if (isKilled) {
            return 0;
        }
        try {
            return part.getAsInt();
        } catch (AgentKilled e) {
            // Nothing that it has prepared is posted.
            world.fabric.homes().forEach(home -> home.succeed());
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

    /** Destroys the queue pairs that the shard has released. */
    void handleNotices() {
        for (ShardNotice notice = shard.pollNotice(); notice != null; notice = shard.pollNotice()) {
            if (notice instanceof ShardNotice.Released released) {
                world.fabric.released(released, shard);
            }
        }
    }

    /**
     * The agent is killed.
     *
     * @param inCycle whether that happens in a call into the kernel, which then throws {@link AgentKilled}; the
     *     successor begins when the duty cycle has ended
     */
    void kill(Step how, boolean inCycle) {
        kills++;
        isKilled = true;
        kill = how;
        if (!inCycle) {
            succeed();
        }
    }

    /** Another agent adopts what the killed one has left, and may be killed, too, while it does. */
    private void succeed() {
        while (true) {
            try {
                isKilled = false;
                ModelPool.succeed(setup);
                shard = newShard();
                fetcher = newFetcher();
                for (SimulatedHome home : world.fabric.homes()) {
                    home.succeed();
                }
                if (kill.first() == 1 && world.snapshot.canThaw(true)) {
                    world.coordinator.handOver();
                }
                world.coordinator.passOn(kill);
                world.coordinator.room().forget();
                Kept left = Objects.requireNonNull(kept);
                KeptTable table = left.table();
                refuse(table.obstacle(setup.pages(), setup.pageBytes(), left.written()));
                refuse(table.adopt(regions(), setup.pageBytes(), world.kernel().memory(), left.written()));
                boolean wasParked = pager().isParked();
                begin(left.written(), PresenceMap.unknown(setup.pages()), table);
                world.snapshot.forget();
                if (wasParked) {
                    pager().park(parkedLimit);
                }
                return;
            } catch (AgentKilled again) {
                // Once more.
            }
        }
    }

    private static void refuse(Optional<String> obstacle) {
        obstacle.ifPresent(why -> {
            throw new AssertionError("the guest is not adopted: " + why);
        });
    }
}
