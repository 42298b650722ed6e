package io.farpage.bench.footprint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class FiguresTest {
    private static Figures threads(double count) {
        return new Figures(Map.of(Measure.THREADS, count));
    }

    @Test
    void shouldGiveTheShareOfOneOfManyMore() {
        Figures few = new Figures(Map.of(Measure.THREADS, 10.0, Measure.HEAP, 5.0));
        assertEquals(threads(2), threads(30).minus(few).dividedBy(10), "the heap of one of them is not known");
    }

    @Test
    void shouldTakeTheMedianOfEachMeasure() {
        assertEquals(threads(2), Figures.median(List.of(threads(9), threads(1), threads(2))));
        assertEquals(threads(2), Figures.median(List.of(threads(3), threads(1))));
    }

    @Test
    void shouldSayBytesInTheUnitThatFits() {
        assertEquals("1 B", Measure.PRIVATE.text(1));
        assertEquals("-0.25 B", Measure.PRIVATE.text(-0.25));
        assertEquals("1.5 KiB", Measure.PRIVATE.text(1536));
        assertEquals("104.4 MiB", Measure.PRIVATE.text(104.4 * (1 << 20)));
    }

    @Test
    void shouldReadTheKernelsFiguresOfThisProcess() {
        Map<Measure, Double> here =
                ProcFigures.of(ProcessHandle.current().pid(), 0).values();
        double pss = here.getOrDefault(Measure.PSS, 0.0);
        assertTrue(pss > 10 << 20 && pss <= here.getOrDefault(Measure.RSS, 0.0), here.toString());
        assertTrue(here.getOrDefault(Measure.PRIVATE, 0.0) <= pss, here.toString());
        assertTrue(here.getOrDefault(Measure.THREADS, 0.0) > 5, here.toString());
        assertTrue(here.getOrDefault(Measure.DESCRIPTORS, 0.0) > 3, here.toString());
    }

    @Test
    void shouldLeaveEmptyWhatARowLacks() {
        Section section = new Section(
                "links",
                "links",
                List.of(new Row("one", threads(1)), new Row("two", new Figures(Map.of(Measure.DESCRIPTORS, 12.5)))));
        assertEquals("""
                links
                       threads  descriptors
                  one        1
                  two                  12.5
                """, section.text());
        assertEquals(
                List.of(Map.of("name", "one", "threads", 1.0), Map.of("name", "two", "descriptors", 12.5)),
                section.json().get("rows"));
    }
}
