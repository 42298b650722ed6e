package io.farpage.agent.data.pager.model;

import io.farpage.agent.data.seal.PageSeal;
import io.farpage.agent.data.seal.SealKeys;
import io.farpage.agent.data.seal.SealTable;
import io.farpage.agent.data.seal.SealedSpace;
import io.farpage.linux.crypto.LibCrypto;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.opentest4j.TestAbortedException;

/**
 * The seal of an encrypted space, with real keys and tags, over several guests. A page of the model is its first word,
 * so that is what is sealed of it. There is one world at a time, and what one has taken of the system's memory is given
 * back when the next one begins.
 */
final class SimulatedSeal {
    /** What a home has that does not open. */
    static final long WORTHLESS = Long.MIN_VALUE;

    private static final LibCrypto.Loading LIBRARY = LibCrypto.load(Optional.empty());
    private static final List<AutoCloseable> OPEN = new ArrayList<>();

    private final int pages;
    private final SealTable table;
    private final SealKeys keys = new SealKeys();
    private final MemorySegment word = Arena.ofAuto().allocate(Long.BYTES, Long.BYTES);
    private int generation;
    private PageSeal reading;

    SimulatedSeal(int pages) {
        this.pages = pages;
        table = new SealTable(pages);
        closeEarlier();
        OPEN.add(keys);
        OPEN.add(table);
        reading = next();
    }

    /** Whether this machine has libcrypto. */
    static boolean isAvailable() {
        return LIBRARY instanceof LibCrypto.Loading.Loaded;
    }

    private static void closeEarlier() {
        for (AutoCloseable one : OPEN.reversed()) {
            try {
                one.close();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }
        OPEN.clear();
    }

    private PageSeal next() {
        if (!(LIBRARY instanceof LibCrypto.Loading.Loaded loaded)) {
            throw new TestAbortedException(LIBRARY.toString());
        }
        byte[] key = new byte[32];
        key[0] = (byte) ++generation;
        key[1] = (byte) (generation >>> 8);
        keys.put(generation, key);
        SealedSpace.Identity identity = new SealedSpace.Identity(1, Long.BYTES);
        PageSeal seal = new SealedSpace(loaded.library(), table, keys, identity, generation).part(0, pages);
        OPEN.add(seal);
        return seal;
    }

    /** Seals for the next guest. */
    PageSeal begin() {
        reading.close();
        reading = next();
        return next();
    }

    /** What the agent would find in a page if its home has {@code sealed}. */
    long open(int page, long sealed) {
        if (table.version(page) == 0) {
            return 0;
        }
        word.set(ValueLayout.JAVA_LONG, 0, sealed);
        return reading.open(page, word.address(), word.address()) ? word.get(ValueLayout.JAVA_LONG, 0) : WORTHLESS;
    }
}
