package io.farpage.agent.data.pager.model;

import io.farpage.agent.data.pager.MessageWriter;
import io.farpage.agent.data.pager.model.GuestThread.State;
import io.farpage.linux.Errno;
import io.farpage.linux.uffd.PageFaults;
import io.farpage.linux.uffd.UffdMessages;
import io.farpage.linux.uffd.Userfaultfd;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;

/**
 * The address space of a process of the guest, with memory that is registered with a userfaultfd for missing and, if it
 * is a file's, write-protect faults, as Linux has it (fs/userfaultfd.c, mm/userfaultfd.c, mm/shmem.c, mm/madvise.c,
 * mm/hugetlb.c):
 *
 * <ul>
 *   <li>A page is in the page cache or not, and mapped or not; it is write-protected by a bit of its entry in the page
 *       table, or by a marker there while it is not mapped. Mapping the page from the page cache keeps the protection,
 *       and COPY overwrites it.
 *   <li>COPY, ZEROPAGE, CONTINUE, POISON and WRITEPROTECT are refused with EAGAIN from the call of a removal until its
 *       caller has woken after the event was read. Only after that does the caller remove the pages, without another
 *       event.
 *   <li>COPY and ZEROPAGE are refused with ENOENT where a range is not within one mapping.
 *   <li>COPY stops at a page that is in the page cache or for which there is no memory, and wakes threads that wait for
 *       the pages before it.
 *   <li>A read takes faults before events, and a fault that was woken is no longer read.
 *   <li>A fork copies what is mapped and what is protected. Until the agent has read the event, installations are
 *       refused as for a removal.
 *   <li>Private memory is copied by a fork; what one process stores, gives up or gets installed afterwards, the other
 *       does not see.
 *   <li>Large pages are hugetlbfs pages: no ZEROPAGE, EEXIST where no hugepage is left, and no mapping that is split
 *       within a page. MADV_REMOVE may give up a part of a page: the event names the exact bytes, a page that is in the
 *       file has them filled with zeros, whatever its protection, and a page that is not in the file stays as it is.
 *   <li>Punching a hole removes pages from the cache and from the page table, and leaves the protection behind as a
 *       marker.
 * </ul>
 */
final class SimulatedKernel implements PageFaults {
    static final long BASE = 0x7f00_0000_0000L;

    private final Host host;
    private final int pageBytes;
    private final SimulatedMemory memory;
    private final boolean[] mapped;
    private final boolean[] isProtected;
    private final boolean[] isPoisoned;
    /** Whether a mapping ends before a page, and another one begins. */
    private final boolean[] isSplit;

    private final Deque<GuestThread> unreadFaults = new ArrayDeque<>();
    private final Deque<GuestThread> readFaults = new ArrayDeque<>();
    private final Deque<GuestThread> events = new ArrayDeque<>();
    private int changing;
    private boolean alive = true;

    SimulatedKernel(Host host) {
        this.host = host;
        memory = new SimulatedMemory(host);
        pageBytes = host.setup.pageBytes();
        int pages = host.setup.pages();
        mapped = new boolean[pages];
        isProtected = new boolean[pages];
        isPoisoned = new boolean[pages];
        isSplit = new boolean[pages];
        host.spaces.add(this);
        memory.mappedBy(this);
    }

    private SimulatedKernel(SimulatedKernel parent) {
        host = parent.host;
        memory = parent.memory.fork();
        pageBytes = parent.pageBytes;
        mapped = parent.mapped.clone();
        isProtected = parent.isProtected.clone();
        isPoisoned = parent.isPoisoned.clone();
        isSplit = parent.isSplit.clone();
        host.spaces.add(this);
        memory.mappedBy(this);
    }

    /** A copy of this address space: what is mapped is mapped there, and what is protected is protected. */
    SimulatedKernel fork() {
        return new SimulatedKernel(this);
    }

    SimulatedMemory memory() {
        return memory;
    }

    Host host() {
        return host;
    }

    boolean isAlive() {
        return alive;
    }

    boolean isCached(int page) {
        return memory.isCached(page);
    }

    boolean isMapped(int page) {
        return mapped[page];
    }

    boolean isPoisoned(int page) {
        return isPoisoned[page];
    }

    long content(int page) {
        return memory.content(page);
    }

    /** A thread touches its page. Returns whether it could; otherwise it waits in a fault. */
    boolean touch(GuestThread thread) {
        int page = thread.page;
        if (isPoisoned[page]) {
            // SIGBUS ends the operation of the thread.
            thread.state = State.IDLE;
            return false;
        }
        if (!mapped[page] && !memory.isCached(page)) {
            fault(thread, false);
            return false;
        }
        mapped[page] = true;
        if (thread.isStore() && isProtected[page]) {
            fault(thread, true);
            return false;
        }
        return true;
    }

    private void fault(GuestThread thread, boolean writeProtect) {
        thread.state = State.FAULTING;
        thread.writeProtect = writeProtect;
        unreadFaults.add(thread);
    }

    /** madvise(2) or fork(2) is called, and queues an event. */
    void announce(GuestThread thread) {
        changing++;
        events.add(thread);
    }

    /** The caller has woken. */
    void announced() {
        changing--;
    }

    /** A page was removed from the memory, and so from the page table. */
    void unmap(int page) {
        mapped[page] = false;
        isPoisoned[page] = false;
    }

    /** Unmaps a page, which stays in the page cache. */
    void reclaim(int page) {
        mapped[page] = false;
    }

    /** Splits the mapping before a page, or makes it one again. */
    void split(int page) {
        isSplit[page] = !isSplit[page];
    }

    private boolean isWithinOneMapping(int first, int count) {
        for (int page = first + 1; page < first + count; page++) {
            if (isSplit[page]) {
                return false;
            }
        }
        return true;
    }

    /** The process ends, and its address space with it; the file stays. */
    void end() {
        alive = false;
        Arrays.fill(mapped, false);
        unreadFaults.clear();
        readFaults.clear();
        events.clear();
        changing = 0;
    }

    private int refusal() {
        host.called();
        return changing > 0 ? -Errno.EAGAIN : alive ? 0 : -Errno.ESRCH;
    }

    private int pageAt(long address) {
        return (int) ((address - BASE) / pageBytes);
    }

    private int pagesOf(long length) {
        if (length % pageBytes != 0) {
            throw new AssertionError(length + " bytes are not whole pages");
        }
        return (int) (length / pageBytes);
    }

    private boolean isLarge() {
        return pageBytes != Memory.PAGE;
    }

    /** Where a thread faults: with UFFD_FEATURE_EXACT_ADDRESS that is not where its page begins. */
    private long addressOf(GuestThread thread) {
        return BASE + (long) thread.page * pageBytes + (thread.isStore() ? 0 : pageBytes / 2);
    }

    @Override
    public int fd() {
        return 0;
    }

    @Override
    public int read(UffdMessages messages) {
        host.called();
        MessageWriter writer = new MessageWriter(messages);
        while (!writer.isFull() && !unreadFaults.isEmpty()) {
            GuestThread thread = unreadFaults.remove();
            readFaults.add(thread);
            writer.fault(addressOf(thread), thread.isStore(), thread.writeProtect);
        }
        while (!writer.isFull() && !events.isEmpty()) {
            GuestThread thread = events.remove();
            thread.state = State.WOKEN;
            if (thread.isFork()) {
                writer.fork(host.spaces.indexOf(thread.child()));
                continue;
            }
            writer.removal(BASE + thread.removedFrom(pageBytes), BASE + thread.removedUntil(pageBytes));
        }
        host.returned();
        return writer.count();
    }

    @Override
    public long copy(long destination, long source, long length, long mode) {
        return fill(destination, length, source, (mode & Userfaultfd.COPY_MODE_WP) != 0);
    }

    @Override
    public long zeropage(long start, long length) {
        // hugetlbfs has no ZEROPAGE
        return isLarge() ? -Errno.EINVAL : fill(start, length, 0, false);
    }

    private long fill(long destination, long length, long source, boolean protect) {
        int refusal = refusal();
        if (refusal != 0) {
            return refusal;
        }
        int first = pageAt(destination);
        int count = pagesOf(length);
        int filled = 0;
        long failure = isWithinOneMapping(first, count) ? 0 : -Errno.ENOENT;
        while (filled < count && failure == 0) {
            int page = first + filled;
            if (!host.hasMemoryFor(filled + 1, memory.cached())) {
                // the error of hugetlbfs when no hugepage is free
                failure = isLarge() ? -Errno.EEXIST : -Errno.ENOMEM;
            } else if (memory.isCached(page) || isPoisoned[page]) {
                memory.found(page);
                failure = -Errno.EEXIST;
            } else {
                memory.install(page, source == 0 ? 0 : Memory.version(source + (long) filled * pageBytes), protect);
                mapped[page] = true;
                isProtected[page] = protect;
                filled++;
            }
        }
        host.feed();
        wakeAll(first, filled);
        host.returned();
        return filled > 0 ? (long) filled * pageBytes : failure;
    }

    @Override
    public long continueAt(long start, long length) {
        int refusal = refusal();
        if (refusal != 0) {
            return refusal;
        }
        int page = pageAt(start);
        if (page < 0 || page >= mapped.length) {
            return -Errno.ENOENT;
        }
        if (!memory.isCached(page)) {
            return -Errno.EFAULT;
        }
        if (mapped[page]) {
            return -Errno.EEXIST;
        }
        mapped[page] = true;
        isProtected[page] = false;
        memory.touched(page);
        wakeAll(page, 1);
        host.returned();
        return pagesOf(length) * (long) pageBytes;
    }

    @Override
    public long poison(long start, long length) {
        int refusal = refusal();
        if (refusal != 0) {
            return refusal;
        }
        if (host.setup.has(Feature.NO_POISON)) {
            return -Errno.EINVAL;
        }
        int page = pageAt(start);
        if (!host.mayPoison(page) || memory.isCached(page)) {
            throw new AssertionError("page " + page + " is poisoned, but is not lost");
        }
        if (isProtected[page] || isPoisoned[page]) {
            return -Errno.EEXIST;
        }
        isPoisoned[page] = true;
        wakeAll(page, pagesOf(length));
        return length;
    }

    @Override
    public int writeProtect(long start, long length, boolean protect) {
        int refusal = refusal();
        if (refusal != 0) {
            return refusal;
        }
        int first = pageAt(start);
        int count = pagesOf(length);
        for (int page = first; protect && page < first + count; page++) {
            host.protects(page);
        }
        Arrays.fill(isProtected, first, first + count, protect);
        for (int page = first; page < first + count; page++) {
            memory.touched(page);
        }
        if (!protect) {
            wakeAll(first, count);
        }
        host.returned();
        return 0;
    }

    @Override
    public int wake(long start, long length) {
        host.called();
        wakeAll(pageAt(start), pagesOf(length));
        return 0;
    }

    @Override
    public PageFaults child(int descriptor) {
        return host.spaces.get(descriptor);
    }

    @Override
    public void close() {}

    private void wakeAll(int first, int count) {
        wakeAll(unreadFaults, first, count);
        wakeAll(readFaults, first, count);
    }

    private static void wakeAll(Deque<GuestThread> faults, int first, int count) {
        if (faults.isEmpty()) {
            return;
        }
        faults.removeIf(thread -> {
            boolean woken = thread.page >= first && thread.page < first + count;
            if (woken) {
                thread.state = State.WOKEN;
            }
            return woken;
        });
    }

    /** A page, for messages. */
    String describe(int page) {
        return memory.describe(page)
                + (mapped[page] ? ", mapped" : "")
                + (isProtected[page] ? ", protected" : "")
                + (isPoisoned[page] ? ", poisoned" : "");
    }

    /** The state of the kernel. */
    String shape() {
        return memory.shape()
                + Arrays.toString(mapped)
                + Arrays.toString(isProtected)
                + Arrays.toString(isPoisoned)
                + Arrays.toString(isSplit)
                + unreadFaults
                + readFaults
                + events
                + changing
                + host.shape()
                + alive;
    }
}
