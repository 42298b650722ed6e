package io.farpage.pool.header;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.code_intelligence.jazzer.junit.FuzzTest;
import io.farpage.pool.header.PoolHeaderException.Refusal;
import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PoolHeaderTest {
    private static final PoolHeader HEADER = new PoolHeader("node-7.rack-2", 0xfedc_ba98_7654_3210L, 4096, 1L << 36);

    @Test
    void shouldReadWhatItWrote() throws PoolHeaderException {
        PoolHeader longest = new PoolHeader("x".repeat(63), -1, 1 << 30, 0);
        assertEquals(HEADER, PoolHeader.readFrom(written(HEADER)));
        assertEquals(longest, PoolHeader.readFrom(written(longest)));
    }

    @Test
    void shouldLayOutItsFieldsAsDocumented() {
        MemorySegment page = written(HEADER);
        assertEquals("FARPAGE", page.getString(0, StandardCharsets.US_ASCII));
        assertEquals(1, page.get(JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN), 8));
        assertEquals(128, page.get(JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN), 12));
        assertEquals(0xfedc_ba98_7654_3210L, page.get(JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN), 16));
        assertEquals(1L << 36, page.get(JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN), 24));
        assertEquals(4096, page.get(JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN), 32));
        assertEquals("node-7.rack-2", page.getString(40, StandardCharsets.US_ASCII));
    }

    @Test
    void shouldNameEveryKindOfWrong() {
        assertEquals(Refusal.LENGTH, refusal(MemorySegment.ofArray(new byte[127])));
        assertEquals(Refusal.MAGIC, refusal(MemorySegment.ofArray(new byte[4096])));
        assertEquals(Refusal.MAGIC, refusal(changed(7, 1)));
        assertEquals(Refusal.VERSION, refusal(changed(8, 2)));
        assertEquals(Refusal.CHECKSUM, refusal(changed(20, 0x55)));
        assertEquals(Refusal.CHECKSUM, refusal(changed(125, 0)));
        assertEquals(Refusal.CONTENT, refusal(signed(changed(33, 1))));
        assertEquals(Refusal.CONTENT, refusal(signed(changed(12, 127))));
        assertEquals(Refusal.CONTENT, refusal(signed(changed(31, 0x80))));
        assertEquals(Refusal.CONTENT, refusal(signed(changed(41, '\n'))));
        assertEquals(Refusal.CONTENT, refusal(signed(changed(40, 0))));
        assertEquals(Refusal.CONTENT, refusal(signed(changed(103, 'x'))));
    }

    @Test
    void shouldNotLetAPeersNodeIdWriteLinesIntoALog() {
        PoolHeaderException e =
                assertThrows(PoolHeaderException.class, () -> PoolHeader.readFrom(signed(changed(41, '\n'))));
        assertTrue(e.toString().contains("\"n?de-7.rack-2\""), e.toString());
        assertEquals(1, e.toString().lines().count());
    }

    @Test
    void shouldDistinguishAnotherNodeFromAnotherIncarnation() {
        long incarnation = HEADER.incarnation();
        PoolHeaderException node = assertThrows(PoolHeaderException.class, () -> HEADER.verify("node-8", incarnation));
        assertEquals(Refusal.NODE_ID, node.refusal());
        assertEquals("header page is of node \"node-7.rack-2\", expected \"node-8\"", node.getMessage());
        PoolHeaderException stale = assertThrows(PoolHeaderException.class, () -> HEADER.verify("node-7.rack-2", 1));
        assertEquals(Refusal.INCARNATION, stale.refusal());
        assertTrue(stale.toString().contains("has incarnation fedcba9876543210, expected 0000000000000001"));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 31, 32, 33, 62, 63})
    void shouldRefuseAnIncarnationThatDiffersInAnyBit(int bit) {
        PoolHeaderException refused = assertThrows(
                PoolHeaderException.class, () -> HEADER.verify("node-7.rack-2", HEADER.incarnation() ^ 1L << bit));
        assertEquals(Refusal.INCARNATION, refused.refusal());
    }

    @ParameterizedTest
    @ValueSource(strings = {"node-7", "node-7.rack-", "node-7.rack-22", "ode-7.rack-2", "NODE-7.RACK-2"})
    void shouldRefuseANodeIdThatIsOnlyPartOfTheOther(String expected) {
        PoolHeaderException refused =
                assertThrows(PoolHeaderException.class, () -> HEADER.verify(expected, HEADER.incarnation()));
        assertEquals(Refusal.NODE_ID, refused.refusal());
    }

    @Test
    void shouldTellThePoolFromTheAgentThatHasAdoptedIt() throws PoolHeaderException {
        PoolHeader adopted = new PoolHeader("node-7", 12, 11, 4096, 1 << 20);
        MemorySegment page = MemorySegment.ofArray(new byte[PoolHeader.BYTES]);
        adopted.writeTo(page);
        PoolHeader read = PoolHeader.readFrom(page);
        assertEquals(adopted, read);
        read.verify("node-7", 12, 11);
        PoolHeaderException refused = assertThrows(PoolHeaderException.class, () -> read.verify("node-7", 12, 12));
        assertEquals(Refusal.POOL, refused.refusal());
        assertEquals(HEADER.incarnation(), HEADER.pool());
    }

    @Test
    void shouldAcceptTheNodeAndTheIncarnationThatWereExpected() throws PoolHeaderException {
        HEADER.verify("node-7.rack-2", HEADER.incarnation());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "with space", "tab\t", "nul\0", "ümlaut"})
    void shouldRefuseAnIdThatIsNotOne(String id) {
        assertThrows(IllegalArgumentException.class, () -> new PoolHeader(id, 1, 4096, 0));
        assertThrows(IllegalArgumentException.class, () -> new PoolHeader("x".repeat(64), 1, 4096, 0));
    }

    @ParameterizedTest
    @ValueSource(longs = {-4096, 1, 4095, 4097, (1L << 36) + 2048})
    void shouldRefuseExportedLengthThatIsNotAMultipleOfThePageSize(long bytes) {
        IllegalArgumentException refused =
                assertThrows(IllegalArgumentException.class, () -> new PoolHeader("node-7", 1, 4096, bytes));
        assertEquals("exported length " + bytes + "; allowed: a multiple of the page size 4096", refused.getMessage());
    }

    @Test
    void shouldNoticeEverySingleBitThatFlips() {
        for (int bit = 0; bit < PoolHeader.BYTES * 8; bit++) {
            MemorySegment page = written(HEADER);
            byte was = page.get(JAVA_BYTE, bit / 8);
            page.set(JAVA_BYTE, bit / 8, (byte) (was ^ 1 << bit % 8));
            assertThrows(PoolHeaderException.class, () -> PoolHeader.readFrom(page));
        }
    }

    @Test
    void shouldSurviveRandomBytesWithARightChecksum() {
        long seed = Long.getLong("farpage.seed", System.nanoTime());
        Random random = new Random(seed);
        for (int i = 0; i < 20_000; i++) {
            MemorySegment page = written(HEADER);
            for (int change = random.nextInt(6); change >= 0; change--) {
                page.set(JAVA_BYTE, 12 + random.nextInt(112), (byte) random.nextInt());
            }
            assertDecodesOrRefuses(signed(page), "seed " + seed);
        }
    }

    @FuzzTest(maxDuration = "20s")
    @Tag("soak")
    void shouldSurviveAnyBytes(byte[] bytes) {
        MemorySegment page = MemorySegment.ofArray(bytes);
        assertDecodesOrRefuses(page, "fuzzed");
        if (bytes.length >= PoolHeader.BYTES) {
            MemorySegment.copy(written(HEADER), 0, page, 0, 12);
            assertDecodesOrRefuses(signed(page), "fuzzed");
        }
    }

    private static void assertDecodesOrRefuses(MemorySegment page, String where) {
        try {
            PoolHeader header = PoolHeader.readFrom(page);
            assertTrue(PoolHeader.isNodeId(header.nodeId()), where);
            MemorySegment again = written(header);
            assertEquals(header, PoolHeader.readFrom(again), where);
        } catch (PoolHeaderException e) {
            assertEquals(1, e.toString().lines().count(), where);
        }
    }

    private static MemorySegment written(PoolHeader header) {
        MemorySegment page = MemorySegment.ofArray(new byte[4096]);
        header.writeTo(page);
        return page;
    }

    private static MemorySegment changed(long offset, int value) {
        MemorySegment page = written(HEADER);
        assertTrue(page.get(JAVA_BYTE, offset) != (byte) value, "a change that changes nothing");
        page.set(JAVA_BYTE, offset, (byte) value);
        return page;
    }

    private static MemorySegment signed(MemorySegment page) {
        CRC32C crc = new CRC32C();
        crc.update(page.asSlice(0, 124).toArray(JAVA_BYTE));
        page.set(JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN), 124, (int) crc.getValue());
        return page;
    }

    private static Refusal refusal(MemorySegment page) {
        return assertThrows(PoolHeaderException.class, () -> PoolHeader.readFrom(page))
                .refusal();
    }
}
