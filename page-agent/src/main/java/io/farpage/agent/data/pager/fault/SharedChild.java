package io.farpage.agent.data.pager.fault;

import io.farpage.agent.data.pager.memory.AddressSpace;
import io.farpage.agent.data.pager.memory.FaultQueue;
import io.farpage.agent.data.pager.memory.Installer;
import io.farpage.agent.data.pager.memory.KernelMessages;
import io.farpage.agent.data.pager.page.PageTable;
import java.util.function.LongSupplier;

/**
 * A child that maps the same memory file as its parent, and so has the same pages. A page that is missing is fetched as
 * for a fault of the parent; once it is in the file, the child is woken.
 */
final class SharedChild extends Child implements KernelMessages.Receiver {
    private final PageTable table;
    private final FaultHandler parent;
    private final Children children;
    private final LongSupplier clock;
    private final Installer installer;
    private final FaultQueue waiting = new FaultQueue();
    /** Whether a thread waits for anything other than a page that is being fetched. */
    private boolean retries;

    private boolean hasRemoved;
    private long removedAt;

    /**
     * @param memory of the child, whose table is its parent's
     * @param parent fetches missing pages
     * @param children serves grandchildren
     */
    SharedChild(AddressSpace memory, FaultHandler parent, Children children) {
        super(memory);
        this.parent = parent;
        this.children = children;
        table = memory.table();
        clock = memory.context().clock();
        installer = new Installer(memory, Installer.Sharers.NONE);
    }

    Installer installer() {
        return installer;
    }

    /** Whether it gave up resident pages. */
    boolean hasRemoved() {
        return hasRemoved;
    }

    /** When it last gave up resident pages, nanoseconds. */
    long removedAt() {
        return removedAt;
    }

    @Override
    int doWork() {
        int work = messages().read(this);
        return messages().isBehind() ? work : work + serveWaiting();
    }

    @Override
    boolean isBusy() {
        return retries || messages().isBehind();
    }

    @Override
    boolean holdsUpParent() {
        return messages().isBehind();
    }

    @Override
    public void fault(int page, boolean write, boolean writeProtect, long seenAt) {
        if (!writeProtect) {
            parent.fault(page, write, false, seenAt);
            waiting.add(page, write, seenAt);
        } else if (!table.isResident(page)) {
            memory().wake(page);
        } else if (memory().protection().unprotect(page, 1) > 0) {
            table.setState(page, PageTable.DIRTY);
        } else {
            waiting.add(page, true, seenAt);
        }
    }

    @Override
    public void minor(int page, long seenAt) {
        boolean fetching = table.state(page) == PageTable.FETCHING;
        int mapped = installer.map(page);
        if (mapped == Installer.ABSENT) {
            fault(page, false, false, seenAt);
        } else if (mapped == 0) {
            waiting.add(page, false, seenAt);
        } else if (fetching) {
            parent.arrivals().remove(page, 1);
        }
    }

    /**
     * The page was removed from the file, or unmapped in the child alone: the table keeps its state until the page is
     * evicted.
     */
    @Override
    public void removed(int first, int count) {
        for (int page = first; page < first + count; ) {
            boolean resident = table.isResident(page);
            int run = 1;
            while (page + run < first + count && table.isResident(page + run) == resident) {
                run++;
            }
            if (resident) {
                removedAt = clock.getAsLong();
                hasRemoved = true;
                table.setState(page, run, PageTable.DIRTY, PageTable.DIRTY);
            } else {
                parent.removed(page, run);
            }
            page += run;
        }
    }

    @Override
    public void removedPart(int page) {
        table.removePart(page, clock.getAsLong());
    }

    @Override
    public void forked(int descriptor) {
        children.forked(descriptor, memory(), parent);
    }

    private int serveWaiting() {
        int work = 0;
        retries = false;
        for (int left = waiting.size(); left > 0; left--) {
            int page = waiting.page();
            boolean write = waiting.isWrite();
            long seenAt = waiting.seenAt();
            waiting.remove();
            if (resolve(page, write)) {
                work++;
            } else {
                waiting.add(page, write, seenAt);
                retries |= table.state(page) != PageTable.FETCHING;
            }
        }
        return work;
    }

    /** Resolves a fault of the child; false if it has to wait. */
    private boolean resolve(int page, boolean write) {
        int state = table.state(page);
        if (state == PageTable.ZERO || state == PageTable.REMOTE) {
            parent.fault(page, write, false, clock.getAsLong());
        }
        if (table.isResident(page)) {
            memory().wake(page);
            return true;
        }
        if (table.state(page) == PageTable.LOST) {
            return memory().poison(page) != AddressSpace.Poison.AGAIN;
        }
        return memory().isGone();
    }

    /** The child has replaced its parent: faults that wait in its queue move to the pager's queue. */
    void leaveWaiting() {
        for (; !waiting.isEmpty(); waiting.remove()) {
            parent.fault(waiting.page(), waiting.isWrite(), false, waiting.seenAt());
        }
    }

    @Override
    boolean hasEnded() {
        return memory().isGone();
    }
}
