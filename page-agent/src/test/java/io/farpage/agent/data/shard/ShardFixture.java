package io.farpage.agent.data.shard;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.pool.header.PoolHeader;
import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.QueuePair;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;

/**
 * A shard whose duty cycles a test runs, over the soft provider's devices, with a clock that stands still unless the
 * test advances it.
 */
abstract class ShardFixture {
    static final int PAGE = 4096;
    static final long DEADLINE = TimeUnit.SECONDS.toNanos(2);

    final Home node = new Home("node");
    final Home home = new Home("home");
    final PeerLink link = new PeerLink("home");
    long now = 1_000_000_000;
    int notices;
    final Shard shard = new Shard(
            node.rails.rails(),
            node.pool.staging().asSlice(Home.BYTES - 2 * PoolHeader.BYTES, 2 * PoolHeader.BYTES),
            () -> now,
            () -> notices++);
    final Fetcher fetcher = shard.newFetcher(4, DEADLINE);

    @AfterEach
    void close() {
        shard.close();
        node.close();
        home.close();
    }

    /** Connects a new queue pair with the home's and gives it to the shard. */
    QueuePair connect(long attempt, long incarnation) {
        return connect(attempt, incarnation, home.memory());
    }

    QueuePair connect(long attempt, long incarnation, PeerMemory memory) {
        return connect(link, node.rail(), attempt, incarnation, memory);
    }

    QueuePair connect(PeerLink to, long attempt) {
        return connect(to, node.rail(), attempt, Home.INCARNATION, home.memory());
    }

    QueuePair connect(PeerLink to, Rail rail, long attempt, long incarnation, PeerMemory memory) {
        QueuePair mine = node.queuePair();
        QueuePair theirs = home.queuePair();
        theirs.modifyToRtr(mine.endpoint());
        mine.modifyToRtr(theirs.endpoint());
        theirs.modifyToRts();
        mine.modifyToRts();
        shard.submit(new ShardCommand.Install(to, new Connection(mine, rail, incarnation, memory, attempt)));
        return mine;
    }

    /** Gives the shard a queue pair whose peer never gets to RTR, so that the READ of its header has no answer. */
    void installUnanswered(long attempt) {
        QueuePair queuePair = node.queuePair();
        QueuePair silent = home.queuePair();
        queuePair.modifyToRtr(silent.endpoint());
        queuePair.modifyToRts();
        shard.submit(new ShardCommand.Install(
                link, new Connection(queuePair, node.rail(), Home.INCARNATION, home.memory(), attempt)));
    }

    /** Begins to read a page of the home into the staging frame of the same number. */
    int read(int page) {
        return fetcher.read(
                Priority.DEMAND,
                link,
                Home.INCARNATION,
                (long) page * PAGE,
                PAGE,
                node.pool.stagingAddress() + (long) page * PAGE);
    }

    /** Advances the clock in equal steps that count in full, with a duty cycle after each that reads it. */
    void advance(long nanos) {
        long end = now + nanos;
        for (long steps = Math.ceilDiv(nanos, SilenceClock.MAX_STEP_NANOS); steps > 0; steps--) {
            now += (end - now) / steps;
            shard.slept(0);
            shard.doWork();
        }
    }

    void runUntil(BooleanSupplier holds) {
        Deadlines.await("the shard", Deadlines.LONG)
                .pollInterval(Duration.ofMillis(1))
                .until(() -> {
                    for (int cycle = 0; cycle < 100 && !holds.getAsBoolean(); cycle++) {
                        shard.doWork();
                    }
                    return holds.getAsBoolean();
                });
    }

    /** Runs duty cycles until the shard has released a queue pair, destroys it, and tells the shard. */
    ShardNotice.Released destroyReleased() {
        ShardNotice.Released notice = runUntilReleased();
        notice.queuePair().close();
        shard.submit(new ShardCommand.Destroyed(notice.link(), notice.attempt()));
        shard.doWork();
        return notice;
    }

    /** Runs duty cycles, a millisecond apart, until the shard has released a queue pair. */
    ShardNotice.Released runUntilReleased() {
        AtomicReference<ShardNotice.@Nullable Released> seen = new AtomicReference<>();
        runUntil(() -> {
            advance(TimeUnit.MILLISECONDS.toNanos(1));
            for (ShardNotice notice = shard.pollNotice(); notice != null; notice = shard.pollNotice()) {
                if (notice instanceof ShardNotice.Released released) {
                    seen.set(released);
                }
            }
            return seen.get() != null;
        });
        return Objects.requireNonNull(seen.get());
    }

    /** Replaces the completion queue that the shard polls. */
    Rail rail(CompletionQueue queue) {
        Rail rail = new Rail("faulty", queue, node.rail().channel(), node.rail().stagingLkey(), 1);
        shard.submit(new ShardCommand.RemoveRail(node.rail(), new CompletableFuture<>()));
        shard.submit(new ShardCommand.AddRail(rail));
        return rail;
    }
}
