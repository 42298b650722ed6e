package io.farpage.agent.data.seal;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.it.deadlines.Allocations;
import io.farpage.linux.crypto.LibCrypto;
import io.farpage.linux.crypto.LibCrypto.Loading;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class PageSealTest {
    private static final int PAGE = 4096;
    private static final int PAGES = 64;
    private static final int FIRST = 1000;

    private final long seed = Long.getLong("farpage.seed", System.nanoTime());
    private final Random random = new Random(seed);
    private final Arena arena = Arena.ofConfined();
    private final SealTable table = new SealTable(FIRST + PAGES);
    private final SealKeys keys = new SealKeys();
    private final MemorySegment page = arena.allocate(PAGE, 8);

    private static LibCrypto library() {
        Loading loading = LibCrypto.load(Optional.empty());
        assumeTrue(loading instanceof Loading.Loaded, loading::toString);
        return ((Loading.Loaded) loading).library();
    }

    private PageSeal attach(int generation) {
        keys.put(generation, bytes(32));
        return new SealedSpace(library(), table, keys, new SealedSpace.Identity(7, PAGE), generation)
                .part(FIRST, PAGES);
    }

    private byte[] bytes(int count) {
        byte[] some = new byte[count];
        random.nextBytes(some);
        return some;
    }

    private byte[] seal(PageSeal by, int number, byte[] contents) {
        MemorySegment.copy(contents, 0, page, JAVA_BYTE, 0, PAGE);
        by.seal(number, page.address(), page.address());
        return page.toArray(JAVA_BYTE);
    }

    private boolean opens(PageSeal by, int number, byte[] sealed) {
        MemorySegment.copy(sealed, 0, page, JAVA_BYTE, 0, PAGE);
        return by.open(number, page.address(), page.address());
    }

    @AfterEach
    void close() {
        keys.close();
        table.close();
        arena.close();
    }

    @Test
    void shouldOpenWhatItHasSealed() {
        try (PageSeal seal = attach(1)) {
            byte[] contents = bytes(PAGE);
            byte[] sealed = seal(seal, 3, contents);
            assertFalse(Arrays.equals(contents, sealed));
            assertTrue(opens(seal, 3, sealed));
            assertArrayEquals(contents, page.toArray(JAVA_BYTE));
        }
    }

    @Test
    void shouldOpenPagesOfEarlierAttachments() {
        byte[][] contents = new byte[20][];
        byte[][] sealed = new byte[20][];
        for (int generation = 1; generation <= 20; generation++) {
            try (PageSeal seal = attach(generation)) {
                contents[generation - 1] = bytes(PAGE);
                sealed[generation - 1] = seal(seal, generation, contents[generation - 1]);
            }
        }
        try (PageSeal last = attach(21)) {
            for (int round = 0; round < 200; round++) {
                int which = random.nextInt(20);
                assertTrue(opens(last, which + 1, sealed[which]), "page " + which + ", seed " + seed);
                assertArrayEquals(contents[which], page.toArray(JAVA_BYTE), "seed " + seed);
            }
        }
    }

    @Test
    void shouldNotOpenAPageThatWasNeverSealed() {
        try (PageSeal seal = attach(1)) {
            assertEquals(0, seal.nextAbsent(0));
            assertFalse(opens(seal, 5, new byte[PAGE]));
            assertFalse(opens(seal, 5, seal(seal, 4, bytes(PAGE))));
        }
    }

    @Test
    void shouldKnowWhatEarlierAttachmentsHaveSealed() {
        try (PageSeal first = attach(1)) {
            seal(first, 3, bytes(PAGE));
            seal(first, 4, bytes(PAGE));
        }
        try (PageSeal next = attach(2)) {
            assertEquals(0, next.nextAbsent(0));
            assertEquals(3, next.nextSealed(0));
            assertEquals(5, next.nextAbsent(3));
            assertEquals(Integer.MAX_VALUE, next.nextSealed(5));
        }
    }

    @Test
    void shouldSealEqualPagesDifferentlyEachTime() {
        Set<String> forms = new HashSet<>();
        byte[] contents = new byte[PAGE];
        try (PageSeal seal = attach(1)) {
            for (int i = 0; i < 32; i++) {
                forms.add(Arrays.toString(seal(seal, i % 4, contents)));
            }
        }
        assertEquals(32, forms.size());
    }

    @Test
    void shouldSealWithAnotherKeyWhenTheSpaceIsAttachedAgain() {
        byte[] contents = new byte[PAGE];
        byte[] first;
        try (PageSeal seal = attach(1)) {
            first = seal(seal, 0, contents);
        }
        try (PageSeal seal = attach(2)) {
            assertFalse(Arrays.equals(first, seal(seal, 0, contents)));
            assertEquals(2, SealTable.generation(table.version(FIRST)));
        }
    }

    /** What a home may do to a page. */
    enum Lie {
        FLIP,
        REPLAY,
        SWAP,
        SHIFT,
        ZERO,
        GARBAGE
    }

    @ParameterizedTest
    @EnumSource
    void shouldNoticeEveryLieOfAHome(Lie lie) {
        lie(lie, 1_000);
    }

    @ParameterizedTest
    @EnumSource
    @Tag("soak")
    void shouldNoticeAHundredThousandLies(Lie lie) {
        lie(lie, 100_000);
    }

    private void lie(Lie lie, int tries) {
        try (PageSeal seal = attach(1)) {
            byte[][] sealed = new byte[PAGES][];
            byte[][] before = new byte[PAGES][];
            for (int i = 0; i < PAGES; i++) {
                before[i] = seal(seal, i, bytes(PAGE));
                sealed[i] = seal(seal, i, bytes(PAGE));
            }
            for (int i = 0; i < tries; i++) {
                int which = random.nextInt(PAGES);
                byte[] told = tell(lie, sealed, before, which);
                assertFalse(opens(seal, which, told), "try " + i + ", page " + which + ", seed " + seed);
            }
            for (int i = 0; i < PAGES; i++) {
                assertTrue(opens(seal, i, sealed[i]), "the truth about page " + i + ", seed " + seed);
            }
        }
    }

    private byte[] tell(Lie lie, byte[][] sealed, byte[][] before, int which) {
        byte[] told = sealed[which].clone();
        switch (lie) {
            case FLIP -> told[random.nextInt(PAGE)] ^= (byte) (1 << random.nextInt(8));
            case REPLAY -> told = before[which];
            case SWAP -> told = sealed[(which + 1 + random.nextInt(PAGES - 1)) % PAGES];
            case SHIFT -> {
                int by = 1 + random.nextInt(PAGE - 1);
                System.arraycopy(sealed[which], by, told, 0, PAGE - by);
                System.arraycopy(sealed[(which + 1) % PAGES], 0, told, PAGE - by, by);
            }
            case ZERO -> told = new byte[PAGE];
            case GARBAGE -> told = bytes(PAGE);
        }
        return told;
    }

    @Test
    void shouldNotOpenThePageOfAnotherSpace() {
        keys.put(1, bytes(32));
        SealedSpace one = new SealedSpace(library(), table, keys, new SealedSpace.Identity(7, PAGE), 1);
        SealedSpace other = new SealedSpace(library(), table, keys, new SealedSpace.Identity(8, PAGE), 1);
        try (PageSeal sealing = one.part(0, PAGES);
                PageSeal opening = other.part(0, PAGES)) {
            assertFalse(opens(opening, 9, seal(sealing, 9, bytes(PAGE))));
        }
    }

    @Test
    void shouldAllocateNothingForAPage() {
        try (PageSeal seal = attach(1)) {
            long address = page.address();
            Allocations.assertNone(1_000, pages -> rounds(seal, address, pages));
        }
    }

    private static void rounds(PageSeal seal, long address, int rounds) {
        for (int i = 0; i < rounds; i++) {
            seal.seal(i % PAGES, address, address);
            if (!seal.open(i % PAGES, address, address)) {
                throw new AssertionError("page " + i % PAGES + " does not open");
            }
        }
    }
}
