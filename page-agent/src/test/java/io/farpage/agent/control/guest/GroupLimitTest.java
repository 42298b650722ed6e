package io.farpage.agent.control.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.pager.page.PagerOptions;
import io.farpage.linux.MemoryHeadroom;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class GroupLimitTest {
    private static final int PAGE = 4096;
    private static final long MIB = 1 << 20;
    private static final int PAGES_OF_A_MIB = 256;
    private static final int LEAST = 64;

    private final PagerOptions options = new PagerOptions(512 * PAGES_OF_A_MIB, 8);

    @Test
    void shouldKeepTheLimitIfNoGroupIsLimited() throws HandoffException {
        assertSame(options, new GroupLimit(Optional.empty()).lower(options, 1 << 20, PAGE, LEAST));
    }

    @Test
    void shouldKeepTheLimitIfTheGroupsLeaveMoreThanTheGuestNeeds() throws HandoffException {
        assertSame(options, left(600 * MIB).lower(options, 1 << 20, PAGE, LEAST));
        assertSame(options, left(100 * MIB).lower(options, 64 * PAGES_OF_A_MIB, PAGE, LEAST), "all of a small guest");
    }

    @Test
    void shouldLowerTheLimitAndLeaveAnEighthToTheVmm() throws HandoffException {
        PagerOptions lowered = left(400 * MIB).lower(options, 1 << 20, PAGE, LEAST);
        assertEquals(350 * PAGES_OF_A_MIB, lowered.localPages());
        assertEquals(options.prefetchPages(), lowered.prefetchPages());
        assertEquals(
                44 * PAGES_OF_A_MIB,
                left(60 * MIB).lower(options, 1 << 20, PAGE, LEAST).localPages());
    }

    @Test
    void shouldRefuseTheGuestIfTheGroupsLeaveLessThanTheLeast() {
        HandoffException refused =
                assertThrows(HandoffException.class, () -> left(16 * MIB).lower(options, 1 << 20, PAGE, LEAST));
        assertTrue(
                String.valueOf(refused.getMessage()).contains("(vmm/memory.max = 1) leaves 16777216 bytes"),
                refused.getMessage());
        assertTrue(String.valueOf(refused.getMessage()).contains("need 262144 bytes more"), refused.getMessage());
    }

    @Test
    void shouldRefuseALimitThatNeedsMoreThanTheGroupsLeaveNow() {
        GroupLimit limit = left(200 * MIB);
        limit.require(275 * PAGES_OF_A_MIB, 1 << 20, 100 * PAGES_OF_A_MIB, PAGE);
        limit.require(10 * PAGES_OF_A_MIB, 1 << 20, 100 * PAGES_OF_A_MIB, PAGE);
        limit.require(1 << 20, 275 * PAGES_OF_A_MIB, 100 * PAGES_OF_A_MIB, PAGE);
        assertThrows(
                IllegalArgumentException.class,
                () -> limit.require(276 * PAGES_OF_A_MIB, 1 << 20, 100 * PAGES_OF_A_MIB, PAGE));
        left(0).require(10, 1 << 20, 100, PAGE);
    }

    private static GroupLimit left(long bytes) {
        return new GroupLimit(Optional.of(new MemoryHeadroom(bytes, "vmm/memory.max = 1")));
    }
}
