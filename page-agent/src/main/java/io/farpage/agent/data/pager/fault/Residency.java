package io.farpage.agent.data.pager.fault;

import io.farpage.agent.data.pager.home.Home;
import io.farpage.agent.data.pager.home.Homes;
import io.farpage.agent.data.pager.home.RemoteHomes;
import io.farpage.agent.data.pager.memory.AddressSpace;
import io.farpage.agent.data.pager.memory.HostMemory;
import io.farpage.agent.data.pager.memory.Installer;
import io.farpage.agent.data.pager.memory.PagerContext;
import io.farpage.agent.data.pager.page.PageTable;
import io.farpage.agent.data.pager.page.PagerOptions;
import io.farpage.agent.data.pager.page.VictimCache;

/**
 * How many pages of a guest are resident, and how many may be. Fault handling asks it for free frames, eviction for its
 * goal. Belongs to the shard's thread, apart from {@link #limit} and {@link #resize}.
 */
public final class Residency {
    private final AddressSpace memory;
    private final PagerContext context;
    private final PageTable table;
    private final Homes homes;
    private final RemoteHomes remotes;
    private final Installer installer;
    private final Arrivals arrivals;
    private final Children children;
    private final PinReserve reserve;
    private final Parking parking;
    private final VictimCache victims;
    private volatile int limit;
    private boolean evictionFailed;

    /** @param children that may share the memory */
    public Residency(AddressSpace memory, Installer installer, Arrivals arrivals, Children children) {
        this.memory = memory;
        this.installer = installer;
        this.arrivals = arrivals;
        this.children = children;
        context = memory.context();
        table = memory.table();
        victims = memory.victims();
        homes = context.homes();
        remotes = homes.remotes();
        reserve = new PinReserve(context.pins(), table.pages(), memory.layout().pageBytes());
        parking = new Parking(memory.layout().pageBytes());
        limit = context.options().localPages();
    }

    /** Whether the host has memory for another page. */
    public HostMemory hostMemory() {
        return installer.hostMemory();
    }

    /** Whether the guest is parked. */
    public Parking parking() {
        return parking;
    }

    /** Pages that may be resident while the guest is not parked. Any thread. */
    public int limit() {
        return limit;
    }

    /** Sets how many pages may be resident. Any thread. */
    public void resize(int localPages) {
        limit = localPages;
    }

    /** Pages that are resident or being fetched, apart from stranded ones. */
    public long held() {
        return table.resident() - table.stranded() + arrivals.incoming();
    }

    /** Whether pages of this guest can be evicted at all. */
    public boolean isEvictable() {
        return context.isShared() && memory.protection().isSupported() && !evictionFailed;
    }

    /** No page can be evicted from now on. */
    public void stopEviction() {
        evictionFailed = true;
    }

    /**
     * Pages that may be resident, apart from stranded ones, before eviction begins. Below the limit while faults need a
     * reserve, or where the host had no memory for another page.
     */
    public int goal() {
        int frames = frames();
        int stranded = (int) table.stranded();
        int resident = (int) Math.min(Integer.MAX_VALUE, (long) frames + stranded);
        return (int) Math.min(reserve.below(frames), installer.hostMemory().maxResident(resident) - (long) stranded);
    }

    /**
     * How many pages of an extent may become resident now, up to {@link PagerOptions#MAX_RUN}; 0 or less if none. The
     * limit does not apply where nothing can be evicted, since it would stop the guest for good. Each of several homes
     * leaves half of the free frames to the others, and more if it does not answer, since its own pages cannot be
     * evicted then. If pages of such a home fill the limit all the same, pages of others may exceed it by the number
     * that would have been left to them. Lost pages, and zero pages of a lost home or for which no home has room, do
     * not count against the limit, unless a snapshot has the others of their extent.
     */
    int freeFrames(int extent) {
        if (!isEvictable() || children.share() || context.pins().isHeld()) {
            return PagerOptions.MAX_RUN;
        }
        int frames = frames();
        long free = reserve.free(frames, held());
        if (homes.isOnlyCopy(extent, true)) {
            return Math.clamp(free, 1, PagerOptions.MAX_RUN);
        }
        Home home = homes.home(extent);
        boolean answers = home == null || remotes.answers(home);
        if (answers && free <= 0 && homes.isAnySilent()) {
            free += silentReserve(frames);
        }
        if (home != null && remotes.areSeveral()) {
            free = answers
                    ? Math.min(free, (free + home.incoming() + 1) / 2 - home.incoming())
                    : free - silentReserve(frames);
        }
        // A parked guest gets the pages that it touches, and each of them counts as a fault.
        return (int) Math.min(parking.isParked() ? 1 : PagerOptions.MAX_RUN, free);
    }

    /**
     * Pages that may be resident now. A large page is not evicted for a time after the guest gave up a part of it. Such
     * pages do not count while a guest is parked: they may be more than it may keep, and its faults need the frames.
     */
    private int frames() {
        return parking.frames(limit - victims.capacity(), parking.isParked() ? table.partlyRemovedResident() : 0);
    }

    /**
     * Gives evicted pages a part of the limit when pages are evicted for the first time under it. They have none while
     * the guest is parked, and where the host has no memory.
     */
    public void fitVictims(boolean isEvicting) {
        int allowed = limit;
        boolean isUseless = parking.isParked() || installer.hostMemory().isExhausted() || allowed >= table.pages();
        int most = isUseless ? 0 : allowed;
        if (isEvicting || most < victims.limit()) {
            victims.fit(most);
        }
    }

    /** Pages that eviction keeps free for faults, so that they need not wait for a write-back. */
    public static int slack(int limit) {
        return Math.min(4 * PagerOptions.MAX_WRITE_RUN, Math.max(8, limit / 16));
    }

    /** Pages under the limit that a home which does not answer leaves to other homes. */
    private static int silentReserve(int limit) {
        return 2 * slack(limit);
    }
}
