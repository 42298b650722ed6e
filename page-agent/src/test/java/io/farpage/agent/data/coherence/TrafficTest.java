package io.farpage.agent.data.coherence;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.agent.data.coherence.DirectoryExtents.Extent;
import io.farpage.agent.data.coherence.DirectoryStatus.Part;
import java.lang.foreign.Arena;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class TrafficTest {
    private static final long PAGE = CoherentMessage.PAGE_BYTES;

    private static Extent extent(long firstPage, long pages) {
        return new Extent(firstPage, Arena.ofAuto().allocate(pages * PAGE));
    }

    @Test
    void shouldCountEachSixteenthOfEachExtent() {
        Traffic traffic = new Traffic(new DirectoryExtents(List.of(extent(100, 37), extent(1_000, 2))));
        IntStream.range(0, 39).forEach(traffic::taken);
        IntStream.of(35, 36, 36, 37).forEach(traffic::taken);
        List<Part> parts = traffic.parts();
        // Parts of three pages, and the thirteenth is what is left.
        assertEquals(15, parts.size());
        assertEquals(
                LongStream.range(0, 12)
                        .mapToObj(part -> new Part(100 + 3 * part, 3, part == 11 ? 4 : 3))
                        .toList(),
                parts.subList(0, 12));
        assertEquals(List.of(new Part(136, 1, 3), new Part(1_000, 1, 2), new Part(1_001, 1, 1)), parts.subList(12, 15));
    }

    @Test
    void shouldCountTheFirstAndTheLastPageOfAnExtent() {
        int pages = 1 << 10;
        Traffic traffic = new Traffic(new DirectoryExtents(List.of(extent(0, pages))));
        traffic.taken(0);
        traffic.taken(pages - 1);
        List<Part> parts = traffic.parts();
        assertEquals(Traffic.PARTS, parts.size());
        assertEquals(new Part(0, pages / 16, 1), parts.getFirst());
        assertEquals(new Part(pages - pages / 16, pages / 16, 1), parts.getLast());
        assertEquals(2, parts.stream().mapToLong(Part::taken).sum());
    }
}
