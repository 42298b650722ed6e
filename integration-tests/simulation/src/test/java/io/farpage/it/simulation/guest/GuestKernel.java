package io.farpage.it.simulation.guest;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.it.simulation.engine.Descriptors;
import io.farpage.it.simulation.engine.Engine;
import io.farpage.it.simulation.engine.PagedFile;
import io.farpage.linux.Errno;
import io.farpage.linux.uffd.UffdMessages;
import io.farpage.linux.uffd.Userfaultfd;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.StringJoiner;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.LongStream;

/**
 * The memory of a guest, registered with a userfaultfd for missing and write-protect faults, and the file behind it, as
 * the kernel of the pager's model has them: a page is in the file or not, mapped or not, and protected by a bit that
 * outlives its removal. A cell of a page holds one number, in its first and last words. Between two calls of the agent
 * guest threads run.
 *
 * <p>Large pages are those of hugetlbfs: there is no ZEROPAGE, and COPY returns EEXIST where no hugepage is left.
 * MADV_REMOVE may give up a part of a page: a page that is in the file has the part filled with zeros, whatever its
 * protection, and a page that is not in the file stays as it is.
 */
public final class GuestKernel implements PagedFile {
    static final long BASE = 0x7f00_0000_0000L;
    /** Addresses are those of pools, which stay mapped until the simulation ends. */
    @SuppressWarnings("restricted") // SAFETY: a request is executed after its key, and with it its range, was checked.
    private static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

    private static final long FLAG_WRITE = 1;
    private static final long FLAG_WP = 2;
    private static final long CALL_NANOS = 700;
    /** Processor time of a thread for each time that it touches a cell. */
    private static final long TOUCH_NANOS = 1_000_000;
    /** The least number of hugepages that a host has for a userfaultfd if they are scarce. */
    private static final int FEW_PAGES = 48;

    private final Engine engine = Engine.get();
    private final MemoryShape shape;
    private final int pages;
    private final int pageBytes;
    /** Pages for which the host has memory. */
    private int most;

    private final boolean[] cached;
    private final boolean[] mapped;
    private final boolean[] isProtected;
    private final boolean[] poisoned;
    /** By cell. */
    private final long[] content;

    private final List<Faults> slices = new ArrayList<>();
    private boolean ended;
    private long touches;
    private final int file;

    /** One userfaultfd, of a part of the memory. */
    public final class Faults {
        private final int first;
        private final Deque<Fault> unread = new ArrayDeque<>();
        private final Deque<Fault> read = new ArrayDeque<>();
        private final Deque<Removal> removals = new ArrayDeque<>();
        private int changing;
        private final int fd = Descriptors.open(this, this::isReadable);

        private Faults(int first) {
            this.first = first;
        }

        private boolean isReadable() {
            return !unread.isEmpty() || !removals.isEmpty();
        }

        private int refusal() {
            engine.call(CALL_NANOS);
            return changing > 0 ? -Errno.EAGAIN : ended ? -Errno.ESRCH : 0;
        }

        /** See {@link Userfaultfd#read}. */
        public int read(UffdMessages messages) {
            engine.call(CALL_NANOS);
            int count = 0;
            while (count < messages.capacity() && !unread.isEmpty()) {
                Fault fault = unread.remove();
                read.add(fault);
                put(
                        messages,
                        count++,
                        UffdMessages.EVENT_PAGEFAULT,
                        (fault.store ? FLAG_WRITE : 0) | (fault.protection ? FLAG_WRITE | FLAG_WP : 0),
                        BASE + (long) fault.cell * shape.cellBytes());
            }
            while (count < messages.capacity() && !removals.isEmpty()) {
                Removal removal = removals.remove();
                removal.read = true;
                put(
                        messages,
                        count++,
                        UffdMessages.EVENT_REMOVE,
                        BASE + (long) removal.first * shape.cellBytes(),
                        BASE + (long) (removal.first + removal.count) * shape.cellBytes());
                LockSupport.unpark(removal.thread);
            }
            return count;
        }

        /** See {@link Userfaultfd#zeropage}. */
        public long zeropage(long start, long length) {
            if (shape.isLarge()) {
                engine.fail("UFFDIO_ZEROPAGE of a page of hugetlbfs");
            }
            return copy(start, 0, length, 0);
        }

        /** See {@link Userfaultfd#copy}; from address 0: zeros. */
        public long copy(long destination, long source, long length, long mode) {
            int refusal = refusal();
            if (refusal != 0) {
                return refusal;
            }
            int first = pageAt(destination);
            int count = pagesOf(length);
            int filled = 0;
            long failure = 0;
            while (filled < count && failure == 0) {
                int page = first + filled;
                if (cached[page] || poisoned[page] || hasNoMemory()) {
                    failure = -Errno.EEXIST;
                } else {
                    install(page, source == 0 ? 0 : source + (long) filled * pageBytes);
                    cached[page] = true;
                    mapped[page] = true;
                    isProtected[page] = (mode & Userfaultfd.COPY_MODE_WP) != 0;
                    filled++;
                }
            }
            wakeAll(first, filled);
            return filled > 0 ? (long) filled * pageBytes : failure;
        }

        /** See {@link Userfaultfd#continueAt}. */
        public long continueAt(long start, long length) {
            int refusal = refusal();
            if (refusal != 0) {
                return refusal;
            }
            long page64 = (start - BASE) / pageBytes;
            if (page64 < 0 || page64 >= pages) {
                return -Errno.ENOENT;
            }
            int page = (int) page64;
            if (!cached[page]) {
                return -Errno.EFAULT;
            }
            if (mapped[page]) {
                return -Errno.EEXIST;
            }
            mapped[page] = true;
            isProtected[page] = false;
            wakeAll(page, 1);
            return length;
        }

        /** See {@link Userfaultfd#poison}. */
        public long poison(long start, long length) {
            int refusal = refusal();
            if (refusal != 0) {
                return refusal;
            }
            int page = pageAt(start);
            if (cached[page] || poisoned[page]) {
                return -Errno.EEXIST;
            }
            poisoned[page] = true;
            wakeAll(page, 1);
            return length;
        }

        /** See {@link Userfaultfd#writeProtect}. */
        public int writeProtect(long start, long length, boolean protect) {
            int refusal = refusal();
            if (refusal != 0) {
                return refusal;
            }
            int first = pageAt(start);
            int count = pagesOf(length);
            Arrays.fill(isProtected, first, first + count, protect);
            if (!protect) {
                wakeAll(first, count);
            }
            return 0;
        }

        /** See {@link Userfaultfd#wake}. */
        public int wake(long start, long length) {
            engine.call(CALL_NANOS);
            wakeAll(pageAt(start), pagesOf(length));
            return 0;
        }

        private void wakeAll(int first, int count) {
            List<Thread> woken = new ArrayList<>();
            wakeAll(unread, first, count, woken);
            wakeAll(read, first, count, woken);
            woken.forEach(LockSupport::unpark);
        }

        private void wakeAll(Deque<Fault> faults, int first, int count, List<Thread> woken) {
            for (Iterator<Fault> all = faults.iterator(); all.hasNext(); ) {
                Fault fault = all.next();
                int page = shape.pageOf(fault.cell);
                if (page >= first && page < first + count) {
                    all.remove();
                    fault.woken = true;
                    woken.add(fault.thread);
                }
            }
        }
    }

    private static final class Fault {
        private final int cell;
        private final boolean store;
        private final boolean protection;
        private final Thread thread;
        private boolean woken;

        Fault(int cell, boolean store, boolean protection) {
            this.cell = cell;
            this.store = store;
            this.protection = protection;
            this.thread = Thread.currentThread();
        }
    }

    private static final class Removal {
        private final int first;
        private final int count;
        private final Thread thread = Thread.currentThread();
        private boolean read;

        Removal(int first, int count) {
            this.first = first;
            this.count = count;
        }
    }

    public GuestKernel(MemoryShape shape) {
        this.shape = shape;
        pages = shape.pages();
        pageBytes = shape.pageBytes();
        most = shape.isLarge() && engine.oneIn(2)
                ? shape.slices() * (FEW_PAGES + engine.random().nextInt(FEW_PAGES))
                : pages;
        cached = new boolean[pages];
        mapped = new boolean[pages];
        isProtected = new boolean[pages];
        poisoned = new boolean[pages];
        content = new long[shape.cells()];
        for (int i = 0; i < shape.slices(); i++) {
            slices.add(new Faults(i * (pages / shape.slices())));
        }
        file = Descriptors.open(this, () -> false);
    }

    List<Integer> descriptors() {
        List<Integer> all = new ArrayList<>();
        slices.forEach(slice -> all.add(slice.fd));
        all.add(file);
        return all;
    }

    /** The layout of the memory as a VMM sends it with its descriptors. */
    String layout() {
        StringJoiner json = new StringJoiner(",", "[", "]");
        for (int i = 0; i < slices.size(); i++) {
            long offset = firstOf(i) * (long) pageBytes;
            long size = (firstOf(i + 1) - firstOf(i)) * (long) pageBytes;
            json.add("{\"base_host_virt_addr\":%d,\"size\":%d,\"offset\":%d,\"page_size\":%d,\"userfaultfd\":%d}"
                    .formatted(BASE + offset, size, offset, pageBytes, i));
        }
        return json.toString();
    }

    /** The first page of a slice. */
    int firstOf(int slice) {
        return slice == slices.size() ? pages : slices.get(slice).first;
    }

    /** The cell behind the slice of a cell. */
    int endOf(int cell) {
        return firstOf(slices.indexOf(of(cell)) + 1) * shape.cellsPerPage();
    }

    private Faults of(int cell) {
        int page = shape.pageOf(cell);
        Faults found = slices.getFirst();
        for (Faults slice : slices) {
            found = slice.first <= page ? slice : found;
        }
        return found;
    }

    /** Pages in the file that are not zeros. */
    int filled() {
        int count = 0;
        for (int page = 0; page < pages; page++) {
            int first = page * shape.cellsPerPage();
            count += cached[page]
                            && LongStream.of(content)
                                    .skip(first)
                                    .limit(shape.cellsPerPage())
                                    .anyMatch(cell -> cell != 0)
                    ? 1
                    : 0;
        }
        return count;
    }

    /** Pages that are resident. */
    int resident() {
        int count = 0;
        for (boolean one : cached) {
            count += one ? 1 : 0;
        }
        return count;
    }

    /** Whether a page is resident. */
    boolean has(int page) {
        return cached[page];
    }

    /** Whether threads may store to a page without a fault. */
    boolean isWritable(int page) {
        return cached[page] && !isProtected[page];
    }

    // ---- the guest's side

    /** Touches a cell, and waits until it may. False: SIGBUS. */
    boolean touch(int cell, boolean store) {
        touches++;
        int page = shape.pageOf(cell);
        while (true) {
            if (poisoned[page]) {
                return false;
            }
            if (!mapped[page] && !cached[page]) {
                await(new Fault(cell, store, false));
                continue;
            }
            mapped[page] = true;
            if (store && isProtected[page]) {
                await(new Fault(cell, true, true));
                continue;
            }
            return true;
        }
    }

    /** Processor time that the VMM has used. */
    Duration processorTime() {
        return Duration.ofNanos(touches * TOUCH_NANOS);
    }

    private void await(Fault fault) {
        Faults slice = of(fault.cell);
        slice.unread.add(fault);
        Descriptors.changed(slice.fd);
        while (!fault.woken) {
            LockSupport.park();
        }
    }

    long load(int cell) {
        return content[cell];
    }

    void store(int cell, long value) {
        content[cell] = value;
    }

    /**
     * madvise(MADV_REMOVE): announces it, waits until the agent has read that, and removes the cells.
     *
     * @return which of them are zeros now; the others are parts of pages that are not resident
     */
    boolean[] remove(int first, int count) {
        Removal removal = new Removal(first, count);
        Faults slice = of(first);
        slice.changing++;
        slice.removals.add(removal);
        Descriptors.changed(slice.fd);
        while (!removal.read) {
            LockSupport.park();
        }
        slice.changing--;
        engine.pause(engine.between(0, 100_000));
        return removed(first, count);
    }

    private boolean[] removed(int first, int count) {
        boolean[] zeros = new boolean[count];
        int each = shape.cellsPerPage();
        for (int cell = first; cell < first + count; cell++) {
            int page = shape.pageOf(cell);
            boolean isWhole = page * each >= first && (page + 1) * each <= first + count;
            zeros[cell - first] = isWhole || cached[page];
            if (isWhole) {
                zap(page);
            } else if (cached[page]) {
                engine.trail().count("part of a page given up");
                content[cell] = 0;
            }
        }
        return zeros;
    }

    /** The VMM's process ends, and with it its memory; the file stays, for it is the agent's, too. */
    public void end() {
        ended = true;
        for (Faults slice : slices) {
            slice.unread.clear();
            slice.read.clear();
            slice.removals.clear();
            slice.changing = 0;
        }
    }

    boolean hasEnded() {
        return ended;
    }

    private void zap(int page) {
        cached[page] = false;
        mapped[page] = false;
        poisoned[page] = false;
        Arrays.fill(content, page * shape.cellsPerPage(), (page + 1) * shape.cellsPerPage(), 0);
    }

    // ---- the agent's side

    /** Bytes of the memory file. */
    public long length() {
        return shape.bytes();
    }

    @Override
    public int pageBytes() {
        return pageBytes;
    }

    private int pageAt(long address) {
        return (int) ((address - BASE) / pageBytes);
    }

    private int pagesOf(long length) {
        if (length % pageBytes != 0) {
            engine.fail("%d bytes are not pages of %d".formatted(length, pageBytes));
        }
        return (int) (length / pageBytes);
    }

    /** The host has memory for every page from now on. */
    void giveMemory() {
        most = pages;
    }

    private boolean hasNoMemory() {
        boolean hasNone = most < pages && resident() >= most;
        if (hasNone) {
            engine.trail().count("no hugepage free");
        }
        return hasNone;
    }

    private static void put(UffdMessages to, int index, int event, long first, long second) {
        long at = to.address() + (long) index * UffdMessages.MESSAGE_BYTES;
        ALL.set(JAVA_BYTE, at, (byte) event);
        ALL.set(JAVA_LONG, at + 8, first);
        ALL.set(JAVA_LONG, at + 16, second);
    }

    /** Fills a page with what is at an address; 0: with zeros. */
    private void install(int page, long address) {
        int first = page * shape.cellsPerPage();
        for (int i = 0; i < shape.cellsPerPage(); i++) {
            content[first + i] = address == 0 ? 0 : number(address + (long) i * shape.cellBytes());
        }
    }

    private long number(long address) {
        long first = ALL.get(JAVA_LONG, address);
        long last = ALL.get(JAVA_LONG, address + shape.cellBytes() - Long.BYTES);
        if (first != last) {
            engine.fail("a page is installed whose parts are of different versions: %x and %x".formatted(first, last));
        }
        return first;
    }

    /** See {@link io.farpage.linux.uffd.GuestFile#read}. */
    public long readFile(long offset, long address, long length) {
        engine.call(CALL_NANOS);
        int first = (int) (offset / pageBytes);
        int count = (int) Math.min(length / pageBytes, pages - first);
        for (int i = 0; i < count; i++) {
            write(first + i, address + (long) i * pageBytes);
        }
        return (long) count * pageBytes;
    }

    private void write(int page, long address) {
        ALL.asSlice(address, pageBytes).fill((byte) 0);
        for (int i = 0; i < shape.cellsPerPage(); i++) {
            long value = cached[page] ? content[page * shape.cellsPerPage() + i] : 0;
            long at = address + (long) i * shape.cellBytes();
            ALL.set(JAVA_LONG, at, value);
            ALL.set(JAVA_LONG, at + shape.cellBytes() - Long.BYTES, value);
        }
    }

    /** See {@link io.farpage.linux.uffd.GuestFile#punchHole}. */
    public int punchHole(long offset, long length) {
        engine.call(CALL_NANOS);
        for (int page = (int) (offset / pageBytes); page < (offset + length) / pageBytes; page++) {
            zap(page);
        }
        return 0;
    }

    /** SEEK_DATA and SEEK_HOLE (lseek(2)). */
    public long seek(long offset, boolean data) {
        for (int page = (int) (offset / pageBytes); page < pages; page++) {
            if (cached[page] == data) {
                return (long) page * pageBytes;
            }
        }
        return data ? -Errno.ENXIO : length();
    }
}
