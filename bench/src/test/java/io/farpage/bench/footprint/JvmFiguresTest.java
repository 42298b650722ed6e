package io.farpage.bench.footprint;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class JvmFiguresTest {
    private static final double KIB = 1024;

    private static final String HEAP = """
            24014:
            DefNew     total 19712K, used 9878K [0x00000000f0000000, 0x00000000f1560000, 0x00000000f5550000)
             eden space 17536K,  43% used [0x00000000f0000000, 0x00000000f0785990, 0x00000000f1120000)
            Tenured    total 43712K, used 12545K [0x00000000f5550000, 0x00000000f8000000, 0x0000000100000000)
             the  space 43712K,  28% used [0x00000000f5550000, 0x00000000f61906a8, 0x00000000f8000000)
            """;

    private static final String TRACKED = """
            24013:

            Native Memory Tracking:

            Total: reserved=1681830KB, committed=137174KB

            -                 Java Heap (reserved=262144KB, committed=65600KB)
                                        (mmap: reserved=262144KB, committed=65600KB, at peak)

            -                     Class (reserved=1049415KB, committed=5063KB)
                                        (  Metadata:   )
                                        (    used=25769KB)

            -                    Module (reserved=189KB, committed=189KB)
                                        (malloc=189KB tag=Module #2527) (at peak)

            -                 Metaspace (reserved=65755KB, committed=26523KB)
                                        (    used=25769KB)
            """;

    @Test
    void shouldReadCategoriesAndWhatTheHeapHolds() {
        assertEquals(
                List.of(
                        row("Java Heap", 262_144, 65_600, 9878 + 12_545),
                        new Row(
                                "Class",
                                new Figures(Map.of(
                                        Measure.RESERVED, 1_049_415 * KIB,
                                        Measure.COMMITTED, 5063 * KIB))),
                        row("Metaspace", 65_755, 26_523, 25_769)),
                JvmFigures.categories(TRACKED, HEAP),
                "the class space is counted by Metaspace; less than 256 KiB is left out");
    }

    private static Row row(String name, long reserved, long committed, long used) {
        return new Row(
                name,
                new Figures(Map.of(
                        Measure.RESERVED, reserved * KIB,
                        Measure.COMMITTED, committed * KIB,
                        Measure.USED, used * KIB)));
    }
}
