package io.farpage.agent.pager;

import io.farpage.agent.uffd.PageFaults;
import io.farpage.agent.uffd.UffdMessages;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Reads what the kernel tells of one address space, keeps the layout of it, and passes on what concerns its pages. */
final class KernelMessages {
    private static final Logger log = LoggerFactory.getLogger(KernelMessages.class);
    private static final int BATCH = 64;

    private final String space;
    private final PageFaults uffd;
    private final GuestLayout layout;
    private final LongSupplier clock;
    private final UffdMessages messages = new UffdMessages(BATCH);
    private long strays;

    /** Whom it concerns. */
    interface Receiver {
        /**
         * A thread waits for a page, or to write to one.
         *
         * @param writeProtect whether the page is there, and may not be written to
         * @param seenAt when this was read, nanoseconds
         */
        void fault(int page, boolean write, boolean writeProtect, long seenAt);

        /** A thread waits for a page that is in the page cache, written there past the guest's own mapping, and not mapped. */
        void minor(int page, long seenAt);

        /** A page is given up: it reads as zeros from now on. */
        void removed(int page);

        /** A page is no longer mapped. */
        void unmapped(int page);

        /** The process has forked; the descriptor is for the child's memory, and the receiver's now. */
        void forked(int descriptor);
    }

    /** @param layout of the address space; what the kernel tells of its changes is noted in it */
    KernelMessages(String space, PageFaults uffd, GuestLayout layout, LongSupplier clock) {
        this.space = space;
        this.uffd = uffd;
        this.layout = layout;
        this.clock = clock;
    }

    int fd() {
        return uffd.fd();
    }

    /** Passes on all that waits. Returns how many messages, or a negative error number. */
    int read(Receiver to) {
        int work = 0;
        while (true) {
            int count = uffd.read(messages);
            if (count <= 0) {
                return count < 0 ? count : work;
            }
            take(count, to);
            work += count;
            if (count < messages.capacity()) {
                return work;
            }
        }
    }

    /**
     * Events come first, though the kernel hands out faults before them. A removal that was read is carried out at any moment from then on:
     * what is installed before the table knows of it would be taken for what was removed. And what faults bring that came with a fork is
     * not in the child.
     */
    private void take(int count, Receiver to) {
        long now = clock.getAsLong();
        for (int i = 0; i < count; i++) {
            if (messages.event(i) != UffdMessages.EVENT_PAGEFAULT) {
                event(i, to);
            }
        }
        for (int i = 0; i < count; i++) {
            if (messages.event(i) == UffdMessages.EVENT_PAGEFAULT) {
                fault(i, now, to);
            }
        }
    }

    private void event(int index, Receiver to) {
        switch (messages.event(index)) {
            case UffdMessages.EVENT_REMOVE -> {
                long end = messages.end(index);
                for (long address = messages.address(index); address < end; address += layout.pageBytes()) {
                    int page = layout.pageAt(address);
                    if (page != GuestLayout.NONE) {
                        to.removed(page);
                    }
                }
            }
            case UffdMessages.EVENT_UNMAP -> {
                long end = messages.end(index);
                for (long address = messages.address(index); address < end; address += layout.pageBytes()) {
                    int page = layout.pageAt(address);
                    if (page != GuestLayout.NONE) {
                        to.unmapped(page);
                    }
                }
                layout.unmapped(messages.address(index), end);
            }
            case UffdMessages.EVENT_REMAP ->
                layout.moved(messages.address(index), messages.movedTo(index), messages.movedLength(index));
            case UffdMessages.EVENT_FORK -> to.forked(messages.forked(index));
            default -> log.warn("space {}: unknown event 0x{}", space, Integer.toHexString(messages.event(index)));
        }
    }

    private void fault(int index, long now, Receiver to) {
        int page = layout.pageAt(messages.address(index));
        if (page == GuestLayout.NONE) {
            if (strays++ == 0) {
                log.error(
                        "space {}: a fault at 0x{}, which is in no region that the VMM told of; it is not served",
                        space,
                        Long.toHexString(messages.address(index)));
            }
        } else if (messages.isMinor(index)) {
            to.minor(page, now);
        } else {
            to.fault(page, messages.isWrite(index), messages.isWriteProtect(index), now);
        }
    }
}
