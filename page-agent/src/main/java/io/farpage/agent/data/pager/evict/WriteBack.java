package io.farpage.agent.data.pager.evict;

import io.farpage.agent.data.pager.home.Homes;
import io.farpage.agent.data.pager.home.Joining;
import io.farpage.agent.data.pager.home.WrittenHomes;
import io.farpage.agent.data.pager.memory.AddressSpace;
import io.farpage.agent.data.pager.memory.PagerContext;
import io.farpage.agent.data.pager.page.GuestLayout;
import io.farpage.agent.data.pager.page.PagerOptions;
import io.farpage.agent.data.pager.page.VictimCache;
import io.farpage.agent.data.pager.transfer.Sealing;
import io.farpage.agent.data.pager.transfer.Staging;
import io.farpage.agent.data.pager.transfer.Transfer;
import io.farpage.agent.data.pager.transfer.Transfers;
import io.farpage.linux.uffd.GuestFile;

/**
 * Writes runs of pages to their homes, for eviction and for the flush at the guest's end. Both acquire staging frames
 * for a run, fill them, and write the run or parts of it. The shard's thread only.
 */
public final class WriteBack {
    /** No page. */
    static final int NONE = -1;

    private final GuestFile file;
    private final GuestLayout layout;
    private final Homes homes;
    private final WrittenHomes writtenHomes;
    private final VictimCache victims;
    private final Staging staging;
    private final Transfers transfers;
    private final Sealing sealing;
    private final boolean isFilledByVmm;
    /** The first frame of the run that is being filled. */
    private int frame;

    /** What became of a write. */
    enum Outcome {
        /** This node is the home: the pages are copied, their frames are free. */
        DONE,
        /** The frames belong to the transfer. */
        STARTED,
        /** No slot is free for this home: the frames are still the caller's. */
        NO_SLOT
    }

    /** @param file the memory that is written back */
    public WriteBack(AddressSpace memory, GuestFile file) {
        this.file = file;
        layout = memory.layout();
        victims = memory.victims();
        PagerContext context = memory.context();
        homes = context.homes();
        writtenHomes = context.writtenHomes();
        staging = context.staging();
        transfers = context.transfers();
        sealing = context.sealing();
        isFilledByVmm = context.isFilledByVmm();
    }

    /** The most pages of one write. */
    int maxRun() {
        return Math.min(PagerOptions.MAX_WRITE_RUN, staging.maxRun());
    }

    /**
     * Acquires staging frames for a run from {@code first} on, or for one page if they run short. Returns for how many
     * pages; 0 if no frame is free.
     */
    int acquire(int first, int most) {
        int part = Staging.writes(homes.firstRemote(homes.extent(first)));
        frame = staging.allocate(part, most);
        if (frame != Staging.NONE) {
            return most;
        }
        frame = most > 1 ? staging.allocate(part, 1) : Staging.NONE;
        return frame == Staging.NONE ? 0 : 1;
    }

    /** Frees the frames of {@code count} pages from the {@code index}th of the run on. */
    void release(int index, int count) {
        staging.free(staging.frameOf(frame, index), count);
    }

    /**
     * Reads pages from the memory file to the frames from the {@code index}th on. Returns how many bytes were read, or
     * a negative error number.
     */
    long read(int first, int index, int count) {
        long address = staging.address(staging.frameOf(frame, index));
        return file.read(layout.offsetOf(first), address, (long) count * layout.pageBytes());
    }

    /** Reads pages that are about to be punched out of the memory file, for faults of them. */
    void readVictims(int first, int count) {
        victims.read(file, layout.offsetOf(first), first, count);
    }

    /** Punches pages out of the memory file. Returns 0 or a negative error number. */
    int punch(int first, int count) {
        return file.punchHole(layout.offsetOf(first), (long) count * layout.pageBytes());
    }

    /**
     * The first of these pages that the memory file has, or {@link #NONE}. The kernel cannot be left with a part of a
     * page of hugetlbfs.
     */
    int firstLeft(int first, int count) {
        if (layout.pageBytes() != GuestLayout.BASE_PAGE || isFilledByVmm) {
            return NONE;
        }
        long offset = layout.offsetOf(first);
        long left = file.firstPage(offset, (long) count * GuestLayout.BASE_PAGE);
        return left < 0 ? NONE : first + (int) ((left - offset) / GuestLayout.BASE_PAGE);
    }

    /** Fills the frames of the {@code index}th page with zeros. */
    void zero(int index) {
        staging.zero(staging.frameOf(frame, index));
    }

    /** Whether the {@code index}th page of the run is all zeros. */
    boolean isZero(int index) {
        return staging.isZero(staging.frameOf(frame, index));
    }

    /**
     * Writes {@code count} pages from {@code first} on, of one extent, from the frames from the {@code index}th on. The
     * frames of an encrypted space hold the sealed pages afterwards, whatever the outcome.
     */
    Outcome write(Transfer.Kind kind, int first, int count, int index) {
        int from = staging.frameOf(frame, index);
        int extent = homes.extent(first);
        writtenHomes.begin(extent, first, count);
        Joining joining = writtenHomes.joining(extent);
        if (joining != null) {
            return writeJoined(kind, first, count, from, joining);
        }
        boolean isLocal = homes.localCopy(extent) >= 0;
        if (isLocal && writtenHomes.count(extent) == 0) {
            sealing.seal(first, count, from);
            staging.copyToExported(from, count, homes.localOffset(extent, first));
            staging.free(from, count);
            return Outcome.DONE;
        }
        if (isLocal) {
            return writeBeside(kind, first, count, from);
        }
        if (sealing.isOn() && !transfers.mayBeginWrite(first)) {
            return Outcome.NO_SLOT;
        }
        sealing.seal(first, count, from);
        return transfers.begin(kind, first, count, from) == null ? Outcome.NO_SLOT : Outcome.STARTED;
    }

    /** A home joins the extent, and this node may be one of its homes, or the one that joins. */
    private Outcome writeJoined(Transfer.Kind kind, int first, int count, int from, Joining joining) {
        if (!transfers.mayBeginWrite(first)) {
            return Outcome.NO_SLOT;
        }
        sealing.seal(first, count, from);
        int extent = homes.extent(first);
        if (homes.localCopy(extent) >= 0) {
            staging.copyToExported(from, count, homes.localOffset(extent, first));
        }
        if (joining.home() == null) {
            staging.copyToExported(from, count, joining.offset(first));
        }
        return transfers.begin(kind, first, count, from) == null ? Outcome.NO_SLOT : Outcome.STARTED;
    }

    /** This node is one of several homes. */
    private Outcome writeBeside(Transfer.Kind kind, int first, int count, int from) {
        if (!transfers.mayBeginWrite(first)) {
            return Outcome.NO_SLOT;
        }
        sealing.seal(first, count, from);
        staging.copyToExported(from, count, homes.localOffset(homes.extent(first), first));
        return transfers.begin(kind, first, count, from) == null ? Outcome.NO_SLOT : Outcome.STARTED;
    }
}
