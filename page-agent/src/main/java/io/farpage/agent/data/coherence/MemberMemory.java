package io.farpage.agent.data.coherence;

import io.farpage.agent.data.pager.page.GuestLayout;
import io.farpage.agent.data.pager.page.GuestRegion;
import io.farpage.linux.Errno;
import io.farpage.linux.ErrnoName;
import io.farpage.linux.uffd.GuestFile;
import io.farpage.linux.uffd.PageFaults;
import io.farpage.linux.uffd.Userfaultfd;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The memory of a member's process as the kernel has it. What goes wrong in a way that cannot be repeated is kept in
 * {@link #failure}. The shard's thread only.
 */
final class MemberMemory {
    private static final int PAGE = GuestLayout.BASE_PAGE;
    /** No process has memory there (vm.mmap_min_addr). */
    private static final long NOWHERE = 0x10000;

    /** The outcome of a call. */
    enum Outcome {
        DONE,
        /** Not now. */
        AGAIN,
        /** The process has ended, or has done to its memory what a member may not do. */
        OVER
    }

    private final PageFaults uffd;
    private final GuestFile file;
    private final GuestLayout layout;
    private final KeptMember kept;
    private boolean gone;
    private @Nullable String failure;

    /** @param kept is told what a successor must know: that the process has ended, or what {@link #failure} says */
    MemberMemory(PageFaults uffd, GuestFile file, GuestLayout layout, KeptMember kept) {
        this.uffd = uffd;
        this.file = file;
        this.layout = layout;
        this.kept = kept;
        gone = kept.isGone();
    }

    PageFaults uffd() {
        return uffd;
    }

    GuestLayout layout() {
        return layout;
    }

    /** Whether the process has ended. */
    boolean isGone() {
        return gone;
    }

    /** Why the memory can no longer be coherent; null if it can. */
    @Nullable
    String failure() {
        return failure;
    }

    void fail(String why) {
        if (failure == null) {
            kept.markBroken();
            failure = why;
        }
    }

    /** Installs a page and wakes the threads that wait for it. */
    Outcome install(int page, MemorySegment bytes, boolean isProtected) {
        long done =
                uffd.copy(layout.addressOf(page), bytes.address(), PAGE, isProtected ? Userfaultfd.COPY_MODE_WP : 0);
        return done > 0 ? Outcome.DONE : outcome("UFFDIO_COPY", page, (int) -done);
    }

    /** Protects a page; or lets the process write to it, and wakes the threads that wait for that. */
    Outcome protect(int page, boolean isProtected) {
        int failed = uffd.writeProtect(layout.addressOf(page), PAGE, isProtected);
        return failed == 0 ? Outcome.DONE : outcome("UFFDIO_WRITEPROTECT", page, -failed);
    }

    private Outcome outcome(String call, int page, int errno) {
        switch (errno) {
            case Errno.EAGAIN, Errno.ENOMEM -> {
                return Outcome.AGAIN;
            }
            case Errno.ESRCH -> gone = true;
            case Errno.EEXIST ->
                fail("page %d is in its memory file although it was not installed: another mapping of the file was"
                                .formatted(page)
                        + " written to");
            default ->
                fail("%s of page %d: %s; the memory is no longer mapped as it was handed over"
                        .formatted(call, page, ErrnoName.of(errno)));
        }
        return Outcome.OVER;
    }

    /** Takes a page out of the file and out of all mappings. */
    void punch(int page) {
        int failed = file.punchHole(layout.offsetOf(page), PAGE);
        if (failed < 0) {
            fail("punching page %d out of the memory file: %s".formatted(page, ErrnoName.of(-failed)));
        }
    }

    /** Reads a page of the file. */
    void read(int page, MemorySegment into) {
        long got = file.read(layout.offsetOf(page), into.address(), PAGE);
        if (got != PAGE) {
            fail("reading page %d of the memory file: %s"
                    .formatted(page, got < 0 ? ErrnoName.of((int) -got) : "the file was truncated"));
        }
    }

    void wake(int page) {
        uffd.wake(layout.addressOf(page), PAGE);
    }

    /**
     * Wakes all threads that wait, so that they fault again: faults that the agent before has read are not delivered
     * again.
     *
     * @param regions where the memory is
     */
    void wakeAll(List<GuestRegion> regions) {
        regions.forEach(region -> uffd.wake(region.hostAddress(), region.length()));
    }

    /** Makes the kernel send SIGBUS to threads that touch a page. */
    Outcome poison(int page) {
        long address = layout.addressOf(page);
        long done = uffd.poison(address, PAGE);
        if (done == -Errno.EEXIST) {
            // A page that was punched out leaves the marker of its protection behind.
            uffd.writeProtect(address, PAGE, false);
            done = uffd.poison(address, PAGE);
        }
        if (done > 0) {
            return Outcome.DONE;
        }
        if (done == -Errno.EAGAIN) {
            return Outcome.AGAIN;
        }
        gone |= done == -Errno.ESRCH;
        uffd.wake(address, PAGE);
        return Outcome.DONE;
    }

    /** The process has unmapped a range. It is at its end for the member once nothing is mapped. */
    void unmapped(long start, long end) {
        layout.unmapped(start, end);
        uffd.wake(start, end - start);
        if (layout.isEmpty()) {
            kept.markGone();
            gone = true;
        } else {
            fail("its process has unmapped a part of the memory; unmap all of it, or none");
        }
    }

    /** Probes whether the process still exists. */
    void probe() {
        gone |= uffd.continueAt(NOWHERE, PAGE) == -Errno.ESRCH;
    }
}
