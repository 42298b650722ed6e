package io.farpage.agent.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.code_intelligence.jazzer.api.FuzzedDataProvider;
import com.code_intelligence.jazzer.junit.FuzzTest;
import io.farpage.agent.pager.GuestRegion;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Any message is taken or refused, with nothing thrown but the refusal, and what is taken lies within the space, nothing twice.
 *
 * <p>{@code make fuzz} looks for messages for half a minute; an ordinary build tries a few.
 */
class HandoffFuzzTest {
    private static final int PAGE = 4096;
    private static final long SPACE = 1 << 20;

    @FuzzTest(maxDuration = "30s")
    void shouldTakeOrRefuseAnyMessage(FuzzedDataProvider data) {
        String message = data.consumeBoolean() ? data.consumeRemainingAsString() : regions(data);
        List<GuestRegion> regions;
        try {
            regions = Handoff.parse(message, PAGE, SPACE);
        } catch (HandoffException e) {
            return;
        }
        boolean[] taken = new boolean[(int) (SPACE / PAGE)];
        for (GuestRegion region : regions) {
            assertTrue(region.offset() >= 0 && region.length() > 0 && region.end() <= SPACE, region.toString());
            assertTrue(region.hostAddress() >= 0 && region.hostEnd() > region.hostAddress(), region.toString());
            for (long at = region.offset(); at < region.end(); at += PAGE) {
                assertTrue(!taken[(int) (at / PAGE)], region + " overlaps");
                taken[(int) (at / PAGE)] = true;
            }
        }
    }

    private static String regions(FuzzedDataProvider data) {
        StringBuilder json = new StringBuilder("[");
        for (int i = data.consumeInt(1, 4); i > 0; i--) {
            json.append("{\"base_host_virt_addr\":%d,\"size\":%d,\"offset\":%d,\"page_size\":%d}%s"
                    .formatted(
                            number(data), number(data), number(data), data.consumeInt(0, 1) * PAGE, i > 1 ? "," : "]"));
        }
        return json.toString();
    }

    private static long number(FuzzedDataProvider data) {
        return data.consumeBoolean() ? data.consumeLong() : data.consumeInt(0, 300) * (long) PAGE;
    }

    @Test
    void shouldTakeWhatFirecrackerSends() throws HandoffException {
        String one = "{\"base_host_virt_addr\":%d,\"size\":%d,\"offset\":%d,\"page_size\":4096,\"page_size_kib\":4096}";
        long low = 140107225071616L;
        List<GuestRegion> regions = Handoff.parse(
                "[" + one.formatted(low, 524288, 0) + "," + one.formatted(low + (1 << 30), 4096, 524288) + "]",
                PAGE,
                SPACE);
        assertEquals(List.of(new GuestRegion(low, 524288, 0), new GuestRegion(low + (1 << 30), 4096, 524288)), regions);
    }
}
