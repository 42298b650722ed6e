package io.farpage.agent.control.link;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.control.link.Handshake.Mine;
import io.farpage.agent.control.link.Handshake.Theirs;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Two sides and a board to publish on, run step by step in random order: looking, creating and publishing are separate
 * moments, links fail, either may start, and they have different numbers of shards. Once the failures have ended, the
 * two must end up connected to each other, and soon.
 */
final class HandshakeModelTest {
    private static final int RUNS = 20_000;
    private static final int TROUBLED_STEPS = 40;
    private static final int STEPS_TO_SETTLE = 400;

    @Test
    void shouldAlwaysEndInOneLink() {
        long seed = Long.getLong("farpage.seed", System.nanoTime());
        System.out.println("seed " + seed + " (repeat with -Dfarpage.seed=" + seed + ")");
        Random random = new Random(seed);
        for (int run = 0; run < RUNS; run++) {
            World world = new World(random);
            for (int i = 0; i < TROUBLED_STEPS; i++) {
                world.step(true);
            }
            int steps = 0;
            while (!world.isLinked()) {
                world.step(false);
                assertTrue(++steps < STEPS_TO_SETTLE, "not linked; run " + run + " of seed " + seed + ": " + world);
            }
            for (int i = 0; i < 50; i++) {
                world.step(false);
            }
            assertTrue(world.isLinked(), "a healthy link was given up; run " + run + " of seed " + seed + ": " + world);
        }
    }

    private static final class World {
        final Random random;
        final Side a;
        final Side b;
        long nextAttempt = 1;

        World(Random random) {
            this.random = random;
            a = new Side(1 + random.nextInt(3));
            b = new Side(1 + random.nextInt(3));
        }

        void step(boolean troubled) {
            Side side = random.nextBoolean() ? a : b;
            side.step(this, side == a ? b : a, troubled);
        }

        boolean isLinked() {
            return a.mine instanceof Mine.Connected(long ofA, long toB)
                    && b.mine instanceof Mine.Connected(long ofB, long toA)
                    && toB == ofB
                    && toA == ofA
                    && a.queuePairs == Math.max(a.shards, b.shards)
                    && b.queuePairs == a.queuePairs;
        }

        @Override
        public String toString() {
            return a + " / " + b;
        }
    }

    private static final class Side {
        final int shards;
        int queuePairs;
        int publishedQueuePairs;
        Mine mine = new Mine.Nothing();
        Optional<Theirs> published = Optional.empty();
        OptionalLong lastUsed = OptionalLong.empty();

        @Nullable
        Theirs toPublish;

        Side(int shards) {
            this.shards = shards;
        }

        void step(World world, Side peer, boolean troubled) {
            if (toPublish != null) {
                published = Optional.of(toPublish);
                publishedQueuePairs = queuePairs;
                toPublish = null;
                return;
            }
            if (mine instanceof Mine.Leaving) {
                mine = new Mine.Nothing();
                return;
            }
            // One side that sees its link broken may see it long before the other, or alone.
            boolean broken = mine instanceof Mine.Connected(long mineIs, long to)
                    && !(peer.mine instanceof Mine.Connected(long theirsIs, long theirTo)
                            && theirsIs == to
                            && theirTo == mineIs)
                    && !(peer.mine instanceof Mine.Offered(long offered) && offered == to);
            boolean fails = troubled && world.random.nextInt(8) == 0 && !(mine instanceof Mine.Nothing);
            if (fails || (broken && world.random.nextInt(4) == 0)) {
                mine = new Mine.Leaving();
                return;
            }
            Optional<Theirs> theirs =
                    peer.published.map(p -> new Theirs(p.attempt(), p.answers(), peer.publishedQueuePairs >= shards));
            switch (Handshake.next(mine, theirs, lastUsed, world.random.nextInt(4) == 0)) {
                case WAIT -> {}
                case OFFER -> {
                    long attempt = world.nextAttempt++;
                    mine = new Mine.Offered(attempt);
                    queuePairs = Math.max(shards, peer.publishedQueuePairs);
                    toPublish = new Theirs(attempt, OptionalLong.empty(), true);
                }
                case ANSWER -> connect(world.nextAttempt++, peer);
                case CONNECT -> connect(((Mine.Offered) mine).attempt(), peer);
                case DISCONNECT -> mine = new Mine.Leaving();
            }
        }

        private void connect(long attempt, Side peer) {
            long to = peer.published.orElseThrow().attempt();
            mine = new Mine.Connected(attempt, to);
            lastUsed = OptionalLong.of(to);
            queuePairs = Math.max(shards, peer.publishedQueuePairs);
            toPublish = new Theirs(attempt, OptionalLong.of(to), true);
        }

        @Override
        public String toString() {
            return shards + " shards, " + queuePairs + " queue pairs, " + mine + " published " + published + " used "
                    + lastUsed;
        }
    }
}
