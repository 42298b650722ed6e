package io.farpage.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.time.Duration;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The first and the last value that a type accepts, and the nearest that it refuses. */
class ValueBoundsTest {
    private static final ValueType<Integer> INTEGER = ValueTypes.integer(1, 16_384);
    private static final ValueType<Duration> DURATION = ValueTypes.duration(Duration.ofMillis(1), Duration.ofHours(1));
    private static final ValueType<Long> BYTES = ValueTypes.bytes(2 << 20, 1L << 40);

    private static void refuse(ValueType<?> type, String text) {
        assertThrows(IllegalArgumentException.class, () -> type.parse(text));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 16_383, 16_384})
    void shouldAcceptIntegersFromTheFirstToTheLast(int value) {
        assertEquals(value, INTEGER.parse(Integer.toString(value)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"0", "-1", "16385", "4294967297", "99999999999999999999"})
    void shouldRefuseIntegersOutsideOfTheRange(String text) {
        refuse(INTEGER, text);
    }

    @ParameterizedTest
    @CsvSource({"1ms, 1000000", "1000000ns, 1000000", "1000001ns, 1000001", "1h, 3600000000000", "60m, 3600000000000"})
    void shouldAcceptDurationsFromTheShortestToTheLongest(String text, long nanos) {
        assertEquals(Duration.ofNanos(nanos), DURATION.parse(text));
    }

    @ParameterizedTest
    @ValueSource(strings = {"0ms", "999999ns", "0.999999ms", "3600000000001ns", "61m", "-1s", "106752d"})
    void shouldRefuseDurationsOutsideOfTheRange(String text) {
        refuse(DURATION, text);
    }

    @ParameterizedTest
    @CsvSource({
        "2MiB, 2097152",
        "2097152, 2097152",
        "2097153B, 2097153",
        "1TiB, 1099511627776",
        "1024GiB, 1099511627776"
    })
    void shouldAcceptSizesFromTheSmallestToTheLargest(String text, long bytes) {
        assertEquals(bytes, BYTES.parse(text));
    }

    @ParameterizedTest
    @ValueSource(strings = {"0", "2097151", "2047KiB", "1099511627777B", "1025GiB", "-1", "9999999TiB"})
    void shouldRefuseSizesOutsideOfTheRange(String text) {
        refuse(BYTES, text);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 65_534, 65_535})
    void shouldAcceptPortsFromTheFirstToTheLast(int port) {
        assertEquals(port, ValueTypes.port().parse(Integer.toString(port)));
        assertEquals(new HostPort("h", port), ValueTypes.hostPort().parse("h:" + port));
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, 65_536, 70_000, 99_999, 100_000})
    void shouldRefusePortsOutsideOfTheRange(int port) {
        refuse(ValueTypes.port(), Integer.toString(port));
        refuse(ValueTypes.hostPort(), "h:" + port);
        assertThrows(IllegalArgumentException.class, () -> new HostPort("h", port));
    }
}
