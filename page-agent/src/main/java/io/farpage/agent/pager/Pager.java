package io.farpage.agent.pager;

import io.farpage.agent.shard.DutyCycle;
import io.farpage.agent.shard.FetchStatus;
import io.farpage.agent.shard.Fetcher;
import io.farpage.agent.shard.PeerLink;
import io.farpage.agent.space.SpaceMap;
import io.farpage.agent.uffd.GuestFile;
import io.farpage.agent.uffd.PageFaults;
import io.farpage.agent.uffd.UffdMessages;
import io.farpage.agent.uffd.Userfaultfd;
import io.farpage.pool.PagePool;
import io.farpage.pool.frames.FrameAllocator;
import io.farpage.posix.ErrnoName;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves the page faults of one guest. Belongs to its shard's thread, but for {@link #resize}, {@link #finish} and what is said to be for
 * any thread.
 *
 * <p>Each turn takes what has arrived, installs it, reads what the kernel has to tell, and starts what faults ask for. While an event such
 * as a balloon's removal waits to be read, the kernel refuses every installation: the turn reads it then, and the next one tries again.
 * So nobody waits for a look at messages before getting a page, and who was woken by it may be heard again in the same turn.
 */
public final class Pager implements DutyCycle {
    private static final Logger log = LoggerFactory.getLogger(Pager.class);
    private static final int MESSAGES = 64;

    private final String space;
    private final PageFaults uffd;
    private final GuestLayout layout;
    private final PageTable table;
    private final Homes homes;
    private final Fetcher fetcher;
    private final Transfers transfers;
    private final Installer installer;
    private final @Nullable Evictor evictor;
    private final @Nullable Flush flush;
    private final Streams streams;
    private final Streams stores;
    private final Arrivals arrivals;
    private final Replay replay;
    private final Heat heat;
    private final int zeroFrame;
    private final PagePool pool;
    private final LongSupplier clock;
    private final Consumer<PagerEnd> ended;
    private final UffdMessages messages = new UffdMessages(MESSAGES);
    private final FaultQueue queue = new FaultQueue();
    private final PagerCounters counters = new PagerCounters();

    private final List<Userfaultfd> children = new ArrayList<>();

    private volatile long peakResident;
    private boolean done;
    /** Whether the latest look took all there was, and the shard cannot have slept since. */
    private boolean emptied;

    private long strays;
    private WorkingSet left = WorkingSet.EMPTY;
    private volatile int limit;
    private volatile @Nullable String finishing;
    private volatile boolean spinning;

    /**
     * What a pager works on.
     *
     * @param space its name, for messages
     * @param uffd where the faults come from; the pager's from now on, but closed by its owner
     * @param file what backs the memory; without it nothing can be evicted
     * @param regions where the memory is
     * @param pageBytes bytes of a page: 4096 or 2097152
     * @param written whether the pages may hold something, rather than all being zeros
     * @param workingSet what to fetch before it is asked for
     */
    public record Guest(
            String space,
            PageFaults uffd,
            @Nullable GuestFile file,
            List<GuestRegion> regions,
            int pageBytes,
            boolean written,
            WorkingSet workingSet) {}

    /**
     * Where pages come from and go to.
     *
     * @param node this node
     * @param incarnation this node's incarnation
     * @param map where the pages live as far as is known at the moment
     * @param links the shard's side of the link to a node
     * @param fetcher for this pager alone
     * @param pool staging frames, and the pages that live on this node
     */
    public record Backing(
            String node,
            long incarnation,
            Supplier<SpaceMap> map,
            Function<String, PeerLink> links,
            Fetcher fetcher,
            PagePool pool) {}

    /**
     * @param clock monotonic nanoseconds
     * @param ended told once, on the shard's thread, when nothing of this pager is under way any more
     */
    public Pager(Guest guest, Backing backing, PagerOptions options, LongSupplier clock, Consumer<PagerEnd> ended) {
        space = guest.space();
        uffd = guest.uffd();
        pool = backing.pool();
        fetcher = backing.fetcher();
        layout = new GuestLayout(guest.regions(), guest.pageBytes());
        table = new PageTable((int) backing.map().get().pages(), guest.written());
        homes = new Homes(backing.node(), backing.incarnation(), backing.map(), backing.links());
        transfers = new Transfers(fetcher, pool, guest.pageBytes());
        GuestFile file = guest.file();
        zeroFrame = guest.pageBytes() > Installer.BASE_PAGE ? zeroFrame() : FrameAllocator.NONE;
        installer = new Installer(
                uffd,
                layout,
                table,
                space,
                zeroFrame == FrameAllocator.NONE ? 0 : transfers.stagingAddress(zeroFrame, 0),
                file != null,
                clock);
        evictor = file == null
                ? null
                : new Evictor(space, file, table, layout, installer, homes, fetcher, transfers, pool, clock);
        flush = file == null ? null : new Flush(file, table, layout, homes, fetcher, transfers, pool);
        streams = new Streams(options.prefetchPages());
        arrivals = new Arrivals(space, table, layout, homes, fetcher, transfers, installer, pool, counters, clock);
        replay = new Replay(guest.workingSet(), table, layout, homes, arrivals);
        heat = new Heat(table.pages());
        stores = new Streams(options.prefetchPages());
        limit = options.localPages();
        this.clock = clock;
        this.ended = ended;
    }

    /** A page of zeros to copy from, where the kernel has no operation for it. */
    private int zeroFrame() {
        int frame = transfers.allocate(1);
        if (frame == FrameAllocator.NONE) {
            throw new IllegalArgumentException(
                    "space " + space + ": no page of staging memory is free; raise pool.staging");
        }
        pool.staging()
                .asSlice(transfers.stagingOffset(frame, 0), layout.pageBytes())
                .fill((byte) 0);
        return frame;
    }

    /** Whether the shard's thread should look without sleeping, because it spins anyway. */
    public void spinning(boolean spin) {
        spinning = spin;
    }

    /** Changes how many pages may be resident; what is above goes soon. Any thread, which wakes the shard. */
    public void resize(int localPages) {
        limit = localPages;
    }

    /** Pages that may be resident. Any thread. */
    public int limit() {
        return limit;
    }

    /** Pages that are here or on their way. What comes later stays within {@link #limit()}. */
    public long held() {
        return table.resident() + arrivals.incoming();
    }

    /** The VMM has ended: writes back what its memory held, and ends. Any thread, which wakes the shard. */
    public void finish(String reason) {
        finishing = reason;
    }

    /** Looks whether the VMM's address space is still there; if not, the next turn begins to {@link #finish}. */
    public void probe() {
        installer.probe();
    }

    /** How often pages were asked for. Any thread. */
    public Heat heat() {
        return heat;
    }

    /** What was counted. Any thread. */
    public PagerCounters counters() {
        return counters;
    }

    /** Where the pages are. Any thread. */
    public PagerStatus status() {
        return new PagerStatus(
                table.pages(),
                layout.pageBytes(),
                table.resident(),
                peakResident,
                limit,
                table.count(PageTable.REMOTE) + table.count(PageTable.FETCHING),
                table.count(PageTable.ZERO),
                table.count(PageTable.DIRTY) + table.count(PageTable.EVICTING),
                table.count(PageTable.LOST),
                evictor == null ? 0 : evictor.evictions().get(),
                evictor == null ? 0 : evictor.writtenBack().get(),
                evictor == null ? 0 : evictor.elided().get(),
                streams.hits().get(),
                streams.wasted().get());
    }

    @Override
    public int fileDescriptor() {
        return done || installer.isGone() ? -1 : uffd.fd();
    }

    @Override
    public boolean needsPolling() {
        return !done
                && (spinning
                        || arrivals.isWaiting()
                        || !queue.isEmpty()
                        || (evictor != null && evictor.isBusy())
                        || finishing != null);
    }

    @Override
    public int doWork() {
        if (done) {
            return 0;
        }
        homes.refresh();
        int work = takeCompletions();
        work += arrivals.install(finishing == null);
        if (!installer.isGone() && (work > 0 || spinning || !emptied)) {
            work += readMessages();
            emptied = work > 0;
        } else {
            // Nothing was found now: before the next turn the shard sleeps, and is woken by what comes.
            emptied = false;
        }
        work += serveQueue();
        if (finishing == null && (installer.isGone() || layout.isEmpty())) {
            finishing = installer.isGone() ? "its VMM has ended" : "its VMM has unmapped its memory";
        }
        if (finishing != null) {
            if (left == WorkingSet.EMPTY) {
                left = WorkingSet.of(table);
            }
            return work + endSome();
        }
        if (evictor != null) {
            work += evictor.doWork(arrivals.incoming() + queue.size(), limit);
        }
        if (!replay.isDone() && queue.isEmpty()) {
            work += replay.doWork(limit);
        }
        long resident = table.resident();
        if (resident > peakResident) {
            peakResident = resident;
        }
        return work;
    }

    private int readMessages() {
        int work = 0;
        while (true) {
            int count = uffd.read(messages);
            if (count < 0) {
                log.error("space {}: faults cannot be read: {}", space, ErrnoName.of(-count));
                finish("faults cannot be read: " + ErrnoName.of(-count));
                return work;
            }
            // A removal that was read is carried out at any moment from then on: what is installed before the table
            // knows of it would be taken for what was removed. The kernel puts faults first.
            for (int i = 0; i < count; i++) {
                if (messages.event(i) != UffdMessages.EVENT_PAGEFAULT) {
                    takeEvent(i);
                }
            }
            long now = count == 0 ? 0 : clock.getAsLong();
            for (int i = 0; i < count; i++) {
                if (messages.event(i) == UffdMessages.EVENT_PAGEFAULT) {
                    takeFault(i, now);
                }
            }
            work += count;
            if (count < messages.capacity()) {
                return work;
            }
        }
    }

    private void takeFault(int index, long now) {
        int page = layout.pageAt(messages.address(index));
        if (page != GuestLayout.NONE) {
            if (messages.isMinor(index)) {
                minor(page);
            } else {
                fault(page, messages.isWrite(index), messages.isWriteProtect(index), now);
            }
        } else if (strays++ == 0) {
            log.error(
                    "space {}: a fault at 0x{}, which is in no region that the VMM told of; it is not served",
                    space,
                    Long.toHexString(messages.address(index)));
        }
    }

    private void takeEvent(int index) {
        switch (messages.event(index)) {
            case UffdMessages.EVENT_REMOVE -> removed(messages.address(index), messages.end(index));
            case UffdMessages.EVENT_UNMAP -> {
                if (evictor == null) {
                    removed(messages.address(index), messages.end(index));
                }
                layout.unmapped(messages.address(index), messages.end(index));
            }
            case UffdMessages.EVENT_REMAP ->
                layout.moved(messages.address(index), messages.movedTo(index), messages.movedLength(index));
            case UffdMessages.EVENT_FORK -> {
                // Kept, so that a child that touches what is not here waits instead of seeing zeros.
                children.add(Userfaultfd.adopt(messages.forked(index)));
                log.error("space {}: the VMM forked; the child's faults are not served", space);
            }
            default -> log.warn("space {}: unknown event 0x{}", space, Integer.toHexString(messages.event(index)));
        }
    }

    private void removed(long start, long end) {
        for (long address = start; address < end; address += layout.pageBytes()) {
            int page = layout.pageAt(address);
            if (page != GuestLayout.NONE) {
                removed(page);
                counters.removed().add(1);
            }
        }
    }

    /**
     * The guest gives a page up: it reads as zeros from now on. The kernel takes it out only after this was read, so what is there a
     * moment longer must not be looked at again, least of all be written back. Whoever waits for it to be fetched asks for zeros instead.
     */
    private void removed(int page) {
        boolean awaited = table.kind(page) == PageTable.FETCHING;
        table.become(page, PageTable.ZERO);
        if (awaited) {
            transfers.remove(page);
            installer.wake(page);
        }
    }

    private void fault(int page, boolean write, boolean writeProtect, long seenAt) {
        switch (table.kind(page)) {
            case PageTable.ZERO, PageTable.REMOTE -> {
                if (writeProtect) {
                    // It was taken out while the store waited: let it be tried again.
                    installer.wake(page);
                } else if (!table.has(page, PageTable.QUEUED) && !resolve(page, write, seenAt)) {
                    await(page, write, seenAt);
                }
            }
            case PageTable.FETCHING -> {
                counters.repeated().add(1);
                if (write) {
                    transfers.wantForWrite(page);
                }
            }
            case PageTable.CLEAN, PageTable.DIRTY, PageTable.EVICTING -> {
                if (writeProtect) {
                    if (!allowWrites(page)) {
                        await(page, true, seenAt);
                    }
                } else {
                    present(page);
                }
            }
            case PageTable.LOST -> arrivals.lose(page);
            default -> throw new AssertionError(table.kind(page));
        }
    }

    /** A page that is in the page cache, written there by the VMM past its own mapping, and not mapped. */
    private void minor(int page) {
        counters.repeated().add(1);
        boolean fetching = table.kind(page) == PageTable.FETCHING;
        if (!installer.map(page)) {
            // What is fetched finds the page there, and wakes who waits.
            await(page, false, clock.getAsLong());
        } else if (fetching) {
            transfers.remove(page);
        }
    }

    private void await(int page, boolean write, long seenAt) {
        table.set(page, PageTable.QUEUED);
        queue.add(page, write, seenAt);
        counters.waits().add(1);
    }

    /** Starts what a fault of a page that is not here needs; false if there is no room at the moment. */
    private boolean resolve(int page, boolean write, long seenAt) {
        int room = room();
        if (room <= 0 || installer.isPaused()) {
            return false;
        }
        int foreseen = streams.fault(page);
        heat.add(page);
        int kind = table.kind(page);
        int run = 1;
        int most = Math.min(room, foreseen);
        int reach = most == 1 ? 1 : homes.contiguous(homes.extent(page), page, layout.contiguous(page, most));
        while (run < reach && table.kind(page + run) == kind && !table.has(page + run, PageTable.QUEUED)) {
            run++;
        }
        int had = kind == PageTable.ZERO ? installZeros(page, run) : arrivals.fetch(page, run, write, seenAt);
        if (had > 0 && had < foreseen) {
            streams.cut(page, foreseen, had);
        }
        for (int ahead = 1; had > 0 && ahead <= streams.strides() && ahead < room; ahead++) {
            replay.prefetch(page + ahead * streams.stride(), 1);
        }
        return had > 0;
    }

    /** How many pages may come at the moment. Where nothing can be taken out, a limit would only stop the guest for good. */
    private int room() {
        return evictor == null || !evictor.works()
                ? PagerOptions.MAX_RUN
                : (int) Math.min(PagerOptions.MAX_RUN, limit - table.resident() - arrivals.incoming());
    }

    private int installZeros(int page, int count) {
        int settled = installer.zero(page, count);
        if (settled > 0) {
            counters.zeros().add(1);
            counters.prefetched().add(settled - 1L);
            table.set(page, PageTable.REFERENCED);
        }
        return settled;
    }

    /** Lets the guest write to a clean page, and to those that it is about to write to next. False if that must be tried again. */
    private boolean allowWrites(int page) {
        int foreseen = stores.fault(page);
        int reach = foreseen == 1 ? 1 : layout.contiguous(page, foreseen);
        int run = 1;
        while (run < reach && table.kind(page + run) == PageTable.CLEAN) {
            run++;
        }
        if (run < foreseen) {
            stores.cut(page, foreseen, run);
        }
        if (!installer.unprotect(page, run)) {
            return false;
        }
        for (int i = 0; i < run; i++) {
            // A write-back under way goes on; what it writes no longer counts.
            table.become(page + i, PageTable.DIRTY);
        }
        table.set(page, PageTable.REFERENCED);
        counters.writeProtect().add(1);
        return true;
    }

    /** A fault of a page that is here: it came meanwhile, or the VMM took it away without a word, and then it is zeros. */
    private void present(int page) {
        counters.repeated().add(1);
        if (installer.zero(page, 1) == 0) {
            await(page, false, clock.getAsLong());
        }
    }

    private int takeCompletions() {
        int work = 0;
        for (int slot = fetcher.poll(); slot != Fetcher.NONE; slot = fetcher.poll()) {
            work++;
            FetchStatus status = fetcher.status(slot);
            if (transfers.isWriteBack(slot)) {
                if (finishing != null && flush != null) {
                    flush.written(slot, status);
                } else if (evictor != null) {
                    evictor.written(slot, status);
                }
            } else if (status == FetchStatus.OK) {
                arrivals.arrived(slot);
            } else {
                arrivals.failed(slot, status, finishing == null ? queue : null);
            }
        }
        return work;
    }

    private int serveQueue() {
        int work = 0;
        for (int left = queue.size(); left > 0; left--) {
            int page = queue.page();
            boolean write = queue.isWrite();
            long seenAt = queue.seenAt();
            boolean served = switch (table.kind(page)) {
                case PageTable.ZERO, PageTable.REMOTE -> resolve(page, write, seenAt);
                case PageTable.CLEAN, PageTable.DIRTY, PageTable.EVICTING -> settleWaiting(page, write);
                default -> true;
            };
            if (!served) {
                return work;
            }
            queue.remove();
            table.clear(page, PageTable.QUEUED);
            work++;
        }
        return work;
    }

    /** A page that was waited for is here: whoever waits may write to it, if that is what was asked for, and is woken. */
    private boolean settleWaiting(int page, boolean write) {
        if (write) {
            return allowWrites(page);
        }
        installer.wake(page);
        return true;
    }

    /** The guest is gone: lets transfers end, writes back what has to be, and says so. */
    private int endSome() {
        if (arrivals.isWaiting()) {
            return 1;
        }
        if (flush != null && !flush.isDone()) {
            return flush.doWork() + 1;
        }
        if (fetcher.inUse() > 0) {
            return 0;
        }
        done = true;
        if (zeroFrame != FrameAllocator.NONE) {
            transfers.free(zeroFrame, 0, 1);
        }
        children.forEach(Userfaultfd::close);
        ended.accept(new PagerEnd(String.valueOf(finishing), flush != null && flush.isComplete(), left));
        return 1;
    }
}
