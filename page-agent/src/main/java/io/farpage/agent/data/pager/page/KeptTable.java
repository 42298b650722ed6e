package io.farpage.agent.data.pager.page;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.farpage.linux.Errno;
import io.farpage.linux.ErrnoName;
import io.farpage.linux.uffd.PageFaults;
import io.farpage.linux.uffd.PresentPages;
import io.farpage.linux.uffd.UffdMessages;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.util.List;
import java.util.Optional;

/**
 * What of a pager outlives its process, in memory that another process has a descriptor of: the entry of every page,
 * the batch of kernel messages that was read last, the large pages with parts that were given up, and where the memory
 * is mapped if that has changed. A process that is killed leaves both as they were after its latest store. {@link
 * #adopt} then makes them what the successor may begin with: it repeats removals that were read and not applied, and
 * asks the memory file which pages are resident.
 *
 * <p>The order of the stores makes that safe. A page is {@link PageTable#DIRTY} before the guest may write to it,
 * {@link PageTable#HAS_REMOTE_COPY} before a WRITE of it is posted, and {@link PageTable#REMOTE} only after the last
 * WRITE has completed: before a page that was written back is punched out, and after a clean one was. A message is
 * blanked only after it was applied.
 */
public final class KeptTable {
    /** Bytes for the messages. */
    public static final int MESSAGES_BYTES = 4096;

    /** Messages that are read at once. */
    public static final int BATCH = 64;

    private static final int CHANGE_AT = BATCH * UffdMessages.MESSAGE_BYTES;
    private static final int CUT_AT = CHANGE_AT + Long.BYTES;

    /**
     * A change that no other process can follow. Agents that keep no layout say so of all changes, and take each other
     * value for it.
     */
    private static final byte UNKNOWN = 1;

    /** Another layout, which is kept. */
    private static final byte MOVED = 2;

    private static final byte FORKED = 3;
    /** A layout for which there is no room. */
    private static final byte SCATTERED = 4;

    private static final int KEPT_FLAGS = PageTable.HAS_REMOTE_COPY;

    /** The flags of a page that is not resident. */
    private static final int KEPT_WHERE_ABSENT = KEPT_FLAGS | PageTable.WANTED;

    /**
     * Where the addresses of a process begin and end at which mmap(2) puts memory, unless it is asked for a higher one.
     */
    private static final long LOWEST_ADDRESS = 1 << 20;

    private static final long HIGHEST_ADDRESS = (1L << 47) - 4096;

    private final MemorySegment entries;
    private final MemorySegment messages;
    private final KeptLayout layout;
    private boolean isAdopted;

    /**
     * @param entries zeros, or what an earlier process has left; {@code Pager.tableBytes} of the pages, aligned to 8
     *     bytes
     * @param messages the same, of {@link #MESSAGES_BYTES}; locked into memory, so that the kernel can always write to
     *     it
     * @param layouts the same, aligned to 8 bytes; 48 bytes for each region that the memory may be mapped in, and 80
     *     more
     */
    public KeptTable(MemorySegment entries, MemorySegment messages, MemorySegment layouts) {
        this.entries = entries;
        this.messages = messages;
        layout = new KeptLayout(layouts);
    }

    /** The page table over the entries. */
    public PageTable table(int pages, boolean atHome, long nowNanos) {
        return PageTable.kept(pages, atHome, entries, partialRemovals(nowNanos));
    }

    /** Whether the entries are those that an earlier process has left. */
    public boolean isAdopted() {
        return isAdopted;
    }

    /** For reading messages into. */
    public UffdMessages messages() {
        return new UffdMessages(messages.asSlice(0, CHANGE_AT));
    }

    /** The large pages with parts that were given up; for one thread. */
    PartialRemovals partialRemovals(long nowNanos) {
        return new PartialRemovals(messages.asSlice(CUT_AT, PartialRemovals.BYTES), nowNanos);
    }

    private byte change() {
        return messages.get(JAVA_BYTE, CHANGE_AT);
    }

    private void change(byte to) {
        messages.set(JAVA_BYTE, CHANGE_AT, to);
        VarHandle.storeStoreFence();
    }

    /** The VMM has forked: no other process can serve it. Stored before the message is applied. */
    public void markForked() {
        change(FORKED);
    }

    /**
     * The VMM has done what this agent does not know: no other process can serve it. Stored before the message is
     * passed over.
     */
    public void markUnknown() {
        change(UNKNOWN);
    }

    /**
     * The VMM has unmapped or moved a part of its memory. If there is no room for the regions, no other process can
     * serve it.
     *
     * @param message the slot of the message that led to these regions; the caller blanks the slot next
     */
    public void mapped(List<GuestRegion> regions, int message) {
        if (change() == 0) {
            change(MOVED);
        }
        if (change() == MOVED && !layout.write(regions, message)) {
            change(SCATTERED);
        }
    }

    /** A message was blanked. */
    public void blanked() {
        layout.blanked();
    }

    /**
     * Wakes all threads that wait, so that they fault again: faults that the process before has read are not delivered
     * again. Some may wait where nothing is mapped now.
     *
     * @param regions where the memory is
     */
    public void wake(PageFaults uffd, List<GuestRegion> regions) {
        regions.forEach(region -> uffd.wake(region.hostAddress(), region.length()));
        if (change() == MOVED) {
            uffd.wake(LOWEST_ADDRESS, HIGHEST_ADDRESS - LOWEST_ADDRESS);
        }
    }

    /** Where the memory is mapped. */
    public List<GuestRegion> regions(List<GuestRegion> handedOver) {
        return layout.regions().orElse(handedOver);
    }

    /** What the VMM has done so that no other process can serve it; empty if nothing. Any thread. */
    public Optional<String> departure() {
        return switch (change()) {
            case 0, MOVED -> Optional.empty();
            case FORKED -> Optional.of("its VMM has forked");
            case SCATTERED ->
                Optional.of("its VMM has mapped its memory in more than %d pieces".formatted(layout.capacity()));
            default -> Optional.of("its VMM has changed its memory in a way that no other process can follow");
        };
    }

    /**
     * Why no successor can begin with this; empty if one can.
     *
     * @param pages that it has
     * @param written whether all pages began at their homes, rather than as zeros
     */
    public Optional<String> obstacle(int pages, int pageBytes, boolean written) {
        if (departure().isPresent()) {
            return departure();
        }
        if (!layout.isSound((long) pages * pageBytes, pageBytes)) {
            return Optional.of("the list of its mappings is damaged");
        }
        UffdMessages left = messages();
        for (int i = 0; i < left.capacity(); i++) {
            switch (left.event(i)) {
                case 0,
                        UffdMessages.EVENT_PAGEFAULT,
                        UffdMessages.EVENT_REMOVE,
                        UffdMessages.EVENT_REMAP,
                        UffdMessages.EVENT_UNMAP -> {}
                case UffdMessages.EVENT_FORK -> {
                    return Optional.of("its VMM was forking");
                }
                default -> {
                    return Optional.of("message %d of the kernel is damaged: event 0x%x".formatted(i, left.event(i)));
                }
            }
        }
        int initial = PageTable.initial(written);
        for (long page = 0; page < entries.byteSize(); page++) {
            if (((entries.get(JAVA_BYTE, page) ^ initial) & PageTable.STATE_MASK) == PageTable.STATE_MASK) {
                return Optional.of("the entry of page %d is damaged".formatted(page));
            }
        }
        return Optional.empty();
    }

    /**
     * Makes what an earlier process has left what a pager may begin with. The process has ended. May be repeated if
     * this process ends meanwhile.
     *
     * @param regions where the memory was when it was handed over
     * @param written whether all pages began at their homes, rather than as zeros
     * @return why it cannot be done; empty if it was
     */
    public Optional<String> adopt(List<GuestRegion> regions, int pageBytes, PresentPages file, boolean written) {
        int initial = PageTable.initial(written);
        PartialRemovals cut = partialRemovals(0);
        applyMessages(new GuestLayout(regions(regions), pageBytes), initial, cut);
        if (departure().isPresent()) {
            return departure();
        }
        for (GuestRegion region : regions) {
            Optional<String> failure = place(region, pageBytes, file, initial);
            if (failure.isPresent()) {
                return failure;
            }
        }
        cut.forEach(page -> markDirty(page, initial));
        VarHandle.releaseFence();
        messages.asSlice(0, CHANGE_AT).fill((byte) 0);
        isAdopted = true;
        return Optional.empty();
    }

    /**
     * Whether a process that adopts this takes a page for zeros if the memory file does not have it, whatever its homes
     * have.
     *
     * @param written whether all pages began at their homes, rather than as zeros
     */
    public boolean isZerosIfAbsent(int page, boolean written) {
        int entry = entry(page, PageTable.initial(written));
        return absent(entry & PageTable.STATE_MASK, entry) == PageTable.ZERO;
    }

    /**
     * Applies events that were not blanked. Each is blanked before the next one: a removal is applied to the layout
     * that it was meant for.
     */
    private void applyMessages(GuestLayout now, int initial, PartialRemovals cut) {
        UffdMessages left = messages();
        for (int i = 0; i < left.capacity(); i++) {
            switch (left.event(i)) {
                case UffdMessages.EVENT_REMOVE -> remove(left.address(i), left.end(i), now, initial, cut);
                case UffdMessages.EVENT_UNMAP -> {
                    if (!layout.follows(i)) {
                        now.unmapped(left.address(i), left.end(i));
                        mapped(now.list(), i);
                    }
                }
                case UffdMessages.EVENT_REMAP -> {
                    if (!layout.follows(i)) {
                        now.moved(left.address(i), left.movedTo(i), left.movedLength(i));
                        mapped(now.list(), i);
                    }
                }
                default -> {
                    continue;
                }
            }
            VarHandle.storeStoreFence();
            left.clear(i);
            blanked();
        }
    }

    /** As the pager does: whole pages are given up, and of a page that is cut the rest stays. */
    private void remove(long start, long end, GuestLayout now, int initial, PartialRemovals cut) {
        int pageBytes = now.pageBytes();
        long from = now.mappedFrom(start);
        while (from < end) {
            long until = Math.min(end, now.mappedUntil(from));
            for (; from < until; from = (from & -pageBytes) + pageBytes) {
                int page = now.pageAt(from);
                if (from % pageBytes == 0 && until - from >= pageBytes) {
                    put(page, (entry(page, initial) & KEPT_FLAGS) | PageTable.ZERO, initial);
                } else {
                    cut.add(page, 0);
                }
            }
            from = now.mappedFrom(from);
        }
    }

    /** Marks a resident page with a part that was given up: the kernel may fill that part with zeros at any moment. */
    private void markDirty(int page, int initial) {
        if (page < entries.byteSize() && (entry(page, initial) & PageTable.STATE_MASK) >= PageTable.CLEAN) {
            put(page, (entry(page, initial) & KEPT_FLAGS) | PageTable.DIRTY, initial);
        }
    }

    /** Goes through the pages of a region, as the memory file has them or not. */
    private Optional<String> place(GuestRegion region, int pageBytes, PresentPages file, int initial) {
        long at = region.offset();
        while (at < region.end()) {
            long data = file.nextData(at);
            if (data < 0 && data != -Errno.ENXIO) {
                return Optional.of("the memory file cannot be searched: " + ErrnoName.of((int) -data));
            }
            long from = data < 0 ? region.end() : Math.min(data, region.end());
            for (; at < from; at += pageBytes) {
                int page = (int) (at / pageBytes);
                int entry = entry(page, initial);
                put(page, absent(entry & PageTable.STATE_MASK, entry) | (entry & KEPT_WHERE_ABSENT), initial);
            }
            long hole = at < region.end() ? file.nextHole(at) : at;
            if (hole < 0) {
                return Optional.of("the memory file cannot be searched: " + ErrnoName.of((int) -hole));
            }
            for (; at < Math.min(hole, region.end()); at += pageBytes) {
                int page = (int) (at / pageBytes);
                int entry = entry(page, initial);
                put(page, present(entry & PageTable.STATE_MASK) | (entry & KEPT_FLAGS), initial);
            }
        }
        return Optional.empty();
    }

    /**
     * The state of a page that the memory file does not have. A clean page was punched out last. A dirty page that is
     * absent is zeros, also while it is written back: it was about to be installed, or was punched out by the VMM
     * without an event, since the agent records that a home has the page before it punches it out.
     */
    private static int absent(int state, int entry) {
        return switch (state) {
            case PageTable.CLEAN -> PageTable.REMOTE;
            case PageTable.FETCHING -> (entry & PageTable.HAS_REMOTE_COPY) != 0 ? PageTable.REMOTE : PageTable.ZERO;
            case PageTable.DIRTY, PageTable.EVICTING -> PageTable.ZERO;
            default -> state;
        };
    }

    /**
     * The state of a page that the memory file has. A page that was to be fetched was installed last, and the guest may
     * have written to it. Whether a WRITE that was under way has completed is not known. A page that was given up is
     * about to be removed.
     */
    private static int present(int state) {
        return switch (state) {
            case PageTable.REMOTE, PageTable.FETCHING, PageTable.EVICTING -> PageTable.DIRTY;
            default -> state;
        };
    }

    private int entry(int page, int initial) {
        return Byte.toUnsignedInt(entries.get(JAVA_BYTE, page)) ^ initial;
    }

    private void put(int page, int entry, int initial) {
        byte stored = (byte) (entry ^ initial);
        if (entries.get(JAVA_BYTE, page) != stored) {
            entries.set(JAVA_BYTE, page, stored);
        }
    }
}
