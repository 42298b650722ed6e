package io.farpage.agent.control.guest;

import io.farpage.agent.control.LocalNode;
import io.farpage.agent.control.space.Drops;
import io.farpage.agent.data.pager.Pager;
import io.farpage.agent.data.pager.PagerEnd;
import io.farpage.agent.data.pager.home.PagerBacking;
import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.pager.memory.PagedGuest;
import io.farpage.agent.data.pager.page.PagerOptions;
import io.farpage.agent.data.pager.page.PresenceMap;
import io.farpage.agent.data.shard.DutyCycle;
import io.farpage.agent.data.shard.Fetcher;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.ShardCommand;
import io.farpage.agent.data.shard.ShardLoop;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.Supplier;

/** Makes pagers, adds them to a shard and removes them. Thread-safe. */
final class PagerHost {
    /** How long a shard may take to execute a command. */
    static final Duration TIMEOUT = Duration.ofSeconds(5);

    /** How often a shard is woken to probe, at most. A guest asks as often. */
    private static final long PROBE_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    private final int number;
    private final LocalNode node;
    private final ShardLoop shard;
    private final Function<String, PeerLink> links;
    private final GuestOptions options;
    /** Fetchers without a pager, for reuse: a shard keeps every fetcher. */
    private final Queue<Fetcher> idle = new ConcurrentLinkedQueue<>();

    private final Map<Pager, Lent> lent = new ConcurrentHashMap<>();
    private final Drops drops;
    /** When the shard was woken last to probe. */
    private final AtomicLong probedNanos = new AtomicLong(System.nanoTime());

    /** What a pager has as long as it exists. */
    private record Lent(Fetcher fetcher, Drops.Writer writer) {}

    /**
     * @param number of the shard
     * @param links the shard's side of the link to a node
     * @param drops drops homes that fail
     */
    PagerHost(
            int number,
            LocalNode node,
            ShardLoop shard,
            Function<String, PeerLink> links,
            GuestOptions options,
            Drops drops) {
        this.drops = drops;
        this.number = number;
        this.node = node;
        this.shard = shard;
        this.links = links;
        this.options = options;
    }

    /**
     * @throws IllegalArgumentException if the staging memory cannot hold two pages of a size, one to fetch and one to
     *     write back
     */
    void requireStaging(int pageSize) {
        long staging = node.pool().staging().byteSize();
        if (staging < 2L * pageSize) {
            throw new IllegalArgumentException(
                    "pool.staging has %d bytes, too few for pages of %d; set it to %d or more"
                            .formatted(staging, pageSize, 2L * pageSize));
        }
    }

    /** Number of the shard. */
    int number() {
        return number;
    }

    /**
     * The pagers of one guest, as the coordinator's homes see them.
     */
    Drops.Writers writers() {
        return drops.writers();
    }

    /**
     * Makes a pager, which does nothing until {@link #start}. {@code ended} completes at its end. The shard has no part
     * in it, so a shard that does not answer delays nothing, and nothing is left behind if this throws.
     */
    Pager make(
            PagedGuest guest,
            Supplier<SpaceMap> map,
            PagerOptions paging,
            Drops.Writers writers,
            CompletableFuture<PagerEnd> ended) {
        Fetcher kept = idle.poll();
        Fetcher fetcher = kept != null
                ? kept
                : shard.shard().newFetcher(options.depth(), options.deadline().toNanos());
        Drops.Writer writer = writers.add(
                map.get(), options.mirrors(), peer -> links.apply(peer).isUp(), shard::wake);
        Pager pager;
        try {
            pager = new Pager(
                    guest,
                    new PagerBacking(
                            node.id(),
                            node.poolId().value(),
                            map,
                            links,
                            fetcher,
                            node.pool(),
                            node.pool().stagingShares(),
                            writer,
                            options.victims()),
                    paging,
                    System::nanoTime,
                    ended::complete);
        } catch (RuntimeException | OutOfMemoryError e) {
            idle.add(fetcher);
            writer.close();
            throw e;
        }
        pager.spinning(shard.spins());
        lent.put(pager, new Lent(fetcher, writer));
        return pager;
    }

    /** Adds a pager to the shard, whose thread alone uses it from now on. */
    void start(Pager pager) {
        shard.submit(new ShardCommand.AddCycle(pager));
    }

    /** Adds a source of another kind, which the shard's thread alone uses from now on. */
    void add(DutyCycle source) {
        shard.submit(new ShardCommand.AddCycle(source));
    }

    /** Runs a task on the shard's thread. */
    void run(Runnable task) {
        shard.submit(new ShardCommand.Run(task));
    }

    /** Removes a source of another kind. Completes when the shard uses it no more, on the shard's thread. */
    CompletableFuture<Void> removeCycle(DutyCycle source) {
        CompletableFuture<Void> removed = new CompletableFuture<>();
        shard.submit(new ShardCommand.RemoveCycle(source));
        shard.submit(new ShardCommand.Run(() -> removed.complete(null)));
        return removed;
    }

    /**
     * Queues a probe whether an address space still exists. The shard is woken for probes five times a second at most,
     * however many guests it has; a probe that comes in between runs with the next ones.
     */
    void probe(Runnable probe) {
        shard.shard().submit(new ShardCommand.Run(probe));
        long now = System.nanoTime();
        long last = probedNanos.get();
        if (now - last >= PROBE_NANOS && probedNanos.compareAndSet(last, now)) {
            shard.wake();
        }
    }

    /**
     * Sets the limit of a pager, and has it probe whether its VMM's address space still exists.
     *
     * @return the pages that it held when it had applied the limit
     */
    CompletableFuture<Long> limit(Pager pager, int localPages) {
        CompletableFuture<Long> held = new CompletableFuture<>();
        shard.submit(new ShardCommand.Run(() -> {
            pager.resize(localPages);
            pager.probe();
            held.complete(pager.held());
        }));
        return held;
    }

    /** As {@link Pager#giveMemory}. */
    void giveMemory(Pager pager) {
        shard.submit(new ShardCommand.Run(pager::giveMemory));
    }

    /** Parks the guest of a pager. Completes when the pager has begun. */
    CompletableFuture<Void> park(Pager pager, int keepPages) {
        CompletableFuture<Void> begun = new CompletableFuture<>();
        shard.submit(new ShardCommand.Run(() -> {
            pager.park(keepPages);
            begun.complete(null);
        }));
        return begun;
    }

    /** Ends parking. */
    void unpark(Pager pager) {
        shard.submit(new ShardCommand.Run(pager::unpark));
    }

    /** Whether a pager can no longer reach any home and has no transfer under way. */
    CompletableFuture<Boolean> isCutOff(Pager pager) {
        CompletableFuture<Boolean> answer = new CompletableFuture<>();
        shard.submit(new ShardCommand.Run(() -> answer.complete(pager.isCutOff())));
        return answer;
    }

    /** As {@link Pager#withdraw}. */
    CompletableFuture<Set<Long>> withdraw(Pager pager, Map<Long, Long> epochs) {
        CompletableFuture<Set<Long>> kept = new CompletableFuture<>();
        shard.submit(new ShardCommand.Run(() -> kept.complete(pager.withdraw(epochs))));
        return kept;
    }

    /** As {@link Pager#reinstate}. */
    void reinstate(Pager pager, Set<Long> firstPages) {
        shard.submit(new ShardCommand.Run(() -> pager.reinstate(firstPages)));
    }

    /** As {@link Pager#prepareFreeze}. */
    CompletableFuture<Optional<String>> prepareFreeze(Pager pager) {
        return ask(pager, Optional.of("its guest has ended"), () -> Optional.ofNullable(pager.prepareFreeze()));
    }

    /** As {@link Pager#freeze}. */
    CompletableFuture<Optional<String>> freeze(Pager pager) {
        return ask(pager, Optional.of("its guest has ended"), () -> Optional.ofNullable(pager.freeze()));
    }

    /** As {@link Pager#failFreeze}. */
    void failFreeze(Pager pager, String why) {
        shard.submit(new ShardCommand.Run(() -> pager.failFreeze(why)));
    }

    /** As {@link Pager#handOver}. */
    CompletableFuture<Boolean> handOver(Pager pager) {
        return ask(pager, false, pager::handOver);
    }

    /** As {@link Pager#thaw}. */
    void thaw(Pager pager) {
        shard.submit(new ShardCommand.Run(pager::thaw));
    }

    /** As {@link Pager#describe(PresenceMap, int, int, int)}. Answers whether the pager is still there. */
    CompletableFuture<Boolean> describe(Pager pager, PresenceMap map, int first, int from, int count) {
        return ask(pager, false, () -> {
            pager.describe(map, first, from, count);
            return true;
        });
    }

    /** Asks a pager on the shard's thread, unless it was removed. */
    private <T> CompletableFuture<T> ask(Pager pager, T otherwise, Supplier<T> question) {
        CompletableFuture<T> answer = new CompletableFuture<>();
        shard.submit(new ShardCommand.Run(() -> {
            try {
                answer.complete(lent.containsKey(pager) ? question.get() : otherwise);
            } catch (RuntimeException e) {
                answer.completeExceptionally(e);
            }
        }));
        return answer;
    }

    /** Wakes the shard, because a pager has work. */
    void wake() {
        shard.wake();
    }

    /** Removes a pager from the shard. Completes when the shard uses it no more, on the shard's thread. */
    CompletableFuture<Void> remove(Pager pager) {
        CompletableFuture<Void> removed = new CompletableFuture<>();
        shard.submit(new ShardCommand.RemoveCycle(pager));
        shard.submit(new ShardCommand.Run(() -> {
            takeBack(pager);
            removed.complete(null);
        }));
        return removed;
    }

    /** Gives up a pager that was not started. */
    void discard(Pager pager) {
        takeBack(pager);
    }

    /** A fetcher that has transfers under way is used no more. */
    private void takeBack(Pager pager) {
        Lent back = lent.remove(pager);
        if (back != null && back.fetcher().inUse() == 0) {
            idle.add(back.fetcher());
            back.writer().close();
        }
    }
}
