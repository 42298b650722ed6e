package io.farpage.agent.data.pager.memory;

import io.farpage.agent.data.pager.page.GuestLayout;
import io.farpage.agent.data.pager.page.KeptTable;
import io.farpage.linux.Errno;
import io.farpage.linux.ErrnoName;
import io.farpage.linux.uffd.PageFaults;
import io.farpage.linux.uffd.UffdMessages;
import java.lang.invoke.VarHandle;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads the userfaultfd messages of one address space, keeps its layout up to date, and passes faults and removals on.
 *
 * <p>A call reads one batch of messages and handles as much of it as its budget allows: one message may cover
 * terabytes. A cursor marks the position, and the next call goes on there for as long as the shard did other work.
 * While {@link #isBehind} is true, no page of the address space may be installed, written back or evicted: the kernel
 * carries a removal out at any moment after it was read, and a page that is installed before the page table has the
 * removal would count as removed.
 */
public final class KernelMessages {
    private static final Logger log = LoggerFactory.getLogger(KernelMessages.class);

    /** How long a call may handle more than one budget of a batch: other guests of the shard wait meanwhile. */
    static final long MORE_NANOS = TimeUnit.MICROSECONDS.toNanos(500);

    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
    private static final long LOG_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** Created in advance: loading a class may need a descriptor, and none may be free. */
    private static final String NO_DESCRIPTOR = ErrnoName.of(Errno.EMFILE);

    /** Stands for an address: the event has not been started. */
    private static final long NOT_BEGUN = -1;

    private final String space;
    private final PageFaults uffd;
    private final GuestLayout layout;
    private final boolean shared;
    private final int cyclePages;
    private final LongSupplier clock;
    private final UffdMessages messages;
    private final @Nullable KeptTable kept;
    private long strays;

    private int count;
    private boolean drained = true;
    private boolean single;
    /** Index of the first message that may be an unhandled event. */
    private int event;
    /** Up to where the event has been handled. */
    private long cursor = NOT_BEGUN;

    private int budget;
    /** When the latest call ended. Has a meaning while a batch is handled. */
    private long handledUntil;

    private int unreadable;
    private boolean paused;
    private long pausedUntil;
    private boolean logged;
    private long loggedAt;

    /** Receives faults and events. */
    public interface Receiver {
        /**
         * A thread waits for a page, or to write to one.
         *
         * @param writeProtect whether the page is mapped and write-protected
         * @param seenAt when the message was read, nanoseconds
         */
        void fault(int page, boolean write, boolean writeProtect, long seenAt);

        /**
         * A thread waits for a page that is in the page cache, written there past the guest's own mapping, and not
         * mapped.
         */
        void minor(int page, long seenAt);

        /** Pages are given up: they read as zeros from now on. */
        void removed(int first, int count);

        /**
         * A part of a large page is given up: the kernel fills it with zeros if the page is resident at that moment.
         */
        void removedPart(int page);

        /** The process has forked. The receiver owns the descriptor, which is for the child's memory. */
        void forked(int descriptor);
    }

    /** @param of whose messages are read, and whose layout is kept up to date */
    public KernelMessages(AddressSpace of) {
        this(of, null);
    }

    /**
     * @param of whose messages are read, and whose layout is kept up to date
     * @param kept where the messages outlive this process; null if they do not
     */
    public KernelMessages(AddressSpace of, @Nullable KeptTable kept) {
        this.kept = kept;
        messages = kept == null ? new UffdMessages(KeptTable.BATCH) : kept.messages();
        PagerContext context = of.context();
        space = context.space();
        uffd = of.uffd();
        layout = of.layout();
        shared = context.isShared();
        cyclePages = context.options().cyclePages();
        clock = context.clock();
    }

    /** Readable while messages wait; -1 while they cannot be read. */
    public int fd() {
        return isPaused() ? -1 : uffd.fd();
    }

    /** Whether a removal was read that is not in the page table yet. */
    public boolean isBehind() {
        return event < count;
    }

    /** Whether the latest read that found any messages found one. */
    public boolean wasSingle() {
        return single;
    }

    /** Whether the latest read left no message. */
    public boolean isDrained() {
        return drained;
    }

    /** Why messages can never be read, as an error number; 0 if they can. */
    public int failure() {
        return unreadable;
    }

    private boolean isPaused() {
        paused = paused && clock.getAsLong() - pausedUntil < 0;
        return paused;
    }

    /** Reads and handles messages. Returns the amount of work, 0 if none waits. */
    public int read(Receiver to) {
        if (isBehind()) {
            return handleMore(to);
        }
        if (isPaused()) {
            return 0;
        }
        int got = uffd.read(messages);
        if (got <= 0) {
            if (got < 0) {
                failed(-got);
            }
            return 0;
        }
        count = got;
        event = 0;
        drained = got < messages.capacity();
        single = got == 1;
        int work = handle(to);
        if (isBehind()) {
            handledUntil = clock.getAsLong();
        }
        return work;
    }

    /**
     * Handles more of a batch: one budget, and further ones as long as they fit into the time that the shard took for
     * other work since the latest call, within {@link #MORE_NANOS}. So a busy shard makes a guest rest about as long as
     * an idle one does, and the other guests wait no longer than they made it wait. A clock that stands still does not
     * show what fits.
     */
    private int handleMore(Receiver to) {
        long now = clock.getAsLong();
        long end = now + Math.min(MORE_NANOS, now - handledUntil);
        int work = 0;
        long before;
        do {
            before = now;
            work += handle(to);
            now = clock.getAsLong();
        } while (isBehind() && now != before && now + (now - before) - end <= 0);
        handledUntil = now;
        return work;
    }

    /**
     * Handles events before faults, although the kernel returns faults first. A page that is installed for a fault
     * before the table has a removal would count as removed; and a page that is installed before a fork is handled
     * would be missing in the child.
     */
    private int handle(Receiver to) {
        budget = cyclePages;
        int work = 0;
        while (event < count) {
            if (messages.event(event) != UffdMessages.EVENT_PAGEFAULT) {
                work++;
                if (!isDone(to)) {
                    return work;
                }
                // The kernel does not report it again: a successor applies it unless it is blanked, and it is blanked
                // only after it was applied.
                VarHandle.storeStoreFence();
                messages.clear(event);
                if (kept != null) {
                    kept.blanked();
                }
            }
            event++;
            cursor = NOT_BEGUN;
        }
        long now = clock.getAsLong();
        for (int i = 0; i < count; i++) {
            if (messages.event(i) == UffdMessages.EVENT_PAGEFAULT) {
                fault(i, now, to);
                work++;
            }
        }
        count = 0;
        event = 0;
        return work;
    }

    /** Handles an event; false if a part of it is left to the next call. */
    private boolean isDone(Receiver to) {
        long start = messages.address(event);
        switch (messages.event(event)) {
            case UffdMessages.EVENT_REMOVE -> {
                return isRemoved(start, messages.end(event), to);
            }
            case UffdMessages.EVENT_UNMAP -> {
                if ((!shared && !isRemoved(start, messages.end(event), to)) || !affords(layout.regions())) {
                    return false;
                }
                layout.unmapped(start, messages.end(event));
                // A thread that waits for a page of the range faults again, and gets SIGSEGV.
                uffd.wake(start, messages.end(event) - start);
                keepLayout();
            }
            case UffdMessages.EVENT_REMAP -> {
                if (!affords(layout.regions())) {
                    return false;
                }
                layout.moved(start, messages.movedTo(event), messages.movedLength(event));
                uffd.wake(start, messages.movedLength(event));
                // A thread may have faulted at the new address, in no region then, before the kernel queued the event.
                uffd.wake(messages.movedTo(event), messages.movedLength(event));
                keepLayout();
            }
            case UffdMessages.EVENT_FORK -> {
                if (kept != null) {
                    kept.markForked();
                }
                to.forked(messages.forked(event));
            }
            default -> {
                if (kept != null) {
                    kept.markUnknown();
                }
                log.warn("space {}: unknown event 0x{}", space, Integer.toHexString(messages.event(event)));
            }
        }
        return true;
    }

    /**
     * Keeps the layout for a successor. Threads have been woken: no other process knows that they wait at addresses
     * where nothing is mapped now.
     */
    private void keepLayout() {
        if (kept != null) {
            kept.mapped(layout.list(), event);
        }
    }

    /**
     * Charges {@code cost} pages to the budget. False if the budget is exhausted. The first event of a call is always
     * allowed.
     */
    private boolean affords(int cost) {
        boolean enough = cost <= budget || budget == cyclePages;
        budget = enough ? Math.max(0, budget - cost) : budget;
        return enough;
    }

    /**
     * Gives up the mapped pages of a range, as many as the budget allows; false if some are left. MADV_REMOVE on
     * hugetlbfs reports ranges that begin and end within a page: the rest of such a page stays.
     */
    private boolean isRemoved(long start, long end, Receiver to) {
        int pageBytes = layout.pageBytes();
        if (cursor == NOT_BEGUN) {
            cursor = start;
        }
        while (true) {
            long from = layout.mappedFrom(cursor);
            if (from >= end) {
                cursor = end;
                return true;
            }
            if (budget == 0) {
                return false;
            }
            long until = Math.min(end, layout.mappedUntil(from));
            int first = layout.pageAt(from);
            long pageEnd = (from & -pageBytes) + pageBytes;
            if (from != pageEnd - pageBytes || until < pageEnd) {
                to.removedPart(first);
                budget--;
                cursor = Math.min(until, pageEnd);
                continue;
            }
            int pages = (int) Math.min(budget, (until - from) / pageBytes);
            to.removed(first, pages);
            budget -= pages;
            cursor = from + (long) pages * pageBytes;
        }
    }

    private void fault(int index, long now, Receiver to) {
        int page = layout.pageAt(messages.address(index));
        if (page == GuestLayout.NONE) {
            if (strays++ == 0) {
                log.error(
                        "space {}: a fault at 0x{}, which is in no region that the VMM registered; it is not served",
                        space,
                        Long.toHexString(messages.address(index)));
            }
        } else if (messages.isMinor(index)) {
            to.minor(page, now);
        } else {
            to.fault(page, messages.isWrite(index), messages.isWriteProtect(index), now);
        }
    }

    /**
     * Handles a failed read. A fork for which no descriptor is free (EMFILE, ENFILE, ENOMEM) stays in the kernel's
     * queue until one is free, and meanwhile the kernel refuses every installation. Only a descriptor that is not a
     * userfaultfd, or one without UFFDIO_API, can never be read.
     */
    private void failed(int errno) {
        if (errno == Errno.EINTR) {
            return;
        }
        if (errno == Errno.EINVAL || errno == Errno.EBADF) {
            unreadable = errno;
            return;
        }
        long now = clock.getAsLong();
        paused = true;
        pausedUntil = now + PAUSE_NANOS;
        if (!logged || now - loggedAt >= LOG_NANOS) {
            logged = true;
            loggedAt = now;
            log.warn(
                    "space {}: reading the userfaultfd fails: {}; the guest waits until that succeeds{}",
                    space,
                    errno == Errno.EMFILE ? NO_DESCRIPTOR : ErrnoName.of(errno),
                    errno == Errno.EMFILE ? "; a fork of the VMM needs a descriptor: raise RLIMIT_NOFILE" : "");
        }
    }
}
