package io.farpage.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.harness.CountedPages;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/** What pages hold after a number of stores, against the stores made one by one. */
class CountedPagesTest {
    private static final int PAGE = 64;
    private static final int PAGES = 48;
    private static final int STORES = 4 * PAGES;

    private final CountedPages counted = new CountedPages(7, PAGES);
    private final byte[][] held = new byte[PAGES][PAGE];

    private long wrong(long stores) {
        long wrong = 0;
        for (int page = 0; page < PAGES; page++) {
            if (counted.wrongAt(MemorySegment.ofArray(held[page]), page, stores) >= 0) {
                wrong++;
            }
        }
        return wrong;
    }

    @Test
    void shouldAgreeWithStoresMadeOneByOne() {
        assertEquals(0, wrong(0));
        for (long store = 0; store < STORES; store++) {
            held[counted.page(store)] = counted.content(store, PAGE);
            assertEquals(0, wrong(store + 1), "after store " + store);
        }
        long zeros = Arrays.stream(held)
                .filter(page -> Arrays.equals(page, new byte[PAGE]))
                .count();
        assertTrue(zeros > PAGES / 16 && zeros < PAGES / 2, "pages of zeros: " + zeros);
    }

    @Test
    void shouldFindEachPageOfAnotherMomentWrong() {
        int notZeros = 0;
        for (long store = 0; store < STORES; store++) {
            byte[] before = held[counted.page(store)];
            held[counted.page(store)] = counted.content(store, PAGE);
            if (!Arrays.equals(before, held[counted.page(store)])) {
                notZeros++;
                assertEquals(1, wrong(store), "store " + store + " is too new");
                byte[] now = held[counted.page(store)];
                held[counted.page(store)] = before;
                assertEquals(1, wrong(store + 1), "store " + store + " is missing");
                held[counted.page(store)] = now;
            }
        }
        assertTrue(notZeros > STORES / 2, "stores that change a page: " + notZeros);
    }
}
