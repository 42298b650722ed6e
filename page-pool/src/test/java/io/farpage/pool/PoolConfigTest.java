package io.farpage.pool;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PoolConfigTest {
    private static final PoolConfig GOOD = PoolConfig.of("node-a", 1, 1 << 22, 1 << 22);

    @ParameterizedTest
    @ValueSource(ints = {0, -4096, 2048, 4095, 12288, 1 << 22})
    void shouldRefuseAPageSize(int bytes) {
        IllegalArgumentException e = assertThrows(IllegalArgumentException.class, () -> GOOD.withFrameBytes(bytes));
        assertEquals("page size " + bytes + "; allowed: a power of two, 4096 … 2097152", e.getMessage());
    }

    @ParameterizedTest
    @ValueSource(longs = {-4096, 1, 4097, Long.MAX_VALUE, 1L << 62})
    void shouldRefuseALength(long bytes) {
        assertThrows(IllegalArgumentException.class, () -> PoolConfig.of("node-a", 1, bytes, 0));
        assertThrows(IllegalArgumentException.class, () -> PoolConfig.of("node-a", 1, 0, bytes));
    }

    @Test
    void shouldRefuseNothingAtAll() {
        assertThrows(IllegalArgumentException.class, () -> PoolConfig.of("node-a", 1, 0, 0));
        assertThrows(IllegalArgumentException.class, () -> PoolConfig.of("", 1, 4096, 0));
        assertThrows(IllegalArgumentException.class, () -> GOOD.withNumaNode(-1));
    }

    @Test
    void shouldNotHaveMoreFramesThanAnIntCounts() {
        long bytes = 1L << 43;
        IllegalArgumentException e =
                assertThrows(IllegalArgumentException.class, () -> PoolConfig.of("node-a", 1, bytes, 0));
        assertEquals(
                "exported length 8796093022208; allowed: a multiple of the page size 4096, 0 … 8796092760064",
                e.getMessage());
    }
}
