package io.farpage.agent.data.pager;

import io.farpage.agent.data.pager.home.Mirroring;
import io.farpage.agent.data.pager.home.PagerBacking;
import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.pager.memory.AddressSpace;
import io.farpage.agent.data.pager.memory.PagedGuest;
import io.farpage.agent.data.pager.memory.PagerContext;
import io.farpage.agent.data.pager.memory.Pins;
import io.farpage.agent.data.pager.page.GuestLayout;
import io.farpage.agent.data.pager.page.GuestRegion;
import io.farpage.agent.data.pager.page.PageTable;
import io.farpage.agent.data.pager.page.PagerOptions;
import io.farpage.agent.data.pager.page.PresenceMap;
import io.farpage.agent.data.pager.page.VictimMemory;
import io.farpage.agent.data.shard.Fetcher;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.Shard;
import io.farpage.linux.Errno;
import io.farpage.linux.uffd.GuestFile;
import io.farpage.linux.uffd.PageFaults;
import io.farpage.pool.HugepagePolicy;
import io.farpage.pool.PagePool;
import io.farpage.pool.PoolConfig;
import io.farpage.pool.PoolException;
import io.farpage.pool.hugepages.HugepageSize;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * What a part of a pager needs, for tests that drive it by hand: a shard without devices, a pool, and homes whose links
 * are down.
 */
public final class PagerParts implements AutoCloseable {
    public static final long BASE = RecordingKernel.BASE;
    private static final int FRAME = 4096;
    private static final int FRAMES = 64;
    /** Pages that the victim caches of all may take. */
    private static final int VICTIMS = 64;

    private final PagePool pool;
    private final Fetcher fetcher;
    private final LongSupplier clock;
    private final int prefetch;

    public PagerParts(LongSupplier clock) {
        this(clock, 1);
    }

    /** @param prefetch pages that one fault fetches or makes writable at most */
    public PagerParts(LongSupplier clock, int prefetch) {
        this.clock = clock;
        this.prefetch = prefetch;
        try {
            pool = PagePool.open(PoolConfig.of("a", 1, (long) FRAMES * FRAME, (long) FRAMES * FRAME)
                    .withHugepages(HugepagePolicy.OFF, HugepageSize.TWO_MIB));
        } catch (PoolException e) {
            throw new AssertionError(e);
        }
        fetcher = new Shard(List.of(), Arena.ofAuto().allocate(FRAME), clock, () -> {}).newFetcher(4, 1);
    }

    /** The VMM's address space, in one region, with all pages on one home. */
    public AddressSpace memory(PageFaults kernel, boolean shared, int pageBytes, PageTable table) {
        return memory(kernel, shared, layout(table.pages(), pageBytes), table, map(table.pages(), pageBytes, "b"));
    }

    /** The VMM's address space. */
    public AddressSpace memory(PageFaults kernel, boolean shared, GuestLayout layout, PageTable table, SpaceMap map) {
        return memory(kernel, shared ? new EmptyFile() : null, false, layout, table, map);
    }

    /** As {@link #memory(PageFaults, boolean, int, PageTable)}, of a file that the VMM may fill. */
    public AddressSpace filledMemory(PageFaults kernel, int pageBytes, PageTable table) {
        GuestLayout layout = layout(table.pages(), pageBytes);
        return memory(kernel, new EmptyFile(), true, layout, table, map(table.pages(), pageBytes, "b"));
    }

    /** The VMM's address space, of a file. */
    public AddressSpace memory(PageFaults kernel, GuestFile file, GuestLayout layout, PageTable table, SpaceMap map) {
        return memory(kernel, file, false, layout, table, map);
    }

    private AddressSpace memory(
            PageFaults kernel,
            @Nullable GuestFile file,
            boolean isFilledByVmm,
            GuestLayout layout,
            PageTable table,
            SpaceMap map) {
        PagedGuest guest = new PagedGuest(
                "test",
                kernel,
                file,
                List.of(),
                layout.pageBytes(),
                true,
                PresenceMap.unknown((int) map.pages()),
                Pins.NONE,
                null,
                null,
                isFilledByVmm);
        PagerBacking backing = new PagerBacking(
                "a",
                1,
                () -> map,
                PeerLink::new,
                fetcher,
                pool,
                pool.stagingShares(),
                Mirroring.NONE,
                new VictimMemory(VICTIMS));
        PagerContext context =
                new PagerContext(guest, backing, new PagerOptions(PagerOptions.MIN_LOCAL_PAGES, prefetch), clock);
        return new AddressSpace(context, kernel, layout, table, file != null);
    }

    public PagePool pool() {
        return pool;
    }

    /** One region from {@link #BASE} on. */
    public static GuestLayout layout(int pages, int pageBytes) {
        return new GuestLayout(List.of(new GuestRegion(BASE, (long) pages * pageBytes, 0)), pageBytes);
    }

    /** One extent for each node, of equal size. */
    public static SpaceMap map(int pages, int pageBytes, String... nodes) {
        List<SpaceMap.Extent> extents = new ArrayList<>();
        int each = pages / nodes.length;
        for (int i = 0; i < nodes.length; i++) {
            extents.add(new SpaceMap.Extent(
                    (long) i * each, each, nodes[i], 1, 0, false, List.of(), 0, Optional.empty(), SpaceMap.Pull.NONE));
        }
        return new SpaceMap("test", 1, pages, pageBytes, extents, 0);
    }

    @Override
    public void close() {
        pool.close();
    }

    /** Holes can be punched into it, and it reads as zeros. */
    static final class EmptyFile implements GuestFile {
        @Override
        public long read(long offset, long address, long length) {
            return length;
        }

        @Override
        public int punchHole(long offset, long length) {
            return 0;
        }

        @Override
        public long firstPage(long offset, long length) {
            return -Errno.ENXIO;
        }
    }
}
