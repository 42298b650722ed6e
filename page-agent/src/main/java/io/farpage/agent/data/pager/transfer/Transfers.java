package io.farpage.agent.data.pager.transfer;

import io.farpage.agent.data.pager.home.Home;
import io.farpage.agent.data.pager.home.Homes;
import io.farpage.agent.data.pager.home.Joining;
import io.farpage.agent.data.pager.home.RemoteHomes;
import io.farpage.agent.data.pager.home.WrittenHomes;
import io.farpage.agent.data.shard.FetchStatus;
import io.farpage.agent.data.shard.Fetcher;
import io.farpage.agent.data.shard.Priority;
import io.farpage.agent.data.shard.SilenceClock;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The transfers of one guest's pager, those of its private children included. The shard's thread only. Allocates
 * nothing.
 */
public final class Transfers {
    private final Fetcher fetcher;
    private final Homes homes;
    private final WrittenHomes writtenHomes;
    private final RemoteHomes remotes;
    private final Staging staging;
    private final SilenceClock silence;
    /** By slot of the fetcher. */
    private final Transfer[] all;
    /** Slots in use for pages with several homes. */
    private int mirrored;

    public Transfers(Fetcher fetcher, Homes homes, WrittenHomes writtenHomes, Staging staging, SilenceClock silence) {
        this.silence = silence;
        this.fetcher = fetcher;
        this.homes = homes;
        this.writtenHomes = writtenHomes;
        remotes = homes.remotes();
        this.staging = staging;
        all = new Transfer[fetcher.capacity()];
        for (int slot = 0; slot < all.length; slot++) {
            all[slot] = new Transfer(slot);
        }
    }

    /** The most transfers that may be under way. */
    public int capacity() {
        return all.length;
    }

    /** Transfers under way or not ended. */
    public int inUse() {
        return fetcher.inUse();
    }

    /** Whether {@link #poll} has one. */
    public boolean hasDone() {
        return fetcher.hasDone();
    }

    /** Whether a WRITE is under way or has not ended. */
    public boolean isAnyWrite() {
        for (Transfer each : all) {
            if (each.isInUse() && each.isWrite()) {
                return true;
            }
        }
        return false;
    }

    /**
     * Starts to read or to write a run of pages of one extent whose home is another node.
     *
     * @param frame the first of the staging frames, which belong to the transfer until {@link #end}
     * @return null if no slot is free for this home
     */
    @Nullable
    public Transfer begin(Transfer.Kind kind, int page, int pages, int frame) {
        int extent = homes.extent(page);
        boolean isRead = kind == Transfer.Kind.FETCH || kind == Transfer.Kind.PREFETCH;
        if (homes.isMirrored(extent)) {
            return isRead
                    ? beginRead(kind, extent, homes.reader(extent, page), page, pages, frame)
                    : beginWrites(kind, extent, page, pages, frame);
        }
        Home home = homes.remote(extent);
        if (!remotes.mayTransfer(home)) {
            return null;
        }
        long incarnation = homes.incarnation(extent, 0);
        long offset = homes.offset(extent, 0, page);
        int bytes = pages * staging.pageBytes();
        long address = staging.address(frame);
        int slot = isRead
                ? fetcher.readOverLink(priority(kind), home.link(), incarnation, offset, bytes, address)
                : fetcher.writeOverLink(home.link(), incarnation, offset, bytes, address);
        return slot == Fetcher.NONE ? null : begun(slot, kind, page, pages, frame, home);
    }

    private static Priority priority(Transfer.Kind kind) {
        return kind == Transfer.Kind.FETCH ? Priority.DEMAND : Priority.BULK;
    }

    private Transfer begun(int slot, Transfer.Kind kind, int page, int pages, int frame, Home home) {
        Transfer begun = all[slot];
        assert !begun.isInUse() : "slot " + slot;
        assert homes.extent(page) == homes.extent(page + pages - 1) : "pages " + page + " to " + (page + pages - 1);
        begun.begin(kind, page, pages, frame, home, homes.version());
        remotes.begin(home, pages, begun.isWrite());
        return begun;
    }

    /** Reads from one of several homes. If its link breaks, another one is asked at once. */
    private @Nullable Transfer beginRead(Transfer.Kind kind, int extent, int copy, int page, int pages, int frame) {
        Home home = Objects.requireNonNull(homes.home(extent, copy));
        if (!remotes.mayTransfer(home)) {
            return null;
        }
        long incarnation = homes.incarnation(extent, copy);
        long offset = homes.offset(extent, copy, page);
        int bytes = pages * staging.pageBytes();
        long address = staging.address(frame);
        int slot = fetcher.readFailingFast(priority(kind), home.link(), incarnation, offset, bytes, address);
        if (slot == Fetcher.NONE) {
            return null;
        }
        return mirrored(begun(slot, kind, page, pages, frame, home));
    }

    private Transfer mirrored(Transfer begun) {
        begun.startedAt(silence.read());
        mirrored++;
        return begun;
    }

    /**
     * Reads pages from a home on another node, to copy them to one that joins. Null if the home is down or no slot is
     * free.
     */
    @Nullable
    public Transfer beginCopyRead(int extent, int copy, int page, int pages, int frame) {
        Home home = homes.home(extent, copy);
        return home == null || !home.isUp()
                ? null
                : beginRead(Transfer.Kind.COPY_READ, extent, copy, page, pages, frame);
    }

    /** Writes pages that were read from a home to one on another node that joins. Null if no slot is free. */
    @Nullable
    public Transfer beginCopyWrite(Joining to, int page, int pages, int frame) {
        Home home = Objects.requireNonNull(to.home());
        if (!remotes.mayTransfer(home)) {
            return null;
        }
        int slot = fetcher.writeFailingFast(
                home.link(), to.incarnation(), to.offset(page), pages * staging.pageBytes(), staging.address(frame));
        return slot == Fetcher.NONE ? null : mirrored(begun(slot, Transfer.Kind.COPY_WRITE, page, pages, frame, home));
    }

    /**
     * Reads the pages of a slow transfer from another home.
     *
     * @param frame the first of as many staging frames as the slow transfer has
     * @return whether a slot was free
     */
    public boolean hedge(Transfer slow, int copy, int frame) {
        Transfer second =
                beginRead(Transfer.Kind.FETCH, homes.extent(slow.first()), copy, slow.first(), slow.count(), frame);
        if (second == null) {
            return false;
        }
        second.pairWith(slow);
        return true;
    }

    /** Writes to every home of an extent on another node, and to the one that joins. */
    private @Nullable Transfer beginWrites(Transfer.Kind kind, int extent, int page, int pages, int frame) {
        if (!mayBeginWrite(page)) {
            return null;
        }
        int bytes = pages * staging.pageBytes();
        long address = staging.address(frame);
        Transfer lead = null;
        for (int copy = 0; copy < homes.copies(extent); copy++) {
            Home home = homes.home(extent, copy);
            if (home == null) {
                continue;
            }
            long incarnation = homes.incarnation(extent, copy);
            int slot = fetcher.writeFailingFast(
                    home.link(), incarnation, homes.offset(extent, copy, page), bytes, address);
            Transfer leg = mirrored(begun(slot, kind, page, pages, frame, home));
            lead = lead == null ? leg : lead;
            lead.addLeg(leg, home, incarnation);
        }
        Joining joining = writtenHomes.joining(extent);
        Home joins = joining == null ? null : joining.home();
        if (joining != null && joins != null) {
            int slot =
                    fetcher.writeFailingFast(joins.link(), joining.incarnation(), joining.offset(page), bytes, address);
            Transfer leg = mirrored(begun(slot, kind, page, pages, frame, joins));
            lead = lead == null ? leg : lead;
            lead.addLeg(leg, joins, joining.incarnation());
        }
        return lead;
    }

    /** Whether a page can be written to all its homes on other nodes now. */
    public boolean mayBeginWrite(int page) {
        int extent = homes.extent(page);
        if (!homes.isMirrored(extent)) {
            return mayBegin(page);
        }
        Joining joining = writtenHomes.joining(extent);
        Home joins = joining == null ? null : joining.home();
        int writers = writtenHomes.count(extent) + (joins == null ? 0 : 1);
        if (writers == 0 || fetcher.capacity() - fetcher.inUse() < writers) {
            return false;
        }
        for (int copy = 0; copy < homes.copies(extent); copy++) {
            Home home = homes.home(extent, copy);
            if (home != null && !remotes.mayTransfer(home)) {
                return false;
            }
        }
        return joins == null || remotes.mayTransfer(joins);
    }

    /** Whether a slot is free for a transfer with the only home of a page, which is another node. */
    private boolean mayBegin(int page) {
        return fetcher.inUse() < fetcher.capacity() && remotes.mayTransfer(homes.remote(homes.extent(page)));
    }

    /** The next transfer that has completed, or null. It keeps its frames until {@link #end}. */
    @Nullable
    public Transfer poll() {
        for (int slot = fetcher.poll(); slot != Fetcher.NONE; slot = fetcher.poll()) {
            Transfer completed = all[slot];
            FetchStatus how = fetcher.status(slot);
            completed.polled();
            Transfer whole = mirrored == 0 ? completed : ended(completed, how);
            if (whole != null) {
                return whole;
            }
        }
        return null;
    }

    /**
     * The transfer that is completed with a part of it, or null if another part is under way or the pages have come
     * already.
     */
    private @Nullable Transfer ended(Transfer part, FetchStatus how) {
        Transfer lead = part.lead() == null ? part : part.lead();
        if (lead.legs() > 0) {
            boolean last = lead.legEnded(part.slot(), how);
            if (part != lead) {
                endLeg(part);
            }
            return last ? lead : null;
        }
        Transfer twin = part.twin();
        if (twin != null) {
            part.unpair();
            if (how == FetchStatus.OK) {
                twin.abandon();
                return part;
            }
            end(part);
            return null;
        }
        if (part.isAbandoned()) {
            end(part);
            return null;
        }
        return part;
    }

    /** Frees the slot of a WRITE to a further home. The frames are its lead's. */
    private void endLeg(Transfer leg) {
        Home home = leg.home();
        if (home != null) {
            remotes.end(home, leg.count(), true);
        }
        mirrored--;
        assert mirrored >= 0;
        int slot = leg.slot();
        leg.end();
        fetcher.release(slot);
    }

    /**
     * How a completed transfer ended. A WRITE succeeded if every home that the page has now has completed it. One that
     * joins counts once it is ready.
     */
    public FetchStatus status(Transfer completed) {
        if (completed.legs() == 0) {
            return fetcher.status(completed.slot());
        }
        int extent = homes.extent(completed.first());
        FetchStatus status = homes.isLost(extent) ? FetchStatus.PAGE_LOST : FetchStatus.OK;
        for (int copy = 0; copy < homes.copies(extent); copy++) {
            Home home = homes.home(extent, copy);
            if (home == null) {
                continue;
            }
            FetchStatus its = completed.writtenTo(home, homes.incarnation(extent, copy));
            if (its != FetchStatus.OK) {
                writtenHomes.suspect(extent, copy, its == FetchStatus.DEADLINE);
                status = its;
            }
        }
        Joining joining = homes.joinings().of(extent);
        return joining == null
                ? status
                : joining.judge(
                        completed.writtenTo(joining.home(), joining.incarnation()),
                        completed.first(),
                        completed.count(),
                        status);
    }

    /** A transfer by its slot, from 0 to {@link #capacity} - 1. */
    public Transfer at(int slot) {
        return all[slot];
    }

    /** Ends the part of a transfer that uses a slot, as soon as the device can no longer access its frames. */
    public void giveUp(int slot, String why) {
        fetcher.giveUp(slot, why);
    }

    /** Lets nothing more be posted for a transfer, without failing the link of what is. */
    public void withdraw(int slot) {
        fetcher.withdraw(slot);
    }

    /**
     * Ends every transfer that has completed, and so those that the part of the pager that began them has not dealt
     * with. Returns how many.
     */
    public int endCompleted() {
        int ended = 0;
        for (Transfer next = poll(); next != null; next = poll()) {
            ended++;
            end(next);
        }
        for (Transfer each : all) {
            if (each.isCompleted()) {
                ended++;
                end(each);
            }
        }
        return ended;
    }

    /** Frees the slot and the frames of a completed transfer. */
    public void end(Transfer completed) {
        int frame = completed.frame();
        int count = completed.count();
        endKeepingFrames(completed);
        staging.free(frame, count);
    }

    /** Frees the slot of a completed transfer. The frames are the caller's. */
    public void endKeepingFrames(Transfer completed) {
        assert completed.isCompleted() : "slot " + completed.slot();
        Home home = completed.home();
        if (home != null) {
            remotes.end(home, completed.count(), completed.isWrite());
        }
        mirrored -= completed.isMirrored() ? 1 : 0;
        assert mirrored >= 0;
        int slot = completed.slot();
        completed.end();
        fetcher.release(slot);
    }

    /** Pages are given up: those that {@code owner} fetches must not be installed. */
    public void remove(Transfer.Owner owner, int page, int pages) {
        for (Transfer each : all) {
            if (owner.equals(each.owner())) {
                each.remove(page, pages);
            }
        }
    }

    /** A thread waits for a page that {@code owner} is fetching, and may want to write to it. */
    public void want(Transfer.Owner owner, int page, boolean write) {
        for (Transfer each : all) {
            if (owner.equals(each.owner()) && each.has(page)) {
                fetcher.hurry(each.slot());
                if (write) {
                    each.wantForWrite(page);
                }
            }
        }
    }
}
