package io.farpage.agent.data.seal;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.farpage.linux.crypto.AesGcm;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.BitSet;

/**
 * The keys of a space by generation: each attachment seals under a key of its own, and pages that it did not write
 * remain sealed under earlier ones. The keys are outside the heap, in memory that is in no core file. Filled before a
 * shard reads it.
 */
public final class SealKeys implements AutoCloseable {
    private final Arena arena = Arena.ofShared();
    private final MemorySegment keys = SealTable.map((long) SealTable.GENERATIONS * AesGcm.KEY_BYTES, arena);
    private final BitSet known = new BitSet();

    /** Sets the key of a generation, {@link AesGcm#KEY_BYTES} bytes, which are copied. */
    public void put(int generation, byte[] key) {
        MemorySegment.copy(key, 0, keys, JAVA_BYTE, (long) generation * AesGcm.KEY_BYTES, AesGcm.KEY_BYTES);
        known.set(generation);
    }

    boolean has(int generation) {
        return known.get(generation);
    }

    long address(int generation) {
        return keys.address() + (long) generation * AesGcm.KEY_BYTES;
    }

    /** Wipes the keys. Closing twice does nothing. */
    @Override
    public void close() {
        if (arena.scope().isAlive()) {
            known.stream()
                    .forEach(generation -> keys.asSlice((long) generation * AesGcm.KEY_BYTES, AesGcm.KEY_BYTES)
                            .fill((byte) 0));
            arena.close();
        }
    }
}
