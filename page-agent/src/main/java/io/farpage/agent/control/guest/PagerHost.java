package io.farpage.agent.control.guest;

import io.farpage.agent.control.LocalNode;
import io.farpage.agent.control.space.Drops;
import io.farpage.agent.data.pager.Pager;
import io.farpage.agent.data.pager.PagerEnd;
import io.farpage.agent.data.pager.PagerOptions;
import io.farpage.agent.data.pager.SpaceMap;
import io.farpage.agent.data.shard.Fetcher;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.ShardCommand;
import io.farpage.agent.data.shard.ShardLoop;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import java.util.function.Supplier;

/** Adds pagers to a shard and removes them. Thread-safe. */
final class PagerHost {
    /** How long a shard may take to execute a command. */
    static final Duration TIMEOUT = Duration.ofSeconds(5);

    private final int number;
    private final LocalNode node;
    private final ShardLoop shard;
    private final Function<String, PeerLink> links;
    private final Guests.Options options;
    /** Fetchers without a pager, for reuse: a shard keeps every fetcher. The shard's thread only. */
    private final Deque<Fetcher> idle = new ArrayDeque<>();

    private final Map<Pager, Fetcher> lent = new HashMap<>();
    private final Map<Pager, Drops.Writer> writers = new HashMap<>();
    private final Drops drops;

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
            Guests.Options options,
            Drops drops) {
        this.drops = drops;
        this.number = number;
        this.node = node;
        this.shard = shard;
        this.links = links;
        this.options = options;
    }

    /** @throws IllegalArgumentException if the staging memory cannot hold two pages of a size, one to fetch and one to write back */
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

    /** Creates a pager on the shard. {@code ended} completes at its end. */
    Pager serve(Pager.Guest guest, Supplier<SpaceMap> map, PagerOptions paging, CompletableFuture<PagerEnd> ended) {
        return onShard(() -> {
            Fetcher fetcher = idle.isEmpty()
                    ? shard.shard()
                            .newFetcher(options.depth(), options.deadline().toNanos())
                    : idle.pop();
            SpaceMap first = map.get();
            Drops.Writer writer = drops.writer(
                    first, options.mirrors(), peer -> links.apply(peer).isUp(), shard::wake);
            Pager pager;
            try {
                pager = new Pager(
                        guest,
                        new Pager.Backing(
                                node.id(),
                                node.poolId().value(),
                                map,
                                links,
                                fetcher,
                                node.pool(),
                                node.pool().stagingShares(),
                                writer),
                        paging,
                        System::nanoTime,
                        ended::complete);
            } catch (RuntimeException e) {
                idle.push(fetcher);
                writer.close();
                throw e;
            }
            writers.put(pager, writer);
            pager.spinning(shard.spins());
            lent.put(pager, fetcher);
            shard.submit(new ShardCommand.AddCycle(pager));
            return pager;
        });
    }

    /** Has the pager probe whether its VMM's address space still exists. */
    void probe(Pager pager) {
        shard.submit(new ShardCommand.Run(pager::probe));
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

    /** Whether a pager can no longer reach any home and has no transfer under way. */
    CompletableFuture<Boolean> isCutOff(Pager pager) {
        CompletableFuture<Boolean> answer = new CompletableFuture<>();
        shard.submit(new ShardCommand.Run(() -> answer.complete(pager.isCutOff())));
        return answer;
    }

    /** Wakes the shard, because a pager has work. */
    void wake() {
        shard.wake();
    }

    /** Removes a pager from the shard. */
    void remove(Pager pager) {
        onShard(() -> {
            shard.submit(new ShardCommand.RemoveCycle(pager));
            Fetcher fetcher = lent.remove(pager);
            Drops.Writer writer = writers.remove(pager);
            if (fetcher != null && fetcher.inUse() == 0) {
                idle.push(fetcher);
                if (writer != null) {
                    writer.close();
                }
            }
            return pager;
        });
    }

    private <T> T onShard(Supplier<T> task) {
        CompletableFuture<T> result = new CompletableFuture<>();
        shard.submit(new ShardCommand.Run(() -> {
            try {
                result.complete(task.get());
            } catch (RuntimeException e) {
                result.completeExceptionally(e);
            }
        }));
        try {
            return result.get(TIMEOUT.toNanos(), TimeUnit.NANOSECONDS);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof RuntimeException why) {
                throw why;
            }
            throw new IllegalStateException(e.getCause());
        } catch (TimeoutException e) {
            throw new IllegalStateException("the shard did not answer within " + TIMEOUT, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while waiting for the shard", e);
        }
    }
}
