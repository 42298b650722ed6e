package io.farpage.bench.evict;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

final class OrdersTest {
    private static final int PAGES = 40;
    private static final int FRAMES = 10;
    /** The example of W. Stallings, <i>Operating Systems</i>, with three frames. */
    private static final int[] EXAMPLE = {2, 3, 2, 1, 5, 2, 4, 5, 3, 2, 5, 2};

    @Test
    void shouldCountMissesOfExample() {
        assertEquals(6, Orders.belady(EXAMPLE, 6, 3, 0));
        assertEquals(7, Orders.leastRecentlyUsed(EXAMPLE, 6, 3, 0));
    }

    @Test
    void shouldCountMissesFromThereOnWhenFirstTouchesDoNotCount() {
        assertEquals(4, Orders.leastRecentlyUsed(EXAMPLE, 6, 3, 4));
        assertEquals(0, Orders.leastRecentlyUsed(EXAMPLE, 6, 6, 7));
    }

    @Test
    void shouldAgreeWithAListWhenOrderIsRandom() {
        SplittableRandom random = new SplittableRandom(1);
        for (int run = 0; run < 50; run++) {
            int[] trace = random.ints(500, 0, PAGES).toArray();
            Map<Integer, Boolean> resident = new LinkedHashMap<>(2 * FRAMES, 0.75f, true);
            long misses = 0;
            for (int page : trace) {
                if (resident.put(page, true) == null) {
                    misses++;
                    if (resident.size() > FRAMES) {
                        resident.remove(resident.keySet().iterator().next());
                    }
                }
            }
            long leastRecent = Orders.leastRecentlyUsed(trace, PAGES, FRAMES, 0);
            assertEquals(misses, leastRecent);
            assertTrue(Orders.belady(trace, PAGES, FRAMES, 0) <= leastRecent);
        }
    }
}
