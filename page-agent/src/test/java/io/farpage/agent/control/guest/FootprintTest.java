package io.farpage.agent.control.guest;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

class FootprintTest {
    private static final int PAGES = 1 << 28;
    private static final long MIB = 1 << 20;

    @Test
    void shouldRefuseAHandoffWithBothFiguresWhenItsTableDoesNotFit() {
        List<Slice> slices = List.of(new Slice(0, 0, PAGES, List.of()), new Slice(0, PAGES, 8, List.of()));
        HandoffException refused =
                assertThrows(HandoffException.class, () -> Footprint.requireTables(slices, false, PAGES + 7L));
        String said = String.valueOf(refused.getMessage());
        assertTrue(said.contains((PAGES + 8L) + " bytes") && said.contains((PAGES + 7L) + " bytes"), said);
        assertDoesNotThrow(() -> Footprint.requireTables(slices, false, PAGES + 8L));
    }

    @Test
    void shouldCountTheTagsOfSealedPages() {
        List<Slice> slices = List.of(new Slice(0, 0, 4096, List.of()));
        assertThrows(HandoffException.class, () -> Footprint.requireTables(slices, true, 25 * 4096 - 1));
        assertDoesNotThrow(() -> Footprint.requireTables(slices, true, 25 * 4096));
    }

    @Test
    void shouldServeAGuestOfATebibyteWithTheHeapThatTheLauncherGives() {
        assertTrue(Footprint.pagers(256 * MIB) >= 16, "a guest may have 16 pagers");
        assertEquals(1, Footprint.pagers(MIB));
    }

    @Test
    void shouldRefuseAGuestWithBothFiguresWhenItsMapsDoNotFitTheHeap() {
        assertDoesNotThrow(() -> Footprint.requireHeap(PAGES, false, 192 * MIB));
        IllegalArgumentException refused =
                assertThrows(IllegalArgumentException.class, () -> Footprint.requireHeap(PAGES + 2L, false, 192 * MIB));
        String said = String.valueOf(refused.getMessage());
        assertTrue(said.contains((PAGES + 2L) + " pages may take 128 MiB") && said.contains("192 MiB"), said);
        assertThrows(IllegalArgumentException.class, () -> Footprint.requireHeap(PAGES, true, 192 * MIB));
        assertDoesNotThrow(() -> Footprint.requireHeap(PAGES, false, 247 * MIB), "1 TiB with the launcher's heap");
    }

    @Test
    void shouldKnowHowMuchMemoryIsAvailable() {
        long available = Footprint.availableMemory();
        assertTrue(available > MIB && available < Long.MAX_VALUE, available + " bytes");
    }
}
