package io.farpage.agent.control.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.pager.page.PagerOptions;
import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class LocalSharesTest {
    private static final int MIN = PagerOptions.MIN_LOCAL_PAGES;
    private static final int RUNS = 300;
    private static final int ROUNDS = 200;

    @Test
    void shouldShareInProportionToTheSizesOfTheSlices() {
        LocalShares shares = new LocalShares(1000 + 2 * MIN, new int[] {30_000, 10_000});
        assertEquals(MIN + 750, shares.limit(0));
        assertEquals(MIN + 250, shares.limit(1));
        assertEquals(1000 + 2 * MIN, shares.ceiling());
    }

    @Test
    void shouldLimitNobodyWhereThereIsNoLimit() {
        LocalShares shares = new LocalShares(Integer.MAX_VALUE, new int[] {100, 100});
        assertEquals(Integer.MAX_VALUE, shares.limit(0));
        assertEquals(Integer.MAX_VALUE, shares.limit(1));
    }

    @Test
    void shouldGiveAllOfItToTheOnlyPager() {
        LocalShares shares = new LocalShares(1000, new int[] {77});
        assertEquals(1000, shares.limit(0));
        shares.resize(5000);
        assertEquals(5000, shares.limit(0));
    }

    @Test
    void shouldMoveWhatOneLeavesUnusedToOneThatFaults() {
        World world = new World(4000, 10_000, 10_000);
        world.faults(0, 100);
        for (int round = 0; round < 30; round++) {
            world.round();
        }
        assertTrue(world.shares.limit(0) > 3500, world.toString());
        assertTrue(world.shares.limit(1) >= MIN, world.toString());
    }

    @Test
    void shouldMoveWhatOneHoldsToOneThatFaultsFarMore() {
        World world = new World(4000, 10_000, 10_000);
        world.faults(0, 10);
        world.faults(1, 10);
        world.round();
        world.faults(0, 1000);
        for (int round = 0; round < 40; round++) {
            world.round();
        }
        assertTrue(world.shares.limit(0) > 3000, world.toString());
    }

    @Test
    void shouldLeaveLimitsAloneWhileAllFaultAlike() {
        World world = new World(4000, 10_000, 10_000);
        world.faults(0, 100);
        world.faults(1, 80);
        for (int round = 0; round < 40; round++) {
            world.round();
        }
        assertEquals(2000, world.shares.limit(0));
        assertEquals(2000, world.shares.limit(1));
    }

    @Test
    void shouldTakeNothingFromAnybodyForOneWhoseSliceIsHereWhole() {
        World world = new World(4000, 1000, 19_000);
        int before = world.shares.limit(1);
        world.resize(30_000);
        world.faults(0, 1000);
        for (int round = 0; round < 10; round++) {
            world.round();
        }
        assertTrue(world.shares.limit(1) >= before, world.toString());
        assertTrue(world.shares.limit(0) <= 1000, world.toString());
    }

    @Test
    void shouldNotGrantWhatAnotherStillHolds() {
        LocalShares shares = new LocalShares(2000, new int[] {10_000, 10_000});
        long[] held = {990, 990};
        shares.reclaim(held, new long[] {1000, 0});
        int lowered = shares.limit(1);
        assertTrue(lowered < 1000, "limit " + lowered);
        shares.grant(held);
        assertEquals(1000 + 10, shares.limit(0), "it may have what the other neither holds nor may have");
        shares.grant(new long[] {990, lowered});
        assertEquals(2000 - lowered, shares.limit(0));
    }

    @Test
    void shouldLowerAllAtOnceAndNoneBelowTheLeast() {
        LocalShares shares = new LocalShares(10_000, new int[] {90_000, 1000, 9000});
        shares.resize(3 * MIN);
        for (int i = 0; i < 3; i++) {
            assertEquals(MIN, shares.limit(i));
        }
        assertTrue(shares.ceiling() > 9990, "the ceiling keeps the earlier limit: " + shares.ceiling());
    }

    /** Whatever pagers do that keep to their limits, they never hold more together than the guest may have. */
    @Test
    void shouldNeverLetAllHoldMoreThanTheGuestMayHave() {
        long seed = Long.getLong("farpage.seed", System.nanoTime());
        System.out.println("seed " + seed + " (repeat with -Dfarpage.seed=" + seed + ")");
        SplittableRandom random = new SplittableRandom(seed);
        for (int run = 0; run < RUNS; run++) {
            int[] pages = random.ints(random.nextInt(1, 17), 1, 50_000).toArray();
            long least = LocalShares.minLimit(pages.length);
            World world = new World((int) random.nextLong(least, least + 60_000), pages);
            for (int round = 0; round < ROUNDS; round++) {
                if (random.nextInt(20) == 0) {
                    world.resize((int) random.nextLong(least, least + 60_000));
                }
                world.act(random);
                world.round();
                world.act(random);
                assertTrue(world.isWithinBounds(), "seed " + seed + ", run " + run + ": " + world);
            }
        }
    }

    /** Pagers that keep to their limits, but are slow to take pages out. */
    private static final class World {
        final LocalShares shares;
        final int[] pages;
        final long[] held;
        final long[] faults;
        final long[] rate;
        /** What all may hold and, after a resize, what they still hold of what they were allowed before. */
        long allowed;

        World(int cap, int... pages) {
            shares = new LocalShares(cap, pages);
            this.pages = pages;
            held = new long[pages.length];
            faults = new long[pages.length];
            rate = new long[pages.length];
            allowed = cap;
        }

        void faults(int pager, long each) {
            rate[pager] = each;
        }

        void resize(int cap) {
            shares.resize(cap);
            allowed = Math.max(cap, bound());
        }

        long bound() {
            long bound = 0;
            for (int i = 0; i < pages.length; i++) {
                bound += Math.max(shares.limit(i), held[i]);
            }
            return bound;
        }

        /**
         * One round of sharing: a pager that faults fills its limit, and each pager reports what it holds as soon as it
         * gets its limit.
         */
        void round() {
            for (int i = 0; i < pages.length; i++) {
                faults[i] += rate[i];
                if (rate[i] > 0) {
                    held[i] = Math.max(held[i], Math.min(shares.limit(i), pages[i]));
                }
            }
            long before = bound();
            shares.reclaim(held, faults);
            evict();
            shares.grant(held);
            assertTrue(bound() <= Math.max(shares.cap(), before), this::toString);
            allowed = Math.max(shares.cap(), bound());
            evict();
        }

        /** Half of what is above the limits goes. */
        private void evict() {
            for (int i = 0; i < pages.length; i++) {
                held[i] -= Math.max(0, held[i] - shares.limit(i) + 1) / 2;
            }
        }

        void act(SplittableRandom random) {
            for (int i = 0; i < pages.length; i++) {
                if (random.nextInt(3) == 0) {
                    rate[i] = random.nextInt(4) == 0 ? random.nextInt(100_000) : random.nextInt(20);
                }
                long room = Math.max(0, Math.min(shares.limit(i), pages[i]) - held[i]);
                held[i] += random.nextLong(room + 1);
            }
        }

        boolean isWithinBounds() {
            for (int i = 0; i < pages.length; i++) {
                if (shares.limit(i) < MIN) {
                    return false;
                }
            }
            return bound() <= allowed && Arrays.stream(held).sum() <= shares.ceiling();
        }

        @Override
        public String toString() {
            StringBuilder text = new StringBuilder("cap " + shares.cap() + ", allowed " + allowed);
            for (int i = 0; i < pages.length; i++) {
                text.append(
                        "; %d of %d pages, limit %d, %d faults".formatted(held[i], pages[i], shares.limit(i), rate[i]));
            }
            return text.toString();
        }
    }
}
