package io.farpage.agent.data.pager;

import io.farpage.agent.data.pager.evict.Evictor;
import io.farpage.agent.data.pager.evict.Flush;
import io.farpage.agent.data.pager.evict.Freeze;
import io.farpage.agent.data.pager.evict.FreezeStatus;
import io.farpage.agent.data.pager.evict.PageOut;
import io.farpage.agent.data.pager.evict.WriteBack;
import io.farpage.agent.data.pager.fault.Arrivals;
import io.farpage.agent.data.pager.fault.Children;
import io.farpage.agent.data.pager.fault.FaultHandler;
import io.farpage.agent.data.pager.fault.Parking;
import io.farpage.agent.data.pager.fault.Replay;
import io.farpage.agent.data.pager.fault.Residency;
import io.farpage.agent.data.pager.home.CopyProgress;
import io.farpage.agent.data.pager.home.Homes;
import io.farpage.agent.data.pager.home.PagerBacking;
import io.farpage.agent.data.pager.memory.AddressSpace;
import io.farpage.agent.data.pager.memory.Heat;
import io.farpage.agent.data.pager.memory.Installer;
import io.farpage.agent.data.pager.memory.KernelMessages;
import io.farpage.agent.data.pager.memory.PagedGuest;
import io.farpage.agent.data.pager.memory.PagerContext;
import io.farpage.agent.data.pager.memory.PagerCounters;
import io.farpage.agent.data.pager.page.GuestLayout;
import io.farpage.agent.data.pager.page.KeptTable;
import io.farpage.agent.data.pager.page.PageCensus;
import io.farpage.agent.data.pager.page.PageTable;
import io.farpage.agent.data.pager.page.PagerOptions;
import io.farpage.agent.data.pager.page.PresenceMap;
import io.farpage.agent.data.pager.repair.Losses;
import io.farpage.agent.data.pager.repair.Mirrors;
import io.farpage.agent.data.pager.repair.Repair;
import io.farpage.agent.data.pager.repair.Unallocated;
import io.farpage.agent.data.pager.transfer.Transfer;
import io.farpage.agent.data.pager.transfer.Transfers;
import io.farpage.agent.data.shard.DutyCycle;
import io.farpage.agent.data.shard.FetchStatus;
import io.farpage.linux.ErrnoName;
import io.farpage.linux.uffd.GuestFile;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Pages the memory of one guest: serves its faults and keeps its resident set under the limit. Belongs to its shard's
 * thread, except for {@link #resize}, {@link #finish} and methods that say so.
 *
 * <p>A duty cycle handles completions, installs pages that have arrived, reads the kernel's messages and starts the
 * fetches that faults need. While an event such as a balloon's removal waits to be read, the kernel refuses every
 * installation; the next duty cycle repeats it. So a page is never delayed by reading messages, and the next fault of a
 * thread that it wakes may be read in the same duty cycle.
 */
public final class Pager implements DutyCycle {
    private static final Logger log = LoggerFactory.getLogger(Pager.class);

    /** Pages written home that one duty cycle deals with, and what is left of the run of the last. */
    private static final int MAX_WRITTEN = 16;

    private final PagerContext context;
    private final AddressSpace memory;
    private final PageTable table;
    private final Homes homes;
    private final Losses losses;
    private final Unallocated unallocated;
    private final Transfers transfers;
    private final Mirrors mirrors;
    private final Residency residency;
    private final @Nullable Evictor evictor;
    private final @Nullable PageOut pageOut;
    private final @Nullable Flush flush;
    private final @Nullable Freeze freeze;
    private final Ending ending;
    private final Arrivals arrivals;
    private final Replay replay;
    private final FaultHandler faults;
    private final Children children;
    private final Repair repair;
    private final Consumer<PagerEnd> ended;

    private KernelMessages messages;

    private volatile long peakResident;
    private boolean done;
    /** Replaces all other parts once a duty cycle has thrown. */
    private @Nullable BrokenPager broken;

    /** Whether the latest read left no message and the shard has not slept since. */
    private boolean emptied;

    /** Whether no message waited when the descriptor was polled, after the latest duty cycle. */
    private boolean isIdle;

    /**
     * Whether the latest duty cycle did nothing but handle messages and completions, so that the next one finds no work
     * before there are others.
     */
    private boolean quiet;

    /** Whether {@link #doUrgentWork} has done its part of this duty cycle. */
    private boolean isUrgentDone;

    /** WRITEs that have completed and were not dealt with. */
    private final ArrayDeque<Transfer> written;

    private volatile boolean spinning;

    /**
     * @param clock monotonic nanoseconds
     * @param ended called once, on the shard's thread, when the last transfer of this pager has ended
     */
    public Pager(
            PagedGuest guest,
            PagerBacking backing,
            PagerOptions options,
            LongSupplier clock,
            Consumer<PagerEnd> ended) {
        this.ended = ended;
        context = new PagerContext(guest, backing, options, clock);
        homes = context.homes();
        transfers = context.transfers();
        mirrors = new Mirrors(context);
        written = new ArrayDeque<>(transfers.capacity());
        GuestLayout layout = new GuestLayout(guest.regions(), guest.pageBytes());
        table = context.newTable(guest.written());
        memory = new AddressSpace(context, guest.uffd(), layout, table, context.isShared());
        children = new Children(memory);
        repair = new Repair(memory);
        Installer installer = new Installer(memory, children);
        arrivals = new Arrivals(memory, installer);
        residency = new Residency(memory, installer, arrivals, children);
        faults = new FaultHandler(memory, installer, arrivals, residency, children);
        messages = new KernelMessages(memory, guest.kept());
        losses = new Losses(context, table);
        unallocated = new Unallocated(context, table, residency);
        replay = new Replay(table, arrivals);
        KeptTable kept = guest.kept();
        boolean isAdopted = kept != null && kept.isAdopted();
        if (guest.written() && !isAdopted && table.begin(guest.presence())) {
            replay.begin(true);
        }
        GuestFile file = guest.file();
        if (file == null) {
            evictor = null;
            pageOut = null;
            freeze = null;
            flush = null;
        } else {
            WriteBack writeBack = new WriteBack(memory, file);
            pageOut = new PageOut(memory, writeBack, residency, arrivals.lost());
            evictor = new Evictor(memory, pageOut, residency);
            freeze = new Freeze(memory, pageOut, writeBack, residency);
            flush = new Flush(memory, writeBack);
        }
        ending = new Ending(memory, flush);
        if (kept != null && isAdopted) {
            kept.wake(guest.uffd(), guest.regions());
        }
    }

    /** The most bytes outside the heap that a pager of {@code pages} pages takes. */
    public static long tableBytes(int pages) {
        return PageTable.bytes(pages);
    }

    /** The fewest pages of {@code pageBytes} bytes that a parked guest's pager may have resident. */
    public static int leastParkedPages(int pageBytes) {
        return Parking.leastPages(pageBytes);
    }

    /** Sets whether the shard's thread spins, so that messages are polled in every duty cycle. */
    public void spinning(boolean spin) {
        spinning = spin;
    }

    /**
     * Changes how many pages may be resident; pages above the limit are evicted soon. Any thread, which wakes the
     * shard.
     */
    public void resize(int localPages) {
        residency.resize(localPages);
    }

    /**
     * Makes all but {@code keepPages} of the resident pages leave for their homes, and keeps it so until
     * {@link #unpark}, or until the guest faults so often that it is not idle. Before the pager is started, or the
     * shard's thread.
     *
     * @param keepPages {@link #leastParkedPages} or more
     */
    public void park(int keepPages) {
        residency.parking().park(keepPages);
    }

    /** Ends parking: the pages that had left since then are fetched again, as far as the limit has room for them. */
    public void unpark() {
        residency.parking().unpark();
    }

    /** Whether the guest is parked. Any thread. */
    public boolean isParked() {
        return residency.parking().isParked();
    }

    /**
     * Begins to bring the homes to hold all pages as they are now, for a snapshot. The VMM is paused until the state is
     * no longer {@link FreezeStatus.State#FREEZING}. The shard's thread only.
     *
     * @return why that is not possible; null if it has begun
     */
    public @Nullable String freeze() {
        String obstacle = obstacleToFreeze();
        return obstacle != null || freeze == null ? obstacle : freeze.begin();
    }

    private @Nullable String obstacleToFreeze() {
        if (done || broken != null || ending.hasBegun()) {
            return "its guest has ended";
        }
        if (freeze == null) {
            return Freeze.NOT_EVICTABLE;
        }
        return children.isEmpty() ? null : "processes that the VMM has forked share its memory";
    }

    /**
     * Begins to write-protect dirty pages while the guest runs, for a snapshot that follows within some seconds: its
     * pause is shorter. The shard's thread only.
     *
     * @return why that is not possible; null if it has begun
     */
    public @Nullable String prepareFreeze() {
        String obstacle = obstacleToFreeze();
        return obstacle != null || freeze == null ? obstacle : freeze.prepare();
    }

    /** How far the snapshot is. Any thread. */
    public FreezeStatus frozen() {
        return freeze == null ? FreezeStatus.OFF : freeze.status();
    }

    /** The snapshot is not made, unless it is being handed over. The shard's thread only. */
    public void failFreeze(String why) {
        if (freeze != null) {
            freeze.fail(why);
        }
    }

    /** As {@link Freeze#handOver}. */
    public boolean handOver() {
        return freeze != null && !done && broken == null && freeze.handOver();
    }

    /** The snapshot is made, and the map of the space says so; or it is given up. The shard's thread only. */
    public void thaw() {
        if (freeze != null && freeze.isOn()) {
            homes.refresh();
            freeze.end();
            losses.restart();
        }
    }

    /** Pages that may be resident while the guest is not parked. Any thread. */
    public int limit() {
        return residency.limit();
    }

    /** Whether the host has had no memory for another page for long. Any thread. */
    public boolean isShortOfMemory() {
        return residency.hostMemory().isShort();
    }

    /** Evicts some pages, since another pager of the guest {@link #isShortOfMemory}. */
    public void giveMemory() {
        residency.hostMemory().give();
    }

    /** Pages that are resident or being fetched, apart from stranded ones. */
    public long held() {
        return residency.held();
    }

    /** The VMM has ended: writes its memory back, and ends. Any thread, which wakes the shard. */
    public void finish(String reason) {
        ending.begin(reason);
    }

    /**
     * Probes whether the VMM's address space still exists; if not, the next duty cycle starts to {@link #finish}. Also
     * ages the heat.
     */
    public void probe() {
        context.heat().age();
        memory.probe();
        children.probe();
    }

    /** Whether all homes are lost to this pager and no transfer is under way. The shard's thread only. */
    public boolean isCutOff() {
        homes.refresh();
        return homes.areLost() && transfers.inUse() == 0;
    }

    /** As {@link PageTable#areZeros}. Any thread, and not while it is closed. */
    public boolean areZeros(int first, int end) {
        return table.areZeros(first, end);
    }

    /**
     * Stops writing to the homes of extents whose pages are all zeros, so that their room can be given back. That lasts
     * as long as an extent is in its epoch, or until {@link #reinstate}. The shard's thread only.
     *
     * @param epochs of extents, by their first pages in the whole space
     * @return the first pages of those that it has pages of and goes on writing to
     */
    public Set<Long> withdraw(Map<Long, Long> epochs) {
        homes.refresh();
        boolean isBusy =
                ending.hasBegun() || !children.isEmpty() || context.frozen().isActive();
        return isBusy ? epochs.keySet() : unallocated.withdraw(epochs);
    }

    /** Writes to the homes of extents again whose room was not given back. The shard's thread only. */
    public void reinstate(Set<Long> firstPages) {
        unallocated.reinstate(firstPages);
    }

    /** Recent faults by block of pages. Any thread. */
    public Heat heat() {
        return context.heat();
    }

    /**
     * Counts where its pages are. Any thread, and not while the pager is closed.
     *
     * @param first the page of the guest that its first page is
     */
    public void count(PageCensus census, long first) {
        census.add(table, first);
    }

    /**
     * Says which pages the homes have. Any thread, when the pager has ended and has written its guest's memory home,
     * and before it is closed.
     *
     * @param first the page of the map that its first page is
     */
    public void describe(PresenceMap map, int first) {
        table.describe(map, first);
    }

    /**
     * As {@link #describe(PresenceMap, int)}, of some pages, while the guest runs. The shard's thread only.
     *
     * @param from the first of its pages to describe
     */
    public void describe(PresenceMap map, int first, int from, int count) {
        table.describe(map, first, from, Math.min(from + count, table.pages()));
    }

    /** Counters and latencies. Any thread. */
    public PagerCounters counters() {
        return context.counters();
    }

    /** How far the copying of pages to homes that join is. Any thread. */
    public List<CopyProgress> copies() {
        return homes.joinings().progress();
    }

    /** How many pages are in which state. Any thread. */
    public PagerStatus status() {
        return new PagerStatus(
                table.pages(),
                memory.layout().pageBytes(),
                table.resident(),
                peakResident,
                residency.limit(),
                table.count(PageTable.REMOTE) + table.count(PageTable.FETCHING),
                table.count(PageTable.ZERO),
                table.count(PageTable.DIRTY) + table.count(PageTable.EVICTING),
                table.count(PageTable.LOST),
                table.stranded(),
                counters().evictions().get(),
                counters().writtenBack().get(),
                counters().elided().get(),
                faults.readPredictor().hits().get(),
                faults.readPredictor().wasted().get(),
                children.count());
    }

    @Override
    public int fileDescriptor() {
        if (done) {
            return -1;
        }
        if (broken != null) {
            return broken.fd();
        }
        if (!children.isEmpty()) {
            return children.fd(messages.fd());
        }
        return memory.isGone() ? -1 : messages.fd();
    }

    @Override
    public boolean needsPolling() {
        return !done
                && broken == null
                && (spinning
                        || isBehind()
                        || arrivals.isWaiting()
                        || !written.isEmpty()
                        || faults.queue().isBusy()
                        || (evictor != null && !children.share() && evictor.isBusy())
                        || children.isBusy()
                        || (freeze != null && freeze.isBusy())
                        || unallocated.isBusy()
                        || repair.isBusy()
                        || (ending.hasBegun() && children.isEmpty() && ending.isBusy()));
    }

    @Override
    public boolean waitsForTime() {
        return !done
                && broken == null
                && (repair.waitsForTime() || unallocated.waitsForTime() || (freeze != null && freeze.waitsForTime()));
    }

    @Override
    public boolean isQuiescent() {
        return done || (quiet && !isUrgentDone && broken == null && !needsPolling());
    }

    /** Homes of mirrored pages are judged by time, and a child has a descriptor of its own. */
    @Override
    public boolean isAtRest() {
        return isQuiescent()
                && !transfers.hasDone()
                && !waitsForTime()
                && children.isEmpty()
                && (freeze == null || !freeze.isOn())
                && !homes.isMirrored()
                && !mirrors.isUnsettled();
    }

    @Override
    public void slept() {
        emptied = false;
    }

    @Override
    public void polled(boolean isReadable) {
        isIdle = !isReadable;
    }

    @Override
    public int doUrgentWork() {
        if (done || broken != null || isBehind()) {
            return 0;
        }
        isUrgentDone = true;
        return serveFaults();
    }

    /**
     * Installs pages that have arrived, reads messages, and requests the pages that threads wait for. Sets
     * {@link #quiet}.
     */
    private int serveFaults() {
        homes.refresh();
        context.staging().divide();
        if (!table.partialRemovals().isEmpty()) {
            table.partialRemovals().expire(context.clock().getAsLong());
        }
        if (ending.hasBegun()) {
            arrivals.end();
            repair.end();
        }
        // Before homes are judged: what has completed is not under way.
        int work = handleCompletions();
        int judged = homes.isMirrored() || mirrors.isUnsettled() ? mirrors.doWork() : 0;
        work += judged + arrivals.install();
        if (!memory.isGone() && readsMessages(work)) {
            work += readMessages();
            emptied = work > 0 && messages.isDrained();
        } else {
            // No message was read: the shard may sleep before the next duty cycle, and the descriptor wakes it.
            emptied = false;
        }
        isIdle = false;
        int retried = isBehind() ? 0 : faults.serveQueue();
        quiet = judged == 0 && retried == 0 && faults.queue().isEmpty();
        return work + retried;
    }

    @Override
    public int doWork() {
        boolean isServed = isUrgentDone;
        isUrgentDone = false;
        if (done) {
            return 0;
        }
        if (broken != null) {
            return serve(broken);
        }
        int work = 0;
        if (isBehind()) {
            work += messages.isBehind() ? readMessages() : children.catchUp();
            if (isBehind()) {
                return work;
            }
        }
        work += isServed ? 0 : serveFaults();
        boolean isQuiet = quiet;
        quiet = false;
        if (isBehind()) {
            return work;
        }
        int served = work;
        work += handleWritten();
        if ((homes.isMirrored() || mirrors.isUnsettled()) && (freeze == null || !freeze.isSaved())) {
            work += repair.doWork();
        }
        if (!children.isEmpty()) {
            work += children.doWork();
            if (isBehind()) {
                return work;
            }
        }
        work += children.markCleanDirty();
        if (!ending.hasBegun() && (memory.isGone() || memory.layout().isEmpty()) && !succeed()) {
            ending.begin(memory.isGone() ? "its VMM has ended" : "its VMM has unmapped its memory");
        }
        if (pageOut != null && (ending.hasBegun() || children.share())) {
            pageOut.abandon();
        }
        if (freeze != null && freeze.isOn()) {
            work += freezeSome(freeze);
            if (freeze.isHandingOver() && ending.hasBegun()) {
                return work;
            }
        }
        work += unallocated.doWork(ending.hasBegun() || context.frozen().isActive());
        if (ending.hasBegun()) {
            return work + endSome();
        }
        work += losses.doWork();
        if (evictor != null && !children.share()) {
            work += evictor.doWork(arrivals.incoming() + faults.queue().served(), residency.goal());
        }
        if (residency.parking().takeEnd()) {
            replay.begin(false);
        }
        if (!replay.isDone() && !isParked() && faults.queue().isEmpty()) {
            work += replay.doWork(residency.limit());
        }
        long resident = table.resident();
        if (resident > peakResident) {
            peakResident = resident;
        }
        quiet = isQuiet && work == served;
        return work;
    }

    /**
     * Whether messages are read in this duty cycle. A guest that has one fault at a time has no other when its page has
     * been installed: the descriptor announces the next one. A guest whose descriptor was not readable a moment ago has
     * none either, unless work of this duty cycle has let its threads run.
     */
    private boolean readsMessages(int work) {
        if (isIdle && work == 0) {
            return false;
        }
        return spinning || (work > 0 ? transfers.inUse() > 0 || !messages.wasSingle() : !emptied);
    }

    private int freezeSome(Freeze one) {
        if (ending.hasBegun()) {
            one.fail("its guest has ended");
        }
        if (one.isPreparedInVain()) {
            thaw();
            return 1;
        }
        return one.doWork();
    }

    @Override
    public boolean failed(Throwable cause) {
        if (done || broken != null) {
            return false;
        }
        log.error(
                "space {}: the guest is no longer paged: its pager threw {}; the guest gets SIGBUS where it touches"
                        + " a page that is not resident, and what it has changed is lost when its VMM ends",
                context.space(),
                cause.toString());
        written.clear();
        broken = new BrokenPager(memory, "its pager threw " + cause);
        return true;
    }

    private int serve(BrokenPager remains) {
        int work = remains.doWork();
        if (remains.isOver() || (ending.hasBegun() && transfers.inUse() == 0)) {
            end(remains.result());
        }
        return work;
    }

    private void end(PagerEnd how) {
        done = true;
        children.closeSuccessor();
        ended.accept(how);
    }

    /**
     * Whether a removal was read, of the VMM or of a child that shares its memory, that is not in the page table yet.
     */
    private boolean isBehind() {
        return messages.isBehind() || children.isBehind();
    }

    /** Replaces a VMM that has ended by a child that shares its memory; false if there is none. */
    private boolean succeed() {
        if (!children.succeed()) {
            return false;
        }
        messages = new KernelMessages(memory);
        children.requeueSuccessorsFaults();
        return true;
    }

    private int readMessages() {
        int work = messages.read(faults);
        if (messages.failure() != 0 && !ending.hasBegun()) {
            String why = "faults cannot be read: " + ErrnoName.of(messages.failure());
            log.error("space {}: {}", context.space(), why);
            finish(why);
        }
        return work;
    }

    private int handleCompletions() {
        int work = 0;
        for (Transfer transfer = transfers.poll(); transfer != null; transfer = transfers.poll()) {
            work++;
            Transfer.Owner owner = transfer.owner();
            if (owner != null) {
                owner.completed(transfer, transfers.status(transfer));
            } else if (transfer.kind() == Transfer.Kind.COPY_READ || transfer.kind() == Transfer.Kind.COPY_WRITE) {
                repair.completed(transfer, transfers.status(transfer));
            } else {
                written.add(transfer);
            }
        }
        return work;
    }

    /** Deals with pages that were written home: some in a duty cycle, since punching them out takes long. */
    private int handleWritten() {
        int work = 0;
        int pages = 0;
        while (!written.isEmpty() && (pages < MAX_WRITTEN || ending.hasBegun())) {
            Transfer transfer = written.remove();
            work++;
            pages += transfer.count();
            FetchStatus status = transfers.status(transfer);
            if (freeze != null && isOfSnapshot(transfer)) {
                freeze.written(transfer, status);
            } else if (ending.hasBegun() && flush != null) {
                flush.written(transfer, status);
            } else if (pageOut != null) {
                pageOut.written(transfer, status, children.share());
            }
        }
        return work;
    }

    private static boolean isOfSnapshot(Transfer transfer) {
        return transfer.kind() == Transfer.Kind.SNAPSHOT || transfer.kind() == Transfer.Kind.SNAPSHOT_OF_ZEROS;
    }

    /**
     * Frees the page table and wipes keys, once the pager has ended or was removed from its shard. Its counts can still
     * be read.
     */
    public void close() {
        memory.victims().close();
        table.discard();
        context.sealing().close();
        context.staging().close();
    }

    /** The guest has ended: waits for its transfers, writes dirty pages back, and reports the end. */
    private int endSome() {
        if (arrivals.isWaiting()) {
            return 1;
        }
        if (!children.isEmpty() || children.isMarkingDirty()) {
            return 0;
        }
        PagerEnd result = ending.result();
        if (result == null) {
            return ending.doWork();
        }
        end(result);
        return 1;
    }
}
