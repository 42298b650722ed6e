package io.farpage.agent.data.pager;

import io.farpage.agent.data.shard.FetchStatus;
import io.farpage.linux.uffd.PageFaults;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The processes that a VMM forked while it had asked to be told of that (UFFD_FEATURE_EVENT_FORK), and theirs.
 *
 * <p>While one of them shares the memory file, nothing can be evicted: a page that comes now is write-protected for the VMM alone, so
 * that a child's store to it would not be seen. When the last one has ended, every page that is here counts as written to.
 */
final class Children {
    private static final Logger log = LoggerFactory.getLogger(Children.class);
    /** Pages that one turn looks at when they become suspect. */
    private static final int SUSPECTS = 65_536;

    private final PrivateChild.Family family;
    private final PageFaults kernel;
    private final boolean shared;
    private final PageTable table;
    private final Transfers transfers;
    private final List<Child> living = new ArrayList<>();
    private final Watch watch = new Watch();
    private final List<Integer> readable = new ArrayList<>();
    /** Pages from here on may be written to by no child any more, and were before: clean ones count as dirty. */
    private int suspect;

    private boolean removing;
    private long removedAt;

    private volatile int count;

    /**
     * @param kernel where the VMM's faults come from
     * @param shared whether the memory is a file's
     * @param table the VMM's
     * @param transfers the VMM's
     */
    Children(PrivateChild.Family family, PageFaults kernel, boolean shared, PageTable table, Transfers transfers) {
        this.family = family;
        this.kernel = kernel;
        this.shared = shared;
        this.table = table;
        this.transfers = transfers;
        suspect = table.pages();
    }

    /** How many live. Any thread. */
    int count() {
        return count;
    }

    boolean isEmpty() {
        return count == 0;
    }

    /** Whether one of them may write to pages of the VMM's without being seen, or may have and the table does not say so yet. */
    boolean share() {
        return shared && (count > 0 || isMarkingDirty() || isRemoving());
    }

    /** Whether pages that a child may have written to are still to be marked. */
    boolean isMarkingDirty() {
        return suspect < table.pages();
    }

    /** Whether the child in the VMM's place may be in the middle of giving up pages that it gave up as a child. */
    private boolean isRemoving() {
        removing = removing && family.clock().getAsLong() - removedAt < Cuts.REMOVAL_NANOS;
        return removing;
    }

    /** A descriptor that is readable while one of theirs or {@code parent} is; -1 if there is none at the moment. */
    int fd(int parent) {
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
     * @param layout the parent's
     * @param of the parent's table
     * @param parent the VMM's faults
     */
    void forked(int descriptor, GuestLayout layout, PageTable of, FaultHandler parent) {
        PageFaults uffd = kernel.child(descriptor);
        GuestLayout own = new GuestLayout(layout);
        if (shared) {
            add(new SharedChild(
                    family.space(),
                    uffd,
                    own,
                    table,
                    transfers,
                    parent,
                    grandchild -> forked(grandchild, own, table, parent),
                    family.options().turnPages(),
                    family.clock()));
        } else {
            PageTable inherited = new PageTable(of);
            add(new PrivateChild(
                    family, uffd, own, inherited, grandchild -> forked(grandchild, own, inherited, parent)));
        }
        log.info(
                "space {}: the VMM forked; {} of its children have its memory{}",
                family.space(),
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

    /** Whether a child that shares the memory has read of a removal that is not in the table yet; then nothing may be installed. */
    boolean isBehind() {
        for (Child child : living) {
            if (child.holdsUpParent()) {
                return true;
            }
        }
        return false;
    }

    /** Goes on with such a removal. Returns how much was done. */
    int catchUp() {
        for (Child child : living) {
            if (child.holdsUpParent()) {
                return child.doWork();
            }
        }
        return 0;
    }

    /** Serves them. Returns how much there was to do. */
    int doWork() {
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
                log.info("space {}: a child of the VMM has ended; {} are left", family.space(), count);
                work++;
            }
        }
        return work;
    }

    /** Has some of the pages that a child may have written to count as written to. Returns how much there was to do. */
    int markCleanDirty() {
        if (count > 0 || !isMarkingDirty()) {
            return 0;
        }
        int end = Math.min(table.pages(), suspect + SUSPECTS);
        table.markCleanDirty(suspect, end);
        suspect = end;
        return 1;
    }

    /** Whether one of them needs another turn soon. */
    boolean isBusy() {
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

    /** Takes the end of a transfer that is not the VMM's. */
    void completed(int slot, FetchStatus status) {
        for (Child child : living) {
            if (child.owns(slot)) {
                child.completed(slot, status);
                return;
            }
        }
        throw new IllegalStateException("nobody's transfer: slot " + slot);
    }

    /** Looks whether their address spaces are still there. */
    void probe() {
        living.forEach(Child::probe);
    }

    /** Installer of a child that shares the memory and in which a page is mapped, or null. */
    @Nullable
    Installer installerOf(int page) {
        for (Child child : living) {
            if (child instanceof SharedChild sharer
                    && !sharer.hasEnded()
                    && sharer.layout().addressOf(page) != GuestLayout.NONE) {
                return sharer.installer();
            }
        }
        return null;
    }

    /** The VMM has left its memory to the child that shares it longest; null if there is none. */
    @Nullable
    SharedChild removeSuccessor() {
        for (Child child : living) {
            if (child instanceof SharedChild sharer && !sharer.hasEnded()) {
                living.remove(child);
                watch.forget(sharer.descriptor());
                changed();
                removing = sharer.hasRemoved();
                removedAt = sharer.removedAt();
                log.info("space {}: the VMM has ended; a child has its memory now", family.space());
                return sharer;
            }
        }
        return null;
    }
}
