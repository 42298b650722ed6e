package io.farpage.agent.data.pager.transfer;

import io.farpage.agent.data.pager.page.PageTable;
import io.farpage.agent.data.seal.PageSeal;
import org.jspecify.annotations.Nullable;

/**
 * What sealing means for a pager: pages are sealed in the staging frames before they are written home, and opened where
 * they arrived before they are installed. Without a seal pages pass as they are. The shard's thread only. Allocates
 * nothing.
 */
public final class Sealing {
    private final @Nullable PageSeal seal;
    private final Staging staging;

    /** @param seal null if the homes may read the pages */
    public Sealing(@Nullable PageSeal seal, Staging staging) {
        this.seal = seal;
        this.staging = staging;
    }

    /** Whether pages are sealed. */
    public boolean isOn() {
        return seal != null;
    }

    /**
     * Marks the pages that their home has never had as zeros. The table must be as it was made, or have been adopted.
     */
    public void prepare(PageTable table, boolean isAdopted) {
        if (seal == null) {
            return;
        }
        if (isAdopted) {
            // The process before may have been killed while it did this.
            for (int page = seal.nextAbsent(0); page < table.pages(); page = seal.nextAbsent(page + 1)) {
                if (table.state(page) == PageTable.REMOTE) {
                    table.clear(page, PageTable.HAS_REMOTE_COPY);
                    table.setState(page, PageTable.ZERO);
                }
            }
            return;
        }
        int first = seal.nextAbsent(0);
        while (first < table.pages()) {
            int end = Math.min(table.pages(), seal.nextSealed(first));
            table.neverWritten(first, end - first);
            first = seal.nextAbsent(end);
        }
    }

    /** Seals pages in their staging frames. */
    public void seal(int first, int count, int frame) {
        if (seal == null) {
            return;
        }
        for (int i = 0; i < count; i++) {
            long address = staging.address(staging.frameOf(frame, i));
            seal.seal(first + i, address, address);
        }
    }

    /**
     * Opens a page.
     *
     * @param source where its sealed form is
     * @param frame staging frame that it goes to
     * @return whether it is the page that was sealed last; if not, the frame must not be used
     */
    public boolean open(int page, long source, int frame) {
        return seal == null || seal.open(page, source, staging.address(frame));
    }

    /** Wipes the keys. No duty cycle may follow. */
    public void close() {
        if (seal != null) {
            seal.close();
        }
    }
}
