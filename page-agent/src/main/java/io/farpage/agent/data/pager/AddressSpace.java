package io.farpage.agent.data.pager;

import io.farpage.linux.uffd.PageFaults;

/** An address space that a guest's memory is mapped in: the VMM's, or that of a process that it forked. The shard's thread only. */
final class AddressSpace {
    private final PagerContext context;
    private final GuestLayout layout;
    private final PageTable table;
    private final WaitingFaults waiting;
    private PageFaults uffd;

    /**
     * @param layout where pages are mapped
     * @param table states of the pages; processes that share the memory file have one
     */
    AddressSpace(PagerContext context, PageFaults uffd, GuestLayout layout, PageTable table) {
        this.context = context;
        this.uffd = uffd;
        this.layout = layout;
        this.table = table;
        waiting = new WaitingFaults(context.homes());
    }

    PagerContext context() {
        return context;
    }

    /** Its userfaultfd. */
    PageFaults uffd() {
        return uffd;
    }

    GuestLayout layout() {
        return layout;
    }

    PageTable table() {
        return table;
    }

    /** Its faults that wait until the limit leaves a free frame, or a transfer slot is free. */
    WaitingFaults waiting() {
        return waiting;
    }

    /** The address space has ended, and from now on this is another one that maps the same file. */
    void becomes(AddressSpace successor) {
        layout.copyFrom(successor.layout);
        uffd = successor.uffd;
    }
}
