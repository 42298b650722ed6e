package io.farpage.agent.data.pager.page;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.BitSet;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PageSetTest {

    /** Whole blocks, a rest of whole words, and a rest that ends within a word. */
    @ParameterizedTest
    @ValueSource(ints = {1, 64, 100, PageSet.BLOCK, 2 * PageSet.BLOCK, 2 * PageSet.BLOCK + 64, 3 * PageSet.BLOCK - 1})
    void shouldHoldWhatABitSetHolds(int pages) {
        long seed = Long.getLong("farpage.seed", System.nanoTime());
        System.out.println("seed " + seed);
        Random random = new Random(seed);
        PageSet set = new PageSet(pages);
        BitSet expected = new BitSet(pages);
        for (int round = 0; round < 200; round++) {
            int first = random.nextInt(pages);
            int end = first + random.nextInt(Math.min(pages - first, 1 << random.nextInt(18)) + 1);
            switch (random.nextInt(2)) {
                case 0 -> {
                    for (int page = first; page < end; page++) {
                        set.add(page);
                    }
                    expected.set(first, end);
                }
                default -> {
                    for (int page = first; page < end; page++) {
                        assertEquals(expected.get(page), set.remove(page));
                    }
                    expected.clear(first, end);
                }
            }
            assertEquals(expected.cardinality(), set.size());
            int page = random.nextInt(pages);
            assertEquals(expected.get(page), set.contains(page));
            assertEquals(expected.nextSetBit(page), set.next(page));
            assertEquals(expected.nextSetBit(0), set.next(0));
            assertEquals(Math.min(pages, expected.nextClearBit(page)), set.nextAbsent(page));
        }
        for (int page = set.next(0), next = expected.nextSetBit(0); page >= 0 || next >= 0; ) {
            assertEquals(next, page);
            page = set.next(page + 1);
            next = expected.nextSetBit(next + 1);
        }
    }

    @Test
    void shouldHoldAsManyPagesAsThereCanBe() {
        PageSet set = new PageSet(Integer.MAX_VALUE);
        assertEquals(-1, set.next(0));
        set.add(Integer.MAX_VALUE - 1);
        assertEquals(Integer.MAX_VALUE - 1, set.next(1));
        assertEquals(-1, set.next(Integer.MAX_VALUE));
        assertEquals(1, set.size());
        assertTrue(set.remove(Integer.MAX_VALUE - 1));
        assertFalse(set.contains(Integer.MAX_VALUE - 1));
        assertEquals(-1, set.next(Integer.MAX_VALUE - 1));
    }
}
