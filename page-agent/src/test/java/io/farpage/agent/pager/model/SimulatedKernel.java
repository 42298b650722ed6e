package io.farpage.agent.pager.model;

import io.farpage.agent.pager.model.GuestThread.State;
import io.farpage.agent.uffd.GuestFile;
import io.farpage.agent.uffd.MessageWriter;
import io.farpage.agent.uffd.PageFaults;
import io.farpage.agent.uffd.UffdMessages;
import io.farpage.agent.uffd.Userfaultfd;
import io.farpage.posix.Errno;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.function.IntConsumer;
import java.util.function.IntPredicate;

/**
 * A guest's memory on a memfd that is registered with a userfaultfd for missing and write-protect faults, as Linux has it (fs/userfaultfd.c,
 * mm/userfaultfd.c, mm/shmem.c, mm/madvise.c):
 *
 * <ul>
 *   <li>A page is in the page cache or not, and mapped or not; it is write-protected by a bit of its entry in the page table, or by a marker
 *       there while it is not mapped, which whoever maps it from the page cache obeys and whoever fills it by COPY overwrites.
 *   <li>COPY, ZEROPAGE, CONTINUE, POISON and WRITEPROTECT are refused with EAGAIN from the call of a removal until its caller has woken after
 *       the event was read. Only after that does the caller take the pages out, without anybody being told.
 *   <li>COPY and ZEROPAGE are refused with ENOENT where a range is not within one mapping.
 *   <li>COPY stops at a page that is in the page cache or for which there is no memory, and wakes who waits for those before.
 *   <li>A read takes faults before events, and a fault that was woken is not there to be read any more.
 *   <li>A fork copies what is mapped and what is protected. Until the agent has read of it, installations are refused as for a removal.
 *   <li>A hole that is punched takes pages out of the cache and out of the page table, and leaves the protection behind as a marker.
 * </ul>
 */
final class SimulatedKernel implements PageFaults {
    static final long BASE = 0x7f00_0000_0000L;
    private static final int UNLIMITED = Integer.MAX_VALUE;

    private final Runnable call;
    private final Cache cache;
    private final boolean[] mapped;
    private final boolean[] isProtected;
    private final boolean[] isPoisoned;
    private IntPredicate mayPoison = page -> false;
    private IntConsumer onProtect = page -> {};
    private IntConsumer onRead = page -> {};
    /** Whether a mapping ends before a page, and another one begins. */
    private final boolean[] isSplit;

    private final Deque<GuestThread> unreadFaults = new ArrayDeque<>();
    private final Deque<GuestThread> readFaults = new ArrayDeque<>();
    private final Deque<GuestThread> events = new ArrayDeque<>();
    private final GuestFile file = new File();
    private int changing;
    private boolean alive = true;

    /** @param call run before each call is carried out: whatever happens then happens before it */
    SimulatedKernel(int pages, Runnable call) {
        this.call = call;
        cache = new Cache(pages);
        mapped = new boolean[pages];
        isProtected = new boolean[pages];
        isPoisoned = new boolean[pages];
        isSplit = new boolean[pages];
        cache.spaces.add(this);
    }

    private SimulatedKernel(SimulatedKernel parent) {
        call = parent.call;
        cache = parent.cache;
        mapped = parent.mapped.clone();
        isProtected = parent.isProtected.clone();
        isPoisoned = parent.isPoisoned.clone();
        isSplit = parent.isSplit.clone();
        cache.spaces.add(this);
    }

    /** The pages of the file, which all address spaces have. */
    private static final class Cache {
        private final boolean[] cached;
        private final long[] content;
        private final int[] frames;
        private final List<SimulatedKernel> spaces = new ArrayList<>();
        private int memoryFor = UNLIMITED;
        private int holeRefusal;

        Cache(int pages) {
            cached = new boolean[pages];
            content = new long[pages];
            frames = new int[pages];
        }
    }

    /** A copy of this address space: what is mapped is mapped there, and what is protected is protected. */
    SimulatedKernel fork() {
        return new SimulatedKernel(this);
    }

    GuestFile file() {
        return file;
    }

    boolean isAlive() {
        return alive;
    }

    boolean isCached(int page) {
        return cache.cached[page];
    }

    boolean isMapped(int page) {
        return mapped[page];
    }

    long content(int page) {
        return cache.content[page];
    }

    /** A thread touches its page: whether it could; otherwise it waits in a fault. */
    boolean touch(GuestThread thread) {
        int page = thread.page;
        if (isPoisoned[page]) {
            // SIGBUS, which ends what the thread was about to do.
            thread.state = State.IDLE;
            return false;
        }
        if (!mapped[page] && !cache.cached[page]) {
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

    /** The memory that a page has until it is taken out, as a number that only that has of all that the page ever has. */
    int frame(int page) {
        return cache.frames[page];
    }

    /** A device writes to memory that is pinned, whatever has become of the page. */
    void storeByDevice(int page, int frame, long version) {
        if (cache.cached[page] && cache.frames[page] == frame) {
            cache.content[page] = version;
        }
    }

    void store(int page, long version) {
        cache.content[page] = version;
    }

    private void fault(GuestThread thread, boolean writeProtect) {
        thread.state = State.FAULTING;
        thread.writeProtect = writeProtect;
        unreadFaults.add(thread);
    }

    /** madvise(2) or fork(2) is called: the agent is to be told. */
    void announce(GuestThread thread) {
        changing++;
        events.add(thread);
    }

    /** The caller has woken. */
    void announced() {
        changing--;
    }

    /** Takes a page out, as fallocate(2) does. */
    void zap(int page) {
        cache.frames[page] += cache.cached[page] ? 1 : 0;
        cache.cached[page] = false;
        for (SimulatedKernel space : cache.spaces) {
            space.mapped[page] = false;
            space.isPoisoned[page] = false;
        }
    }

    /** Which pages the agent may give up for lost from now on. */
    void mayPoison(IntPredicate pages) {
        mayPoison = pages;
    }

    /** What to tell of each page that the agent write-protects, and of each that it reads from the file, before it does. */
    void observe(IntConsumer protects, IntConsumer reads) {
        onProtect = protects;
        onRead = reads;
    }

    /** Takes a page out of the page table only. */
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

    /** The next installation gets memory for so many pages only. */
    void starve(int pages) {
        cache.memoryFor = pages;
    }

    /** From now on no hole can be punched, and this negative error number is the answer; 0 to punch them. */
    void refuseHoles(int answer) {
        cache.holeRefusal = answer;
    }

    /** The VMM is gone, and its address space with it; the file stays. */
    void end() {
        alive = false;
        Arrays.fill(mapped, false);
        unreadFaults.clear();
        readFaults.clear();
        events.clear();
        changing = 0;
    }

    private int refusal() {
        call.run();
        return changing > 0 ? -Errno.EAGAIN : alive ? 0 : -Errno.ESRCH;
    }

    private static int pageAt(long address) {
        return (int) ((address - BASE) / Memory.PAGE);
    }

    @Override
    public int fd() {
        return 0;
    }

    @Override
    public int read(UffdMessages messages) {
        call.run();
        MessageWriter writer = new MessageWriter(messages);
        while (!writer.isFull() && !unreadFaults.isEmpty()) {
            GuestThread thread = unreadFaults.remove();
            readFaults.add(thread);
            writer.fault(BASE + (long) thread.page * Memory.PAGE, thread.isStore(), thread.writeProtect);
        }
        while (!writer.isFull() && !events.isEmpty()) {
            GuestThread thread = events.remove();
            thread.state = State.WOKEN;
            if (thread.isFork()) {
                writer.fork(cache.spaces.indexOf(thread.child()));
                continue;
            }
            long start = BASE + (long) thread.page * Memory.PAGE;
            writer.removal(start, start + (long) thread.pages() * Memory.PAGE);
        }
        return writer.count();
    }

    @Override
    public long copy(long destination, long source, long length, long mode) {
        return fill(destination, length, source, (mode & Userfaultfd.COPY_MODE_WP) != 0);
    }

    @Override
    public long zeropage(long start, long length) {
        return fill(start, length, 0, false);
    }

    private long fill(long destination, long length, long source, boolean protect) {
        int refusal = refusal();
        if (refusal != 0) {
            return refusal;
        }
        int first = pageAt(destination);
        int count = (int) (length / Memory.PAGE);
        int filled = 0;
        long failure = isWithinOneMapping(first, count) ? 0 : -Errno.ENOENT;
        while (filled < count && failure == 0) {
            int page = first + filled;
            if (cache.memoryFor <= filled) {
                failure = -Errno.ENOMEM;
            } else if (cache.cached[page] || isPoisoned[page]) {
                failure = -Errno.EEXIST;
            } else {
                cache.cached[page] = true;
                mapped[page] = true;
                isProtected[page] = protect;
                cache.content[page] = source == 0 ? 0 : Memory.version(source + (long) filled * Memory.PAGE);
                filled++;
            }
        }
        cache.memoryFor = UNLIMITED;
        wakeAll(first, filled);
        return filled > 0 ? (long) filled * Memory.PAGE : failure;
    }

    @Override
    public long continueAt(long start, long length) {
        int refusal = refusal();
        if (refusal != 0) {
            return refusal;
        }
        int page = pageAt(start);
        if (page < 0 || page >= cache.cached.length) {
            return -Errno.ENOENT;
        }
        if (!cache.cached[page]) {
            return -Errno.EFAULT;
        }
        if (mapped[page]) {
            return -Errno.EEXIST;
        }
        mapped[page] = true;
        isProtected[page] = false;
        wakeAll(page, 1);
        return Memory.PAGE;
    }

    @Override
    public long poison(long start, long length) {
        int refusal = refusal();
        if (refusal != 0) {
            return refusal;
        }
        int page = pageAt(start);
        if (!mayPoison.test(page) || cache.cached[page]) {
            throw new AssertionError("page " + page + " is given up for lost");
        }
        if (isProtected[page] || isPoisoned[page]) {
            return -Errno.EEXIST;
        }
        isPoisoned[page] = true;
        wakeAll(page, 1);
        return Memory.PAGE;
    }

    @Override
    public int writeProtect(long start, long length, boolean protect) {
        int refusal = refusal();
        if (refusal != 0) {
            return refusal;
        }
        int first = pageAt(start);
        int count = (int) (length / Memory.PAGE);
        for (int page = first; protect && page < first + count; page++) {
            onProtect.accept(page);
        }
        Arrays.fill(isProtected, first, first + count, protect);
        if (!protect) {
            wakeAll(first, count);
        }
        return 0;
    }

    @Override
    public int wake(long start, long length) {
        call.run();
        wakeAll(pageAt(start), (int) (length / Memory.PAGE));
        return 0;
    }

    @Override
    public PageFaults child(int descriptor) {
        return cache.spaces.get(descriptor);
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
        return (cache.cached[page] ? "version " + cache.content[page] : "absent")
                + (mapped[page] ? ", mapped" : "")
                + (isProtected[page] ? ", protected" : "")
                + (isPoisoned[page] ? ", poisoned" : "");
    }

    /** All that decides how the kernel goes on. */
    String shape() {
        return Arrays.toString(cache.cached)
                + Arrays.toString(cache.content)
                + Arrays.toString(mapped)
                + Arrays.toString(isProtected)
                + Arrays.toString(isPoisoned)
                + Arrays.toString(isSplit)
                + unreadFaults
                + readFaults
                + events
                + changing
                + cache.memoryFor
                + alive;
    }

    private final class File implements GuestFile {
        @Override
        public long read(long offset, long address, long length) {
            call.run();
            int first = (int) (offset / Memory.PAGE);
            for (int i = 0; i < length / Memory.PAGE; i++) {
                onRead.accept(first + i);
                long version = cache.cached[first + i] ? cache.content[first + i] : 0;
                Memory.version(address + (long) i * Memory.PAGE, version);
            }
            return length;
        }

        @Override
        public int punchHole(long offset, long length) {
            call.run();
            if (cache.holeRefusal != 0) {
                return cache.holeRefusal;
            }
            int first = (int) (offset / Memory.PAGE);
            for (int i = 0; i < length / Memory.PAGE; i++) {
                zap(first + i);
            }
            return 0;
        }
    }
}
