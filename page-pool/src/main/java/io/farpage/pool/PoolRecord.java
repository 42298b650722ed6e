package io.farpage.pool;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.zip.CRC32C;

/**
 * A text in a file beside a pool or a guest's page tables, out of the reach of peers. The agent that adopts the pool
 * reads it. The file has two slots, and a write goes to the slot with the older text, so a process that is killed
 * during a write leaves the previous text. Thread-safe within a process.
 *
 * <pre>
 * offset size
 *      0    8  number of the write, from 1 on
 *      8    4  length of the text in bytes
 *     12    4  CRC-32C of number, length and text
 *     16       text, UTF-8
 * </pre>
 */
public final class PoolRecord {
    private static final int LENGTH_AT = 8;
    private static final int CHECKSUM_AT = 12;
    private static final int TEXT_AT = 16;

    private final MemorySegment[] slots;

    /** @param area for both slots; zeros, or what an earlier process has written */
    public PoolRecord(MemorySegment area) {
        long half = area.byteSize() / 2;
        slots = new MemorySegment[] {area.asSlice(0, half), area.asSlice(half, half)};
    }

    private record Text(long number, String text) {}

    /** What was written last. */
    public synchronized Optional<String> read() {
        return latest().map(Text::text);
    }

    /**
     * Replaces the text.
     *
     * @return why it could not be, if so: it is too long, or the host has no memory for it; the text before stays
     */
    public synchronized Optional<String> write(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        long number = latest().map(Text::number).orElse(0L) + 1;
        MemorySegment slot = slots[(int) (number & 1)];
        if (bytes.length > slot.byteSize() - TEXT_AT) {
            return Optional.of("%d bytes, and there is room for %d".formatted(bytes.length, slot.byteSize() - TEXT_AT));
        }
        Optional<String> failure = Population.populate(slot.address(), slot.byteSize());
        if (failure.isPresent()) {
            return failure;
        }
        slot.set(ValueLayout.JAVA_LONG, 0, number);
        slot.set(ValueLayout.JAVA_INT, LENGTH_AT, bytes.length);
        MemorySegment.copy(MemorySegment.ofArray(bytes), 0, slot, TEXT_AT, bytes.length);
        slot.set(ValueLayout.JAVA_INT, CHECKSUM_AT, checksum(slot, bytes));
        return Optional.empty();
    }

    private Optional<Text> latest() {
        Optional<Text> first = read(slots[0]);
        Optional<Text> second = read(slots[1]);
        return first.isPresent()
                        && (second.isEmpty()
                                || first.get().number() > second.get().number())
                ? first
                : second;
    }

    private static Optional<Text> read(MemorySegment slot) {
        long number = slot.get(ValueLayout.JAVA_LONG, 0);
        int length = slot.get(ValueLayout.JAVA_INT, LENGTH_AT);
        if (number <= 0 || length < 0 || length > slot.byteSize() - TEXT_AT) {
            return Optional.empty();
        }
        byte[] bytes = slot.asSlice(TEXT_AT, length).toArray(ValueLayout.JAVA_BYTE);
        return slot.get(ValueLayout.JAVA_INT, CHECKSUM_AT) == checksum(slot, bytes)
                ? Optional.of(new Text(number, new String(bytes, StandardCharsets.UTF_8)))
                : Optional.empty();
    }

    private static int checksum(MemorySegment slot, byte[] text) {
        CRC32C crc = new CRC32C();
        crc.update(slot.asSlice(0, CHECKSUM_AT).toArray(ValueLayout.JAVA_BYTE));
        crc.update(text);
        return (int) crc.getValue();
    }
}
