package io.farpage.pool;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Optional;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class PoolRecordTest {
    private static final int AREA = 8192;

    private static MemorySegment area(Arena arena) {
        return arena.allocate(AREA, 4096);
    }

    @Test
    void shouldReadWhatWasWrittenLast() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment area = area(arena);
            assertEquals(Optional.empty(), new PoolRecord(area).read());
            for (int i = 0; i < 5; i++) {
                assertEquals(Optional.empty(), new PoolRecord(area).write("text " + i));
                assertEquals(Optional.of("text " + i), new PoolRecord(area).read());
            }
        }
    }

    @Test
    void shouldRefuseATextThatIsTooLongAndKeepTheOneBefore() {
        try (Arena arena = Arena.ofConfined()) {
            PoolRecord record = new PoolRecord(area(arena));
            String longest = "x".repeat(AREA / 2 - 16);
            assertEquals(Optional.empty(), record.write(longest));
            assertTrue(record.write(longest + "x").isPresent());
            assertEquals(Optional.of(longest), record.read());
        }
    }

    /** A process that is killed has written any part of the bytes that it was about to write. */
    @Test
    void shouldKeepTheTextBeforeWhereverAWriteIsCutOff() {
        long seed = Long.getLong("farpage.seed", System.nanoTime());
        System.out.println("seed " + seed + " (repeat with -Dfarpage.seed=" + seed + ")");
        SplittableRandom random = new SplittableRandom(seed);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment before = area(arena);
            new PoolRecord(before).write("the text that is older than all");
            new PoolRecord(before).write("the text before");
            MemorySegment after = area(arena).copyFrom(before);
            new PoolRecord(after).write("the text that was to be written");
            for (int round = 0; round < 2_000; round++) {
                MemorySegment cut = area(arena).copyFrom(before);
                for (long at = 0; at < AREA; at += 8) {
                    if (random.nextBoolean()) {
                        cut.set(ValueLayout.JAVA_LONG, at, after.get(ValueLayout.JAVA_LONG, at));
                    }
                }
                String found = new PoolRecord(cut).read().orElseThrow();
                assertTrue(found.equals("the text before") || found.equals("the text that was to be written"), found);
            }
        }
    }
}
