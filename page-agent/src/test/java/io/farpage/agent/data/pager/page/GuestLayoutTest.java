package io.farpage.agent.data.pager.page;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

class GuestLayoutTest {
    private static final int PAGE = 4096;

    /** Pages 0 to 9 at 0x100000, pages 20 to 24 at 0x900000. */
    private final GuestLayout layout = new GuestLayout(
            List.of(new GuestRegion(0x100000, 10 * PAGE, 0), new GuestRegion(0x900000, 5 * PAGE, 20 * PAGE)), PAGE);

    @Test
    void shouldFindPagesAndAddressesWhenThereAreTwoRegions() {
        assertEquals(0, layout.pageAt(0x100000));
        assertEquals(9, layout.pageAt(0x100000 + 10 * PAGE - 1));
        assertEquals(GuestLayout.NONE, layout.pageAt(0x100000 + 10 * PAGE));
        assertEquals(22, layout.pageAt(0x900000 + 2 * PAGE + 5));
        assertEquals(0x900000 + 4 * PAGE, layout.addressOf(24));
        assertEquals(GuestLayout.NONE, layout.addressOf(10));
        assertEquals(3, layout.contiguous(7, 8));
        assertEquals(0, layout.contiguous(12, 8));
    }

    @Test
    void shouldSplitRegionWhenVmmUnmapsItsMiddle() {
        layout.unmapped(0x100000 + 4 * PAGE, 0x100000 + 6 * PAGE);
        assertEquals(3, layout.pageAt(0x100000 + 3 * PAGE));
        assertEquals(GuestLayout.NONE, layout.pageAt(0x100000 + 4 * PAGE));
        assertEquals(6, layout.pageAt(0x100000 + 6 * PAGE));
        assertEquals(4, layout.contiguous(0, 10));
        layout.unmapped(0, 1L << 40);
        assertTrue(layout.isEmpty());
    }

    @Test
    void shouldFindPagesAtNewAddressWhenVmmMovesRange() {
        layout.moved(0x100000 + 8 * PAGE, 0x500000, 4 * PAGE);
        assertEquals(0x500000 + PAGE, layout.addressOf(9));
        assertEquals(8, layout.pageAt(0x500000));
        assertEquals(7, layout.pageAt(0x100000 + 7 * PAGE));
        assertEquals(GuestLayout.NONE, layout.pageAt(0x100000 + 8 * PAGE));
        assertEquals(20, layout.pageAt(0x900000));
    }
}
