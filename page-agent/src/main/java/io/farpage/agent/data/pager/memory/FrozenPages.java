package io.farpage.agent.data.pager.memory;

import io.farpage.agent.data.pager.page.PageSet;
import org.jspecify.annotations.Nullable;

/**
 * The pages of a guest that a snapshot needs as they were at one moment, and that their homes do not have so yet. Those
 * in the guest's memory are write-protected until they were copied: a thread that writes to one waits. While a snapshot
 * is made, no other page is written home. The shard's thread only.
 */
public final class FrozenPages {
    private static final PageSet NONE = new PageSet(0);

    private final int pages;
    private PageSet resident = NONE;
    private PageSet zeros = NONE;
    private PageSet wanted = NONE;
    private boolean isActive;
    private @Nullable String failure;

    /** @param pages of the guest */
    FrozenPages(int pages) {
        this.pages = pages;
    }

    /** A snapshot begins. */
    public void begin() {
        resident = new PageSet(pages);
        zeros = new PageSet(pages);
        wanted = new PageSet(pages);
        failure = null;
        isActive = true;
    }

    /** The snapshot is made, or given up. */
    public void end() {
        resident = NONE;
        zeros = NONE;
        wanted = NONE;
        isActive = false;
    }

    /** Whether a snapshot is being made: no page is written home but for it. */
    public boolean isActive() {
        return isActive;
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
        return isActive && resident.contains(page);
    }

    /** A thread waits to write to a page. */
    public void want(int page) {
        wanted.add(page);
    }

    /** Pages change without a fault: the snapshot fails if it needs one of them. */
    public void change(int first, int count, String how) {
        int held = isActive ? resident.next(first) : -1;
        if (held >= 0 && held < first + count) {
            fail("page " + held + ", which no home had yet, " + how);
        }
    }

    /** The snapshot cannot be made. The first reason counts. */
    public void fail(String why) {
        if (isActive && failure == null) {
            failure = why;
        }
    }

    /** Why the snapshot cannot be made; null if it still may. */
    @Nullable
    public String failure() {
        return failure;
    }
}
