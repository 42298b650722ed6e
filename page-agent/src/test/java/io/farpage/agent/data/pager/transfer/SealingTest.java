package io.farpage.agent.data.pager.transfer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.pager.PageStates;
import io.farpage.agent.data.pager.PagerParts;
import io.farpage.agent.data.pager.RecordingKernel;
import io.farpage.agent.data.pager.page.KeptTable;
import io.farpage.agent.data.pager.page.PageTable;
import io.farpage.agent.data.seal.PageSeal;
import io.farpage.agent.data.seal.SealKeys;
import io.farpage.agent.data.seal.SealTable;
import io.farpage.agent.data.seal.SealedSpace;
import io.farpage.linux.crypto.LibCrypto;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.opentest4j.TestAbortedException;

/** Which pages of an encrypted space begin as zeros. */
class SealingTest {
    private static final int PAGES = 8;
    private static final int PAGE = 4096;
    private static final int SEALED = 3;

    private final MemorySegment entries = Arena.ofAuto().allocate(PAGES, Long.BYTES);
    private final MemorySegment messages = Arena.ofAuto().allocate(KeptTable.MESSAGES_BYTES, Long.BYTES);
    private final MemorySegment layouts = Arena.ofAuto().allocate(512, Long.BYTES);

    /** A table of pages that began at their homes. An earlier attachment has sealed page {@link #SEALED}. */
    private PageTable prepared(boolean isAdopted, int dirty) {
        if (!(LibCrypto.load(Optional.empty()) instanceof LibCrypto.Loading.Loaded loaded)) {
            throw new TestAbortedException("libcrypto is missing");
        }
        PageTable table = new KeptTable(entries, messages, layouts).table(PAGES, true, 0);
        if (dirty >= 0) {
            PageStates.set(table, dirty, PageTable.DIRTY);
        }
        try (PagerParts parts = new PagerParts(() -> 0);
                SealTable tags = new SealTable(PAGES);
                SealKeys keys = new SealKeys()) {
            keys.put(1, new byte[32]);
            keys.put(2, new byte[32]);
            SealedSpace.Identity identity = new SealedSpace.Identity(1, PAGE);
            MemorySegment page = Arena.ofAuto().allocate(PAGE, Long.BYTES);
            try (PageSeal earlier = new SealedSpace(loaded.library(), tags, keys, identity, 1).part(0, PAGES)) {
                earlier.seal(SEALED, page.address(), page.address());
            }
            try (PageSeal now = new SealedSpace(loaded.library(), tags, keys, identity, 2).part(0, PAGES)) {
                new Sealing(
                                now,
                                parts.memory(new RecordingKernel(), true, PAGE, table)
                                        .context()
                                        .staging())
                        .prepare(table, isAdopted);
            }
        }
        return table;
    }

    private static void check(PageTable table, int dirty) {
        for (int page = 0; page < PAGES; page++) {
            int expected = page == SEALED ? PageTable.REMOTE : page == dirty ? PageTable.DIRTY : PageTable.ZERO;
            assertEquals(expected, table.state(page), "page " + page);
        }
        assertTrue(table.has(SEALED, PageTable.HAS_REMOTE_COPY));
        assertFalse(table.has(0, PageTable.HAS_REMOTE_COPY));
    }

    @Test
    void shouldBeginWithZerosWhereNoPageWasSealed() {
        check(prepared(false, -1), -1);
    }

    /**
     * The process before was killed when the keeper had the guest and the table was as it was made. What the guest has
     * stored since stays.
     */
    @Test
    void shouldFinishWhatTheProcessBeforeWasKilledIn() {
        check(prepared(true, 5), 5);
    }
}
