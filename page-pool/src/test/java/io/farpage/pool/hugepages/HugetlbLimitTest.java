package io.farpage.pool.hugepages;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HugetlbLimitTest {
    private static final long MIB = 1 << 20;

    @TempDir
    private Path group = Path.of("");

    @Test
    void shouldBeAbsentWithoutALimit() throws IOException {
        limit("hugetlb.2MB.max", "max");
        limit("hugetlb.2MB.current", "0");
        assertEquals(Optional.empty(), tightest(HugepageSize.TWO_MIB));
    }

    @Test
    void shouldNameTheTightestOfTheSizeAndTheCommandThatRaisesIt() throws IOException {
        limit("hugetlb.2MB.max", "" + 100 * MIB);
        limit("hugetlb.2MB.current", "" + 10 * MIB);
        limit("hugetlb.2MB.rsvd.max", "" + 64 * MIB);
        limit("hugetlb.2MB.rsvd.current", "" + 20 * MIB);
        limit("hugetlb.1GB.max", "0");
        limit("hugetlb.1GB.current", "0");
        Path file = group.resolve("hugetlb.2MB.rsvd.max");
        HugetlbLimit tightest = tightest(HugepageSize.TWO_MIB).orElseThrow();
        assertEquals(new HugetlbLimit(file, 64 * MIB, 44 * MIB), tightest);
        assertEquals("echo %d > %s".formatted(148 * MIB, file), tightest.raiseCommand(128 * MIB));
        assertEquals(0, tightest(HugepageSize.ONE_GIB).orElseThrow().left());
    }

    @Test
    void shouldKnowTheFirstVersionOfGroups() throws IOException {
        limit("hugetlb.2MB.limit_in_bytes", "" + 8 * MIB);
        limit("hugetlb.2MB.usage_in_bytes", "" + 12 * MIB);
        assertEquals(0, tightest(HugepageSize.TWO_MIB).orElseThrow().left(), "above its limit already");
    }

    private Optional<HugetlbLimit> tightest(HugepageSize size) {
        return HugetlbLimit.tightest(Stream.of(group), size);
    }

    private void limit(String name, String value) throws IOException {
        Files.writeString(group.resolve(name), value + "\n");
    }
}
