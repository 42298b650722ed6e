package io.farpage.agent.data.pager;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.farpage.linux.Errno;
import io.farpage.linux.ErrnoName;
import io.farpage.linux.uffd.GuestFile;
import io.farpage.linux.uffd.UffdMessages;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.util.List;
import java.util.Optional;

/**
 * What of a pager outlives its process, in memory that another process has a descriptor of: the entry of every page, and the batch of kernel messages that
 * was read last. A process that is killed leaves both as they were after its latest store. {@link #adopt} then makes them what the successor may begin
 * with: it repeats removals that were read and not applied, and asks the memory file which pages are resident.
 *
 * <p>The order of the stores makes that safe. A page is {@link PageTable#DIRTY} before the guest may write to it, {@link PageTable#HAS_REMOTE_COPY} before a
 * WRITE of it is posted, and {@link PageTable#REMOTE} only after the last WRITE has completed and the page was punched out. A message is blanked only
 * after it was applied.
 */
public final class KeptTable {
    /** Bytes for the messages. */
    public static final int MESSAGES_BYTES = 4096;

    private static final int CHANGED_AT = KernelMessages.BATCH * UffdMessages.MESSAGE_BYTES;
    private static final int KEPT_FLAGS = PageTable.HAS_REMOTE_COPY;

    private final MemorySegment entries;
    private final MemorySegment messages;
    private boolean isAdopted;

    /**
     * @param entries zeros, or what an earlier process has left; {@link Pager#tableBytes} of the pages, aligned to 8 bytes
     * @param messages the same, of {@link #MESSAGES_BYTES}; locked into memory, so that the kernel can always write to it
     */
    public KeptTable(MemorySegment entries, MemorySegment messages) {
        this.entries = entries;
        this.messages = messages;
    }

    MemorySegment entries() {
        return entries;
    }

    /** Whether the entries are those that an earlier process has left. */
    boolean isAdopted() {
        return isAdopted;
    }

    /** For reading messages into. */
    UffdMessages messages() {
        return new UffdMessages(messages.asSlice(0, CHANGED_AT));
    }

    /** The VMM has changed where its memory is mapped, or has forked: no other process can serve it. Stored before the message is applied. */
    void markChanged() {
        messages.set(JAVA_BYTE, CHANGED_AT, (byte) 1);
        VarHandle.releaseFence();
    }

    /** Whether the VMM has changed where its memory is mapped, or has forked, so that no other process can serve it. Any thread. */
    public boolean isChanged() {
        return messages.get(JAVA_BYTE, CHANGED_AT) != 0;
    }

    /**
     * Why no successor can begin with this; empty if one can.
     *
     * @param written whether all pages began at their homes, rather than as zeros
     */
    public Optional<String> obstacle(boolean written) {
        if (isChanged()) {
            return Optional.of("its VMM had forked, or unmapped or moved a part of its memory");
        }
        UffdMessages left = messages();
        for (int i = 0; i < left.capacity(); i++) {
            switch (left.event(i)) {
                case 0, UffdMessages.EVENT_PAGEFAULT, UffdMessages.EVENT_REMOVE -> {}
                case UffdMessages.EVENT_FORK, UffdMessages.EVENT_REMAP, UffdMessages.EVENT_UNMAP -> {
                    return Optional.of("its VMM was forking, or unmapping or moving a part of its memory");
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
     * Makes what an earlier process has left what a pager may begin with. The process has ended. May be repeated if this process ends meanwhile.
     *
     * @param regions where the memory is
     * @param written whether all pages began at their homes, rather than as zeros
     * @return why it cannot be done; empty if it was
     */
    public Optional<String> adopt(List<GuestRegion> regions, int pageBytes, GuestFile file, boolean written) {
        GuestLayout layout = new GuestLayout(regions, pageBytes);
        int initial = PageTable.initial(written);
        UffdMessages left = messages();
        for (int i = 0; i < left.capacity(); i++) {
            if (left.event(i) == UffdMessages.EVENT_REMOVE) {
                remove(left.address(i), left.end(i), layout, initial);
            }
        }
        for (GuestRegion region : regions) {
            Optional<String> failure = place(region, pageBytes, file, initial);
            if (failure.isPresent()) {
                return failure;
            }
        }
        VarHandle.releaseFence();
        messages.asSlice(0, CHANGED_AT).fill((byte) 0);
        isAdopted = true;
        return Optional.empty();
    }

    private void remove(long start, long end, GuestLayout layout, int initial) {
        for (long from = layout.mappedFrom(start); from < end; from = layout.mappedFrom(from)) {
            long until = Math.min(end, layout.mappedUntil(from));
            for (; from < until; from += layout.pageBytes()) {
                int page = layout.pageAt(from);
                put(page, (entry(page, initial) & KEPT_FLAGS) | PageTable.ZERO, initial);
            }
        }
    }

    /** Goes through the pages of a region, as the memory file has them or not. */
    private Optional<String> place(GuestRegion region, int pageBytes, GuestFile file, int initial) {
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
                put(page, absent(entry & PageTable.STATE_MASK, entry) | (entry & KEPT_FLAGS), initial);
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
     * The state of a page that the memory file does not have. A clean page was punched out last. A dirty page that is absent is zeros, also while it is written
     * back: it was about to be installed, or was punched out by the VMM without an event, since the agent records that a home has the page before it punches it out.
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
     * The state of a page that the memory file has. A page that was to be fetched was installed last, and the guest may have written to it. Whether a WRITE that
     * was under way has completed is not known. A page that was given up is about to be removed.
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
