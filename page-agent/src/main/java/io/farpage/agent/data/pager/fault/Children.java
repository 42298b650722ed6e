package io.farpage.agent.data.pager.fault;

import io.farpage.agent.data.pager.memory.AddressSpace;
import io.farpage.agent.data.pager.memory.Installer;
import io.farpage.agent.data.pager.memory.PagerContext;
import io.farpage.agent.data.pager.page.GuestLayout;
import io.farpage.agent.data.pager.page.PageTable;
import io.farpage.agent.data.pager.page.PartialRemovals;
import io.farpage.linux.uffd.PageFaults;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Child processes of the VMM, and their children. The kernel reports a fork if the VMM enabled UFFD_FEATURE_EVENT_FORK.
 *
 * <p>While one of them shares the memory file, nothing is evicted: a page is write-protected for the VMM alone, so a
 * child's write would not be noticed. When the last of them has ended, every resident page counts as dirty.
 */
public final class Children implements Installer.Sharers {
    private static final Logger log = LoggerFactory.getLogger(Children.class);
    /** Pages that one duty cycle marks as dirty. */
    private static final int SUSPECTS = 65_536;

    private final PagerContext context;
    private final String space;
    private final PageFaults kernel;
    private final boolean shared;
    private final PageTable table;
    private final AddressSpace memory;
    private final List<Child> living = new ArrayList<>();
    private final Watch watch = new Watch();
    private final List<Integer> readable = new ArrayList<>();
    /** The first page that is still to be marked as dirty because a child may have written to it. */
    private int suspect;

    /** The child that has replaced a VMM which ended before it; null while the VMM lives. */
    private @Nullable SharedChild successor;

    private boolean removing;
    private long removedAt;

    private volatile int count;

    /** @param memory the VMM's */
    public Children(AddressSpace memory) {
        this.memory = memory;
        context = memory.context();
        space = context.space();
        shared = context.isShared();
        kernel = memory.uffd();
        table = memory.table();
        suspect = table.pages();
    }

    /** How many children live. Any thread. */
    public int count() {
        return count;
    }

    public boolean isEmpty() {
        return count == 0;
    }

    /**
     * Whether a child may write to the VMM's pages unnoticed, or may have and those pages are not marked as dirty yet.
     */
    public boolean share() {
        return shared && (count > 0 || isMarkingDirty() || isRemoving());
    }

    /** Whether pages that a child may have written to are still to be marked. */
    public boolean isMarkingDirty() {
        return suspect < table.pages();
    }

    /** Whether the kernel may still carry out removals that the child in the VMM's place called for as a child. */
    private boolean isRemoving() {
        removing = removing && context.clock().getAsLong() - removedAt < PartialRemovals.REMOVAL_NANOS;
        return removing;
    }

    /** A descriptor that is readable while {@code parent} or that of a child is; -1 if there is none. */
    public int fd(int parent) {
        readable.clear();
        add(parent);
        for (Child child : living) {
            add(child.fd());
        }
        return watch.of(readable);
    }

    private void add(int descriptor) {
        if (descriptor >= 0) {
            readable.add(descriptor);
        }
    }

    /**
     * The VMM or one of its children has forked.
     *
     * @param descriptor for the child's memory
     * @param parent the memory of the process that forked
     * @param fetches fetches missing pages of memory that is shared
     */
    void forked(int descriptor, AddressSpace parent, FaultHandler fetches) {
        PageFaults uffd = kernel.child(descriptor);
        GuestLayout layout = new GuestLayout(parent.layout());
        if (shared) {
            add(new SharedChild(new AddressSpace(context, uffd, layout, table, false), fetches, this));
        } else {
            PageTable inherited = new PageTable(parent.table());
            add(new PrivateChild(new AddressSpace(context, uffd, layout, inherited, false), this));
        }
        log.info(
                "space {}: the VMM forked; {} of its children have its memory{}",
                space,
                count,
                shared ? ", and nothing of it is evicted while one lives" : ", each its own");
    }

    private void add(Child child) {
        living.add(child);
        changed();
    }

    private void changed() {
        count = living.size();
        if (living.isEmpty()) {
            watch.close();
            suspect = shared ? 0 : table.pages();
        }
    }

    /**
     * Whether a child that shares the memory has read of a removal that is not in the table yet; then nothing may be
     * installed.
     */
    public boolean isBehind() {
        for (Child child : living) {
            if (child.holdsUpParent()) {
                return true;
            }
        }
        return false;
    }

    /** Continues such a removal. Returns the amount of work. */
    public int catchUp() {
        for (Child child : living) {
            if (child.holdsUpParent()) {
                return child.doWork();
            }
        }
        return 0;
    }

    /** Runs a duty cycle of each child. Returns the amount of work. */
    public int doWork() {
        int work = 0;
        for (int i = living.size() - 1; i >= 0; i--) {
            Child child = living.get(i);
            work += child.doWork();
            if (child.holdsUpParent()) {
                return work;
            }
            if (child.hasEnded()) {
                living.remove(child);
                watch.forget(child.descriptor());
                child.close();
                changed();
                log.info("space {}: a child of the VMM has ended; {} are left", space, count);
                work++;
            }
        }
        return work;
    }

    /** Marks some of the pages that a child may have written to as dirty. Returns the amount of work. */
    public int markCleanDirty() {
        if (count > 0 || !isMarkingDirty()) {
            return 0;
        }
        int end = Math.min(table.pages(), suspect + SUSPECTS);
        table.markCleanDirty(suspect, end);
        suspect = end;
        return 1;
    }

    /** Whether a child needs another duty cycle soon. */
    public boolean isBusy() {
        if (watch.isBlind() || isMarkingDirty()) {
            return true;
        }
        for (Child child : living) {
            if (child.isBusy()) {
                return true;
            }
        }
        return false;
    }

    /** Probes whether their address spaces still exist. */
    public void probe() {
        living.forEach(Child::probe);
    }

    @Override
    public @Nullable Installer of(int page) {
        for (Child child : living) {
            if (child instanceof SharedChild sharer
                    && !sharer.hasEnded()
                    && sharer.memory().layout().addressOf(page) != GuestLayout.NONE) {
                return sharer.installer();
            }
        }
        return null;
    }

    /** Replaces a VMM that has ended by the child that has shared the memory longest; false if there is none. */
    public boolean succeed() {
        SharedChild next = removeSuccessor();
        if (next == null) {
            return false;
        }
        closeSuccessor();
        successor = next;
        memory.replaceBy(next.memory());
        return true;
    }

    /** The child that has replaced the VMM has been served to its end. */
    public void closeSuccessor() {
        if (successor != null) {
            successor.close();
        }
    }

    /** Faults that wait in the queue of the successor move to the queue of the pager. */
    public void requeueSuccessorsFaults() {
        if (successor != null) {
            successor.leaveWaiting();
        }
    }

    private @Nullable SharedChild removeSuccessor() {
        for (Child child : living) {
            if (child instanceof SharedChild sharer && !sharer.hasEnded()) {
                living.remove(child);
                watch.forget(sharer.descriptor());
                changed();
                removing = sharer.hasRemoved();
                removedAt = sharer.removedAt();
                log.info("space {}: the VMM has ended; a child has its memory now", space);
                return sharer;
            }
        }
        return null;
    }
}
