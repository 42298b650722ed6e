package io.farpage.agent.data.pager.memory;

import io.farpage.agent.data.pager.page.PageSet;
import org.jspecify.annotations.Nullable;

/**
 * The pages of a guest that a snapshot needs as they were at one moment, and that their homes do not have so yet. Those
 * in the guest's memory are write-protected until they were copied: a thread that writes to one waits. While a snapshot
 * is prepared or made, no other page is written home. The shard's thread only.
 */
public final class FrozenPages {
    private static final PageSet NONE = new PageSet(0);

    private final int pages;
    private PageSet prepared = NONE;
    private PageSet resident = NONE;
    private PageSet zeros = NONE;
    private PageSet wanted = NONE;
    private boolean isActive;
    private boolean hasBegun;
    private @Nullable String failure;

    /** @param pages of the guest */
    FrozenPages(int pages) {
        this.pages = pages;
    }

    /** A snapshot is prepared: pages are write-protected while the guest runs. */
    public void prepare() {
        prepared = new PageSet(pages);
        failure = null;
        isActive = true;
    }

    /** A snapshot begins. */
    public void begin() {
        if (!isActive) {
            prepare();
        }
        hasBegun = true;
        resident = prepared;
        prepared = NONE;
        zeros = new PageSet(pages);
        wanted = new PageSet(pages);
    }

    /** The snapshot is made, or given up. */
    public void end() {
        prepared = NONE;
        hasBegun = false;
        resident = NONE;
        zeros = NONE;
        wanted = NONE;
        isActive = false;
    }

    /** Whether a snapshot is being prepared or made: no page is written home but for it. */
    public boolean isActive() {
        return isActive;
    }

    /** Dirty pages that are write-protected, since before the moment. */
    public PageSet prepared() {
        return prepared;
    }

    /** The guest may write to pages from now on that it could not write to. */
    public void writable(int first, int count) {
        for (int page = isActive && !hasBegun ? prepared.next(first) : -1;
                page >= 0 && page < first + count;
                page = prepared.next(page + 1)) {
            prepared.remove(page);
        }
    }

    /** Pages in the guest's memory. */
    public PageSet resident() {
        return resident;
    }

    /** Pages that were zeros at that moment, while their homes have older versions. Whatever they are now. */
    public PageSet zeros() {
        return zeros;
    }

    /** Pages that threads wait to write to. They come first. */
    public PageSet wanted() {
        return wanted;
    }

    /** Whether the guest must not write to a page yet. */
    public boolean holds(int page) {
        return hasBegun && resident.contains(page);
    }

    /** A thread waits to write to a page. */
    public void want(int page) {
        wanted.add(page);
    }

    /** Pages change without a fault: the snapshot fails if it needs one of them. */
    public void change(int first, int count, String how) {
        writable(first, count);
        int held = hasBegun ? resident.next(first) : -1;
        if (held >= 0 && held < first + count) {
            fail("page " + held + ", which no home had yet, " + how);
        }
    }

    /** The snapshot cannot be made; before it has begun, no page counts as protected. The first reason counts. */
    public void fail(String why) {
        if (hasBegun && failure == null) {
            failure = why;
        } else if (isActive && !hasBegun) {
            prepared = new PageSet(pages);
        }
    }

    /** Why the snapshot cannot be made; null if it still may. */
    @Nullable
    public String failure() {
        return failure;
    }
}
