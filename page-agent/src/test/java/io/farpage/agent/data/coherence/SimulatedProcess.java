package io.farpage.agent.data.coherence;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.agent.data.pager.MessageWriter;
import io.farpage.linux.Errno;
import io.farpage.linux.uffd.GuestFile;
import io.farpage.linux.uffd.PageFaults;
import io.farpage.linux.uffd.PresentPages;
import io.farpage.linux.uffd.UffdMessages;
import io.farpage.linux.uffd.Userfaultfd;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.function.Consumer;

/** A process with memory that is a member's, its threads, and the kernel between the two. */
final class SimulatedProcess implements PageFaults, GuestFile, PresentPages {
    static final long BASE = 0x7f00_0000_0000L;
    static final int PAGE = 4096;

    /** A thread, which loads or stores the word of a page. */
    static final class Worker {
        final int number;
        /** -1 while it does nothing. */
        int page = -1;
        /** The page before. */
        int last = -1;

        boolean isStore;
        long value;
        /** Whether the kernel has it wait. */
        boolean waits;

        Worker(int number) {
            this.number = number;
        }

        boolean isIdle() {
            return page < 0;
        }

        @Override
        public String toString() {
            return "thread " + number + (isIdle() ? "" : (isStore ? " stores to " : " loads ") + page)
                    + (waits ? ", waits" : "");
        }
    }

    /** Is told what threads have done. */
    interface Observer {
        void loaded(SimulatedProcess by, int page, long value);

        /** SIGBUS. */
        void killed(SimulatedProcess by, int page);

        void stored(SimulatedProcess by, int page, long value);
    }

    final List<Worker> workers = new ArrayList<>();
    private final boolean[] present;
    private final boolean[] isProtected;
    private final boolean[] isPoisoned;
    private final long[] words;
    private final Observer observer;
    private final Deque<Worker> unread = new ArrayDeque<>();
    private final Deque<Worker> read = new ArrayDeque<>();
    /** Whether the host has no memory for another page. */
    boolean isShort;

    boolean alive = true;
    /** What the process has done to its memory, as messages that were not read. */
    final Deque<Consumer<MessageWriter>> events = new ArrayDeque<>();
    /** Is called before and after each call of the agent, which it may interrupt. */
    Runnable onCall = () -> {};
    /** Descriptors of children that were closed. */
    int closedChildren;

    SimulatedProcess(int pages, int threads, Observer observer) {
        this.observer = observer;
        present = new boolean[pages];
        isProtected = new boolean[pages];
        isPoisoned = new boolean[pages];
        words = new long[pages];
        for (int i = 0; i < threads; i++) {
            workers.add(new Worker(i));
        }
    }

    /** Whether the memory file has it. */
    boolean isPresent(int page) {
        return present[page];
    }

    boolean isReadable(int page) {
        return alive && present[page];
    }

    boolean isWritable(int page) {
        return isReadable(page) && !isProtected[page];
    }

    long word(int page) {
        return words[page];
    }

    /** Runs a thread that has something to do and does not wait. */
    void run(Worker worker) {
        int page = worker.page;
        if (isPoisoned[page]) {
            worker.page = -1;
            observer.killed(this, page);
        } else if (!present[page] || (worker.isStore && isProtected[page])) {
            worker.waits = true;
            unread.add(worker);
        } else if (worker.isStore) {
            words[page] = worker.value;
            worker.page = -1;
            observer.stored(this, page, worker.value);
        } else {
            worker.page = -1;
            observer.loaded(this, page, words[page]);
        }
    }

    /** The process ends; its memory file stays. */
    void end() {
        alive = false;
        unread.clear();
        read.clear();
    }

    private static int pageAt(long address) {
        return (int) ((address - BASE) / PAGE);
    }

    private void wakeAll(int page) {
        for (Deque<Worker> faults : List.of(unread, read)) {
            faults.removeIf(worker -> {
                boolean woken = worker.page == page;
                worker.waits &= !woken;
                return woken;
            });
        }
    }

    @Override
    public int fd() {
        return 0;
    }

    @Override
    public int read(UffdMessages messages) {
        onCall.run();
        MessageWriter writer = new MessageWriter(messages);
        while (!writer.isFull() && !unread.isEmpty()) {
            Worker worker = unread.remove();
            read.add(worker);
            writer.fault(BASE + (long) worker.page * PAGE + 8, worker.isStore, present[worker.page]);
        }
        while (!writer.isFull() && !events.isEmpty()) {
            events.remove().accept(writer);
        }
        onCall.run();
        return writer.count();
    }

    @Override
    public long copy(long destination, long source, long length, long mode) {
        onCall.run();
        long done = copied(destination, source, length, mode);
        onCall.run();
        return done;
    }

    private long copied(long destination, long source, long length, long mode) {
        int page = pageAt(destination);
        if (!alive) {
            return -Errno.ESRCH;
        }
        if (present[page] || isPoisoned[page]) {
            return -Errno.EEXIST;
        }
        if (isShort) {
            return -Errno.ENOMEM;
        }
        present[page] = true;
        isProtected[page] = (mode & Userfaultfd.COPY_MODE_WP) != 0;
        words[page] = at(source).get(JAVA_LONG, 0);
        wakeAll(page);
        return length;
    }

    @Override
    public long zeropage(long start, long length) {
        throw new AssertionError("zeropage");
    }

    @Override
    public long continueAt(long start, long length) {
        return alive ? -Errno.ENOENT : -Errno.ESRCH;
    }

    @Override
    public long poison(long start, long length) {
        int page = pageAt(start);
        if (!alive) {
            return -Errno.ESRCH;
        }
        if (present[page] || isPoisoned[page] || isProtected[page]) {
            return -Errno.EEXIST;
        }
        isPoisoned[page] = true;
        wakeAll(page);
        return length;
    }

    @Override
    public int writeProtect(long start, long length, boolean protect) {
        onCall.run();
        int page = pageAt(start);
        if (!alive) {
            return -Errno.ESRCH;
        }
        if (isShort) {
            return -Errno.EAGAIN;
        }
        isProtected[page] = protect;
        if (!protect) {
            wakeAll(page);
        }
        onCall.run();
        return 0;
    }

    @Override
    public int wake(long start, long length) {
        onCall.run();
        for (int page = pageAt(start); page < pageAt(start + length); page++) {
            wakeAll(page);
        }
        return 0;
    }

    @Override
    public PageFaults child(int descriptor) {
        return this;
    }

    @Override
    public void close() {
        closedChildren++;
    }

    @Override
    public long read(long offset, long address, long length) {
        int page = (int) (offset / PAGE);
        at(address).set(JAVA_LONG, 0, present[page] ? words[page] : 0);
        return length;
    }

    @Override
    public int punchHole(long offset, long length) {
        onCall.run();
        present[(int) (offset / PAGE)] = false;
        onCall.run();
        return 0;
    }

    @Override
    public long nextData(long offset) {
        onCall.run();
        return next(offset, true);
    }

    @Override
    public long nextHole(long offset) {
        long hole = next(offset, false);
        return hole < 0 ? (long) present.length * PAGE : hole;
    }

    private long next(long offset, boolean wanted) {
        for (int page = (int) (offset / PAGE); page < present.length; page++) {
            if (present[page] == wanted) {
                return (long) page * PAGE;
            }
        }
        return -Errno.ENXIO;
    }

    @Override
    public long firstPage(long offset, long length) {
        throw new AssertionError("firstPage");
    }

    @SuppressWarnings("restricted") // SAFETY: the agent's code has just passed a page at this address.
    private static MemorySegment at(long address) {
        return MemorySegment.ofAddress(address).reinterpret(PAGE);
    }

    String describe(int page) {
        return (present[page] ? isProtected[page] ? "shared " : "modified " : "absent ")
                + words[page]
                + (isPoisoned[page] ? " poisoned" : "");
    }
}
