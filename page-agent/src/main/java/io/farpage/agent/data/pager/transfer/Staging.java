package io.farpage.agent.data.pager.transfer;

import io.farpage.agent.data.pager.home.Home;
import io.farpage.agent.data.pager.home.Homes;
import io.farpage.agent.data.pager.home.RemoteHomes;
import io.farpage.agent.data.pager.page.GuestLayout;
import io.farpage.agent.data.pager.page.PagerOptions;
import io.farpage.agent.data.pager.page.Zeros;
import io.farpage.pool.PagePool;
import io.farpage.pool.frames.FrameAllocator;
import io.farpage.pool.frames.FrameShares;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Staging memory as a guest's pager uses it: runs of frames. Each page takes one frame or more. Every frame belongs to
 * a part: the READs from one home, the WRITEs to one home, or what this node copies for itself. Each part of a home
 * that the map names is guaranteed frames. A part takes more only while the frames that are guaranteed to the others,
 * and to other pagers, stay free. The shard's thread only. Allocates nothing, but for a new home.
 */
public final class Staging {
    /** No run of frames is free. */
    public static final int NONE = FrameAllocator.NONE;

    /** Bytes of a transfer of several pages. The first page arrives only when all have. */
    private static final int MAX_BYTES = PagerOptions.MAX_RUN * GuestLayout.BASE_PAGE;

    /** Prefetching and write-back may each hold 1/{@code SHARE} of the staging memory. */
    private static final int SHARE = 4;

    /** The part of pages that this node copies for itself. */
    private static final int LOCAL = 0;

    /** Stands for a part in the entries of frames that no part holds. */
    private static final char UNHELD = Character.MAX_VALUE;

    private final PagePool pool;
    private final FrameShares.Share share;
    private final Homes homes;
    private final int pageBytes;
    private final int framesPerPage;
    private final int pages;
    /** By first frame of a page: the part that holds it. */
    private final char[] partOf;
    /** By part: frames that it holds, and whether it is guaranteed some. */
    private int[] held = new int[1];

    private boolean[] isGuaranteed = new boolean[1];
    /** Frames that each part is guaranteed, and how many of these are free over all parts. */
    private int each;

    private int reserved;
    private int heldByAll;
    private int version = -1;
    private int guaranteed;

    /**
     * @param shares of the pool's staging frames, for all pagers
     * @param pageBytes bytes of a page of the guest, a multiple of the pool's frames
     * @param homes of the guest's pages
     */
    public Staging(PagePool pool, FrameShares shares, int pageBytes, Homes homes) {
        this.pool = pool;
        this.pageBytes = pageBytes;
        this.homes = homes;
        framesPerPage = pageBytes / pool.frameBytes();
        int frames = pool.stagingFrames().capacity();
        pages = frames / framesPerPage;
        share = shares.open(framesPerPage);
        partOf = new char[frames];
        Arrays.fill(partOf, UNHELD);
    }

    /** The part of READs from a home; null stands for this node. */
    public static int reads(@Nullable Home from) {
        return from == null ? LOCAL : 2 * from.number() - 1;
    }

    /** The part of WRITEs to a home; null stands for this node. */
    public static int writes(@Nullable Home to) {
        return to == null ? LOCAL : 2 * to.number();
    }

    /** Bytes of a page of the guest. */
    public int pageBytes() {
        return pageBytes;
    }

    /** The most pages of one transfer. */
    public int maxRun() {
        return Math.max(1, Math.min(MAX_BYTES / pageBytes, pages));
    }

    /** Pages that prefetching or write-back may hold at once, so that faults find frames, too; 1 or more. */
    public int share() {
        return Math.max(1, pages / SHARE);
    }

    /**
     * Allocates the frames of a run of pages.
     *
     * @param part that holds the frames until {@link #free}
     * @return the first frame, or {@link #NONE}
     */
    public int allocate(int part, int count) {
        divide();
        int frames = count * framesPerPage;
        if (frames > partOf.length) {
            return NONE;
        }
        hold(part, frames);
        boolean isOwn = isGuaranteed[part] && held[part] <= each;
        if (share.claim(heldByAll + reserved) || (isOwn && share.claim(heldByAll))) {
            int frame = pool.stagingFrames().allocateRun(frames);
            if (frame != NONE) {
                for (int i = 0; i < count; i++) {
                    assert partOf[frameOf(frame, i)] == UNHELD : "frame " + frameOf(frame, i);
                    partOf[frameOf(frame, i)] = (char) part;
                }
                return frame;
            }
        }
        hold(part, -frames);
        share.claim(heldByAll + reserved);
        return NONE;
    }

    /** Frees the frames of {@code count} pages. */
    public void free(int frame, int count) {
        for (int i = 0; i < count; i++) {
            int first = frameOf(frame, i);
            assert partOf[first] != UNHELD : "frame " + first;
            hold(partOf[first], -framesPerPage);
            partOf[first] = UNHELD;
        }
        pool.stagingFrames().freeRun(frame, count * framesPerPage);
        share.claim(heldByAll + reserved);
    }

    /** Frees all frames that the pager holds. No transfer may be under way. */
    public void freeAll() {
        for (int frame = 0; heldByAll > 0 && frame < partOf.length; frame++) {
            if (partOf[frame] != UNHELD) {
                free(frame, 1);
            }
        }
    }

    /** Adds frames to those that a part holds. */
    private void hold(int part, int frames) {
        reserved -= reserve(part);
        held[part] += frames;
        heldByAll += frames;
        assert held[part] >= 0 && heldByAll >= 0 : "part " + part;
        reserved += reserve(part);
    }

    /** Frames that are guaranteed to a part and that it does not hold. */
    private int reserve(int part) {
        return isGuaranteed[part] ? Math.max(0, each - held[part]) : 0;
    }

    /** Divides the frames anew if the map or the number of pagers has changed. */
    public void divide() {
        if (version == homes.version() && guaranteed == share.guaranteed()) {
            return;
        }
        version = homes.version();
        guaranteed = share.guaranteed();
        RemoteHomes remotes = homes.remotes();
        int parts = 1 + 2 * remotes.count();
        if (parts > held.length) {
            held = Arrays.copyOf(held, parts);
            isGuaranteed = Arrays.copyOf(isGuaranteed, parts);
        }
        isGuaranteed[LOCAL] = homes.isThisNode();
        int sharing = 2 * remotes.named() + (homes.isThisNode() ? 1 : 0);
        for (int number = 1; number <= remotes.count(); number++) {
            Home home = remotes.numbered(number);
            isGuaranteed[reads(home)] = home.isNamed();
            isGuaranteed[writes(home)] = home.isNamed();
        }
        each = framesPerPage * Math.max(1, guaranteed / framesPerPage / Math.max(1, sharing));
        reserved = 0;
        for (int part = 0; part < parts; part++) {
            reserved += reserve(part);
        }
        share.claim(heldByAll + reserved);
    }

    /** Gives up what the pager is guaranteed. */
    public void close() {
        share.close();
    }

    /** The first frame of the {@code index}th page of a run. */
    public int frameOf(int frame, int index) {
        return frame + index * framesPerPage;
    }

    /** The address of a frame in this process. */
    public long address(int frame) {
        return pool.stagingAddress() + pool.offset(frame);
    }

    /** Whether a page is all zeros. */
    public boolean isZero(int frame) {
        long offset = pool.offset(frame);
        return MemorySegment.mismatch(pool.staging(), offset, offset + pageBytes, Zeros.segment(), 0, pageBytes) == -1;
    }

    /** Fills a page with zeros. */
    public void zero(int frame) {
        pool.staging().asSlice(pool.offset(frame), pageBytes).fill((byte) 0);
    }

    /**
     * Copies pages from the exported part of the pool: this node is a home of them.
     *
     * @param offset within the exported part, bytes
     */
    public void copyFromExported(int frame, int count, long offset) {
        MemorySegment.copy(pool.exported(), offset, pool.staging(), pool.offset(frame), (long) count * pageBytes);
    }

    /**
     * Copies pages to the exported part of the pool: this node is their home.
     *
     * @param offset within the exported part, bytes
     */
    public void copyToExported(int frame, int count, long offset) {
        MemorySegment.copy(pool.staging(), pool.offset(frame), pool.exported(), offset, (long) count * pageBytes);
    }
}
