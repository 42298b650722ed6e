package io.farpage.agent.data.pager;

import io.farpage.agent.data.shard.FetchStatus;
import io.farpage.agent.data.shard.Fetcher;
import org.jspecify.annotations.Nullable;

/** The transfers of one guest's pager, those of its private children included. The shard's thread only. Allocates nothing. */
final class Transfers {
    private final Fetcher fetcher;
    private final Homes homes;
    private final Staging staging;
    /** By slot of the fetcher. */
    private final Transfer[] all;

    Transfers(Fetcher fetcher, Homes homes, Staging staging) {
        this.fetcher = fetcher;
        this.homes = homes;
        this.staging = staging;
        all = new Transfer[fetcher.capacity()];
        for (int slot = 0; slot < all.length; slot++) {
            all[slot] = new Transfer(slot);
        }
    }

    /** The most transfers that may be under way. */
    int capacity() {
        return all.length;
    }

    /** Transfers under way or not ended. */
    int inUse() {
        return fetcher.inUse();
    }

    /**
     * Starts to read or to write a run of pages of one extent whose home is another node.
     *
     * @param frame the first of the staging frames, which belong to the transfer until {@link #end}
     * @return null if no slot is free for this home
     */
    @Nullable
    Transfer begin(Transfer.Kind kind, int page, int pages, int frame) {
        int extent = homes.extent(page);
        Home home = homes.remote(extent);
        if (!homes.mayTransfer(home)) {
            return null;
        }
        long incarnation = homes.incarnation(extent);
        long offset = homes.offset(extent, page);
        int bytes = pages * staging.pageBytes();
        long address = staging.address(frame);
        int slot = kind == Transfer.Kind.FETCH
                ? fetcher.read(home.link(), incarnation, offset, bytes, address)
                : fetcher.write(home.link(), incarnation, offset, bytes, address);
        if (slot == Fetcher.NONE) {
            return null;
        }
        Transfer begun = all[slot];
        begun.begin(kind, page, pages, frame, home);
        homes.begin(home, pages, begun.isWrite());
        return begun;
    }

    /** Whether a slot is free for a transfer with the home of a page, which is another node. */
    boolean mayBegin(int page) {
        return fetcher.inUse() < fetcher.capacity() && homes.mayTransfer(homes.remote(homes.extent(page)));
    }

    /** The next transfer that has completed, or null. It keeps its frames until {@link #end}. */
    @Nullable
    Transfer poll() {
        int slot = fetcher.poll();
        if (slot == Fetcher.NONE) {
            return null;
        }
        Transfer completed = all[slot];
        Home home = completed.home();
        if (home != null) {
            homes.completed(home, status(completed) == FetchStatus.OK);
        }
        return completed;
    }

    /** How a completed transfer ended. */
    FetchStatus status(Transfer completed) {
        return fetcher.status(completed.slot());
    }

    /** Frees the slot and the frames of a completed transfer. */
    void end(Transfer completed) {
        Home home = completed.home();
        if (home != null) {
            homes.end(home, completed.count(), completed.isWrite());
        }
        staging.free(completed.frame(), completed.count());
        int slot = completed.slot();
        completed.end();
        fetcher.release(slot);
    }

    /** Pages are given up: those that {@code owner} fetches must not be installed. */
    void remove(Arrivals owner, int page, int pages) {
        for (Transfer each : all) {
            if (each.owner() == owner) {
                each.remove(page, pages);
            }
        }
    }

    /** A thread waits to write to a page that {@code owner} may be fetching. */
    void wantForWrite(Arrivals owner, int page) {
        for (Transfer each : all) {
            if (each.owner() == owner) {
                each.wantForWrite(page);
            }
        }
    }
}
