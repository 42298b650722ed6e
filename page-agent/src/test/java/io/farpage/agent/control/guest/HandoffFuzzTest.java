package io.farpage.agent.control.guest;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.code_intelligence.jazzer.api.FuzzedDataProvider;
import com.code_intelligence.jazzer.junit.FuzzTest;
import io.farpage.agent.data.pager.page.GuestRegion;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Any message is taken or refused, with nothing thrown but the refusal, and what is taken lies within the space,
 * nothing twice.
 *
 * <p>{@code make fuzz} looks for messages for half a minute; an ordinary build tries a few.
 */
class HandoffFuzzTest {
    private static final int PAGE = 4096;
    private static final int LARGE_PAGE = 2 << 20;
    private static final long SPACE = 1 << 20;

    @FuzzTest(maxDuration = "30s")
    @Tag("soak")
    void shouldTakeOrRefuseAnyMessage(FuzzedDataProvider data) {
        String message = switch (data.consumeInt(0, 2)) {
            case 0 -> data.consumeRemainingAsString();
            case 1 -> regions(data);
            default -> json(data, 4);
        };
        long space = data.consumeBoolean() ? SPACE : 4 * LARGE_PAGE + PAGE;
        int page;
        List<Slice> slices;
        try {
            Handoff.Layout layout = Handoff.parse(message, space);
            page = layout.pageBytes();
            slices = layout.slices();
        } catch (HandoffException e) {
            return;
        }
        assertTrue(page == PAGE || page == LARGE_PAGE, "pages of " + page);
        assertTrue(slices.size() <= Handoff.MAX_USERFAULTFDS, slices.toString());
        assertEquals(space / page, slices.stream().mapToInt(Slice::pages).sum(), slices.toString());
        boolean[] taken = new boolean[(int) (space / page)];
        for (Slice slice : slices) {
            assertTrue(!slice.regions().isEmpty(), slice.toString());
            assertEquals(slice.base(), (long) slice.firstPage() * page);
            for (GuestRegion region : slice.regions()) {
                check(region, slice, page, taken);
            }
        }
    }

    /** It lies within its slice, and so the slice within the space, and no other region has its pages. */
    private static void check(GuestRegion region, Slice slice, int pageBytes, boolean[] taken) {
        assertTrue(region.offset() >= 0 && region.length() > 0, region.toString());
        assertTrue(region.end() <= (long) slice.pages() * pageBytes, region + " in " + slice);
        assertTrue(region.hostAddress() >= 0 && region.hostEnd() > region.hostAddress(), region.toString());
        for (long at = region.offset(); at < region.end(); at += pageBytes) {
            int page = slice.firstPage() + (int) (at / pageBytes);
            assertTrue(!taken[page], region + " overlaps");
            taken[page] = true;
        }
    }

    /** Any JSON, with the names that a message has as keys now and then. */
    private static String json(FuzzedDataProvider data, int depth) {
        return switch (data.consumeInt(0, depth > 0 ? 6 : 4)) {
            case 0 -> "null";
            case 1 -> data.consumeBoolean() ? "true" : "false";
            case 2 -> Long.toString(data.consumeLong());
            case 3 -> Double.toString(data.consumeRegularDouble());
            case 4 -> "\"" + data.consumeAsciiString(8).replaceAll("[\\\\\"\\p{Cntrl}]", "") + "\"";
            case 5 -> {
                List<String> elements = new ArrayList<>();
                for (int i = data.consumeInt(0, 4); i > 0; i--) {
                    elements.add(json(data, depth - 1));
                }
                yield "[" + String.join(",", elements) + "]";
            }
            default -> {
                List<String> fields = new ArrayList<>();
                for (String name : List.of("base_host_virt_addr", "size", "offset", "page_size", "userfaultfd", "x")) {
                    if (data.consumeBoolean()) {
                        fields.add("\"" + name + "\":" + json(data, depth - 1));
                    }
                }
                yield "{" + String.join(",", fields) + "}";
            }
        };
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "null",
                "[null]",
                "[[]]",
                "[{}]",
                "{}",
                "0",
                "\"x\"",
                "true",
                "[{\"size\":null}]",
                "[[null]]",
                " "
            })
    void shouldRefuseJsonThatIsNoMemoryLayout(String json) {
        HandoffException refused = assertThrows(HandoffException.class, () -> Handoff.parse(json, SPACE));
        assertTrue(String.valueOf(refused.getMessage()).contains("memory region"), refused.getMessage());
    }

    @Test
    void shouldFindTheEndOfAnArrayInWhateverPieces() {
        for (String array : List.of("[]", " [ { \"a]}\" : [1, \"\\\"]\"] } ]", "[[[]],[]]", "[\"\\\\\"]")) {
            JsonEnd end = new JsonEnd();
            byte[] bytes = array.getBytes(StandardCharsets.UTF_8);
            for (int i = 0; i < bytes.length; i++) {
                assertEquals(i == bytes.length - 1, end.isAt(bytes[i]), array + " at " + i);
            }
        }
        for (String first : List.of("n", "0", "\"", "{", "]", "}", "\u00ff")) {
            assertTrue(new JsonEnd().isAt((byte) first.charAt(0)), first + " begins no array");
        }
    }

    private static String regions(FuzzedDataProvider data) {
        StringBuilder json = new StringBuilder("[");
        int pageSize = data.consumeBoolean() ? PAGE : LARGE_PAGE;
        for (int i = data.consumeInt(1, 4); i > 0; i--) {
            json.append("{\"base_host_virt_addr\":%d,\"size\":%d,\"offset\":%d,\"page_size\":%d%s}%s"
                    .formatted(
                            number(data, pageSize),
                            number(data, pageSize),
                            number(data, pageSize),
                            data.consumeInt(0, 3) == 0 ? data.consumeInt(0, LARGE_PAGE) : pageSize,
                            data.consumeBoolean() ? ",\"userfaultfd\":" + data.consumeInt(-1, 17) : "",
                            i > 1 ? "," : "]"));
        }
        return json.toString();
    }

    private static long number(FuzzedDataProvider data, int pageSize) {
        return data.consumeBoolean() ? data.consumeLong() : data.consumeInt(0, 300) * (long) pageSize;
    }

    @Test
    void shouldTakeWhatFirecrackerSends() throws HandoffException {
        String one = "{\"base_host_virt_addr\":%d,\"size\":%d,\"offset\":%d,\"page_size\":4096,\"page_size_kib\":4096}";
        long low = 140107225071616L;
        List<Slice> slices = Handoff.parse(
                        "[" + one.formatted(low, 524288, 0) + "," + one.formatted(low + (1 << 30), 4096, 524288) + "]",
                        SPACE)
                .slices();
        List<GuestRegion> regions =
                List.of(new GuestRegion(low, 524288, 0), new GuestRegion(low + (1 << 30), 4096, 524288));
        assertEquals(List.of(new Slice(0, 0, (int) (SPACE / PAGE), regions)), slices);
    }

    /** As the branch for secret hiding sends it. Nothing else that is wrong with the message is said first. */
    @ParameterizedTest
    @ValueSource(ints = {4096, 12345})
    void shouldRefuseMemoryOfAGuestMemfdByName(int pageSize) {
        String json = "[{\"base_host_virt_addr\":4096,\"size\":4096,\"offset\":0,\"page_size\":%d,\"gpa_start\":0,"
                + "\"is_guest_memfd\":false},{\"base_host_virt_addr\":8192,\"size\":4096,\"offset\":4096,"
                + "\"page_size\":4096,\"gpa_start\":4096,\"is_guest_memfd\":%s}]";
        HandoffException refused =
                assertThrows(HandoffException.class, () -> Handoff.parse(json.formatted(pageSize, true), SPACE));
        assertTrue(String.valueOf(refused.getMessage()).contains("secret-free"), refused.getMessage());
        assertDoesNotThrow(() -> Handoff.parse(json.formatted(PAGE, false), SPACE));
    }

    @ParameterizedTest
    @CsvSource({
        "4096, 2097152, the regions have pages of 4096 and of 2097152 bytes; give all the same page size",
        "12345, 12345, the VMM's memory has pages of 12345 bytes; 4096 and 2097152 are possible",
        "0, 0, the VMM's memory has pages of 0 bytes; 4096 and 2097152 are possible"
    })
    void shouldRefusePagesOfSeveralSizesOrOfNone(int first, int second, String said) {
        String one = "{\"base_host_virt_addr\":%d,\"size\":2097152,\"offset\":%d,\"page_size\":%d}";
        String json = "[" + one.formatted(1 << 21, 0, first) + "," + one.formatted(1 << 22, 1 << 21, second) + "]";
        HandoffException refused = assertThrows(HandoffException.class, () -> Handoff.parse(json, 1 << 22));
        assertEquals(said, refused.getMessage());
    }

    @Test
    void shouldRefuseMorePagesThanAPagerCounts() {
        String json = "[{\"base_host_virt_addr\":4096,\"size\":4096,\"offset\":0,\"page_size\":4096}]";
        HandoffException refused = assertThrows(HandoffException.class, () -> Handoff.parse(json, 1L << 43));
        assertTrue(String.valueOf(refused.getMessage()).contains("give the VMM larger pages"), refused.getMessage());
    }

    /** A page of the space that fills none of the VMM's is left over. */
    @Test
    void shouldCountInPagesOfTheVmm() throws HandoffException {
        String json = "[{\"base_host_virt_addr\":2097152,\"size\":4194304,\"offset\":0,\"page_size_kib\":2097152}]";
        assertEquals(
                new Handoff.Layout(
                        LARGE_PAGE,
                        List.of(new Slice(0, 0, 2, List.of(new GuestRegion(LARGE_PAGE, 2L * LARGE_PAGE, 0))))),
                Handoff.parse(json, 2L * LARGE_PAGE + PAGE));
    }

    @Test
    void shouldCutTheSpaceWhereTheRegionsOfAnotherUserfaultfdBegin() throws HandoffException {
        String one = "{\"base_host_virt_addr\":%d,\"size\":%d,\"offset\":%d,\"userfaultfd\":%d}";
        List<Slice> slices = Handoff.parse(
                        "[" + one.formatted(1 << 20, 8192, 65536, 0) + "," + one.formatted(1 << 21, 4096, 4096, 1) + ","
                                + one.formatted(1 << 22, 4096, 16384, 1) + "]",
                        SPACE)
                .slices();
        assertEquals(
                List.of(
                        new Slice(65536, 16, 240, List.of(new GuestRegion(1 << 20, 8192, 0))),
                        new Slice(
                                0,
                                0,
                                16,
                                List.of(new GuestRegion(1 << 21, 4096, 4096), new GuestRegion(1 << 22, 4096, 16384)))),
                slices);
    }

    @ParameterizedTest
    @CsvSource({
        "0, -1, userfaultfd -1; 0 to 15",
        "0, 16, userfaultfd 16; 0 to 15",
        "0, 2, 'no region names userfaultfd 1, and one names userfaultfd 2'",
        "1, 1, 'no region names userfaultfd 0, and one names userfaultfd 1'"
    })
    void shouldSayWhichUserfaultfdHasNoRegion(int first, int second, String said) {
        String one = "{\"base_host_virt_addr\":%d,\"size\":4096,\"offset\":%d,\"userfaultfd\":%d}";
        String json = "[" + one.formatted(4096, 0, first) + "," + one.formatted(8192, 4096, second) + "]";
        HandoffException refused = assertThrows(HandoffException.class, () -> Handoff.parse(json, SPACE));
        assertTrue(String.valueOf(refused.getMessage()).contains(said), refused.getMessage());
    }

    @Test
    void shouldRefuseUserfaultfdsWhoseRegionsLieBetweenOneAnother() {
        String one = "{\"base_host_virt_addr\":%d,\"size\":4096,\"offset\":%d,\"userfaultfd\":%d}";
        String json = "[" + one.formatted(4096, 0, 0) + "," + one.formatted(8192, 4096, 1) + ","
                + one.formatted(12288, 8192, 0) + "]";
        HandoffException refused = assertThrows(HandoffException.class, () -> Handoff.parse(json, SPACE));
        assertTrue(String.valueOf(refused.getMessage()).contains("userfaultfd 0 and of userfaultfd 1 lie between"));
    }
}
