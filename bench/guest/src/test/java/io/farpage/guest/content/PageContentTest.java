package io.farpage.guest.content;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class PageContentTest {
    private static final long SEED = 20260101;

    @ParameterizedTest
    @ValueSource(ints = {8, 4088, 4096, 4104, 65536, 2 << 20})
    void shouldVerifyWhatItFilled(int size) {
        MemorySegment page = page(size);
        PageContent.fill(page, SEED, 17);
        assertEquals(-1, PageContent.verify(page, SEED, 17));
        assertEquals(-1, PageContent.verifyEndsAt(page.address(), size, SEED, 17));
    }

    @Test
    void shouldFillTheSameContentByAddressAsBySegment() {
        MemorySegment page = page(4096);
        PageContent.fillAt(page.address(), 4096, SEED, 3);
        assertEquals(-1, PageContent.verify(page, SEED, 3));
        assertEquals(-1, PageContent.verifyAt(page.address(), 4096, SEED, 3));
    }

    @Test
    void shouldNameTheWordOfAnyFlippedBit() {
        MemorySegment page = page(8192);
        PageContent.fill(page, SEED, 5);
        for (int at = 0; at < 8192; at++) {
            byte right = page.get(ValueLayout.JAVA_BYTE, at);
            page.set(ValueLayout.JAVA_BYTE, at, (byte) (right ^ (1 << (at & 7))));
            assertEquals(at & ~7, PageContent.verify(page, SEED, 5));
            page.set(ValueLayout.JAVA_BYTE, at, right);
        }
    }

    @Test
    void shouldFindAMismatchWhenPageOrSeedDiffers() {
        MemorySegment page = page(4096);
        PageContent.fill(page, SEED, 5);
        assertNotEquals(-1, PageContent.verify(page, SEED, 6));
        assertNotEquals(-1, PageContent.verify(page, SEED + 1, 5));
        assertNotEquals(-1, PageContent.verifyEndsAt(page.address(), 4096, SEED, 6));
    }

    @Test
    void shouldFindAMismatchWhenOnlyTheEndOfAPageIsOld() {
        MemorySegment page = page(4096);
        PageContent.fill(page, SEED, 5);
        page.set(ValueLayout.JAVA_LONG, 4088, 0);
        assertEquals(4088, PageContent.verifyEndsAt(page.address(), 4096, SEED, 5));
    }

    @Test
    void shouldNotRepeatWordsWithinAPageOrBetweenNeighbours() {
        Set<Long> seen = new HashSet<>();
        MemorySegment page = page(4096);
        for (int number = 0; number < 256; number++) {
            PageContent.fill(page, SEED, number);
            for (int at = 0; at < 4096; at += 8) {
                seen.add(page.get(ValueLayout.JAVA_LONG, at));
            }
        }
        assertEquals(256 * 512, seen.size());
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 7, 4095, -8, (1L << 30) + 8})
    void shouldRefuseSizesThatAreNotWholeWords(long size) {
        assertThrows(IllegalArgumentException.class, () -> PageContent.verifyAt(4096, size, SEED, 0));
    }

    private static MemorySegment page(int size) {
        return Arena.ofAuto().allocate(size, 4096);
    }
}
