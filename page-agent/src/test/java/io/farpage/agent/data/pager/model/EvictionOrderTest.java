package io.farpage.agent.data.pager.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.linux.Errno;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Which pages the agent evicts, when, and the state of those that it cannot evict. */
final class EvictionOrderTest {
    private static final int PAGES = 40;
    private static final int LIMIT = 32;
    /** Frames that are kept free for faults at this limit; once they are used up, eviction frees twice as many. */
    private static final int SLACK = 8;

    private static final int GUEST_PAGES = 512;
    private static final int GUEST_LIMIT = 128;

    private static void run(int limit, CalmSchedule schedule) {
        new World(new Setup(PAGES, 0, 1, limit, 1, 8, World.MAX_FRAMES), schedule).run();
    }

    private static List<Integer> resident(World world) {
        return IntStream.range(0, PAGES)
                .filter(world.kernel()::isCached)
                .boxed()
                .toList();
    }

    /** How many pages are fetched when a guest of 512 pages, 128 of them resident, reads pages in an order. */
    private static long fetches(int[] order, Feature... features) {
        CalmSchedule schedule = new CalmSchedule().write(0, GUEST_PAGES);
        for (int page : order) {
            schedule.read(page, page + 1);
        }
        World world =
                new World(new Setup(GUEST_PAGES, 0, 1, GUEST_LIMIT, 1, 8, World.MAX_FRAMES).with(features), schedule);
        world.run();
        return world.agent.pager().counters().fetched().get();
    }

    /** Page r comes 1 / (r + 1) times as often as page 0, and pages next to each other are not of like rank. */
    private static int[] popularPages(int touches) {
        SplittableRandom random = new SplittableRandom(1);
        double[] sums = new double[GUEST_PAGES];
        for (int rank = 0; rank < GUEST_PAGES; rank++) {
            sums[rank] = (rank == 0 ? 0 : sums[rank - 1]) + 1.0 / (rank + 1);
        }
        int[] order = new int[touches];
        for (int i = 0; i < touches; i++) {
            int found = Arrays.binarySearch(sums, random.nextDouble(sums[GUEST_PAGES - 1]));
            int rank = found < 0 ? -found - 1 : found;
            order[i] = rank * 197 % GUEST_PAGES;
        }
        return order;
    }

    private static long missesOfLeastRecentlyUsed(int[] order) {
        Map<Integer, Boolean> resident = new LinkedHashMap<>(2 * GUEST_LIMIT, 0.75f, true);
        for (int page = GUEST_PAGES - GUEST_LIMIT; page < GUEST_PAGES; page++) {
            resident.put(page, true);
        }
        long misses = 0;
        for (int page : order) {
            if (resident.put(page, true) == null) {
                misses++;
                resident.remove(resident.keySet().iterator().next());
            }
        }
        return misses;
    }

    private static void requireTableAgrees(World world) {
        assertEquals(world.resident(), world.agent.pager().status().residentPages(), world::toString);
    }

    @Test
    void shouldFreeTwiceTheSlackWhenSlackIsUsed() {
        run(
                LIMIT,
                new CalmSchedule()
                        .write(0, LIMIT - SLACK)
                        .then(world -> assertEquals(LIMIT - SLACK, world.resident()))
                        .write(LIMIT - SLACK, LIMIT - SLACK + 1)
                        .then(world -> assertEquals(LIMIT - 2 * SLACK, world.resident())));
    }

    @Test
    void shouldPassOverPagesThatFaultedSinceLastLap() {
        run(
                LIMIT,
                new CalmSchedule()
                        .write(0, 12)
                        .write(20, 33)
                        .then(world -> assertFalse(world.kernel().isCached(8), "the first nine are out"))
                        .then(world -> assertTrue(world.kernel().isCached(9)))
                        .write(12, 20)
                        .write(33, 34)
                        .then(world -> assertEquals(
                                IntStream.concat(IntStream.range(12, 20), IntStream.range(26, 34))
                                        .boxed()
                                        .toList(),
                                resident(world))));
    }

    @Test
    void shouldMissLittleMoreThanLeastRecentlyUsed() {
        int[] order = popularPages(2500);
        long best = missesOfLeastRecentlyUsed(order);
        long without = fetches(order);
        long with = fetches(order, Feature.VICTIMS);
        String figures = with + " fetches, " + without + " without victims, " + best + " of least recently used";
        assertTrue(with < 1.15 * best, figures);
        assertTrue(with < without, figures);
    }

    /** Fewer pages than may be resident, since a pager that cannot evict serves faults above the limit. */
    @Test
    void shouldKeepDirtyPagesResidentWhenHoleCannotBePunched() {
        run(
                4,
                new CalmSchedule()
                        .then(world -> world.kernel().host().refuseHoles(-Errno.EPERM))
                        .write(0, 4)
                        .then(world -> assertEquals(4, world.resident()))
                        .then(EvictionOrderTest::requireTableAgrees));
    }

    @Test
    void shouldKeepWrittenPagesResidentWhenHoleCannotBePunched() {
        run(
                LIMIT,
                new CalmSchedule()
                        .write(0, LIMIT - SLACK)
                        .then(world -> world.kernel().host().refuseHoles(-Errno.EPERM))
                        .write(LIMIT - SLACK, LIMIT - SLACK + 1)
                        .then(world -> assertTrue(
                                world.agent.pager().status().writtenBackPages() > 0, "pages have reached their home"))
                        .then(world -> assertEquals(LIMIT - SLACK + 1, world.resident()))
                        .then(EvictionOrderTest::requireTableAgrees));
    }

    @Test
    void shouldKeepZeroPagesResidentWhenHoleCannotBePunched() {
        run(
                4,
                new CalmSchedule()
                        .then(world -> world.kernel().host().refuseHoles(-Errno.EPERM))
                        .read(0, 4)
                        .then(world -> assertEquals(4, world.resident()))
                        .then(EvictionOrderTest::requireTableAgrees));
    }

    @Test
    void shouldKeepCleanPagesResidentWhenHoleCannotBePunched() {
        run(
                LIMIT,
                new CalmSchedule()
                        .write(0, PAGES)
                        .read(0, PAGES)
                        .read(0, PAGES)
                        .then(world ->
                                assertEquals(0, world.agent.pager().status().dirtyPages()))
                        .then(EvictionOrderTest::requireTableAgrees)
                        .then(world -> world.kernel().host().refuseHoles(-Errno.EPERM))
                        .read(0, SLACK)
                        .then(world -> assertTrue(world.resident() > LIMIT - SLACK, world::toString))
                        .then(EvictionOrderTest::requireTableAgrees));
    }
}
