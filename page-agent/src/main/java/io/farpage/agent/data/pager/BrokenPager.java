package io.farpage.agent.data.pager;

import io.farpage.agent.data.pager.memory.AddressSpace;
import io.farpage.agent.data.pager.transfer.Staging;
import io.farpage.agent.data.pager.transfer.Transfers;
import io.farpage.linux.uffd.PageFaults;
import io.farpage.linux.uffd.UffdMessages;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Replaces a pager that threw. Its page table may be inconsistent, so no page is installed, evicted or written home
 * from now on. A thread that touches a page that is not resident gets SIGBUS, never zeros; a store to a resident page
 * that is write-protected goes on. The userfaultfd stays open until the VMM has ended, since closing it would let the
 * guest read zeros. Processes that the VMM has forked are not served: their threads wait.
 */
final class BrokenPager {
    private static final Logger log = LoggerFactory.getLogger(BrokenPager.class);
    private static final int MESSAGES = 32;

    private final AddressSpace memory;
    private final String reason;
    private final String space;
    private final PageFaults uffd;
    private final int pageBytes;
    private final Transfers transfers;
    private final Staging staging;
    private final UffdMessages messages = new UffdMessages(MESSAGES);
    private boolean cannotPoison;

    /** @param reason what the pager threw */
    BrokenPager(AddressSpace memory, String reason) {
        this.reason = reason;
        this.memory = memory;
        uffd = memory.uffd();
        pageBytes = memory.layout().pageBytes();
        space = memory.context().space();
        transfers = memory.context().transfers();
        staging = memory.context().staging();
    }

    int fd() {
        return memory.isGone() ? -1 : uffd.fd();
    }

    int doWork() {
        int work = transfers.endCompleted();
        if (transfers.inUse() == 0) {
            // A part may have held frames without a transfer when the duty cycle threw.
            staging.freeAll();
        }
        if (memory.isGone()) {
            return work;
        }
        int count = uffd.read(messages);
        // Events need no answer. The kernel refuses every request while an event waits to be read; those of this batch
        // have been read.
        for (int i = 0; i < count; i++) {
            if (messages.event(i) == UffdMessages.EVENT_PAGEFAULT) {
                answer(messages.address(i) & -pageBytes, messages.isWriteProtect(i));
            }
        }
        return work + Math.max(0, count);
    }

    private void answer(long address, boolean isWriteProtect) {
        if (isWriteProtect) {
            if (uffd.writeProtect(address, pageBytes, false) != 0) {
                memory.wakeAt(address);
            }
            return;
        }
        switch (memory.poisonAt(address)) {
            case DONE -> {}
            // An event waits to be read: the thread faults again.
            case AGAIN -> memory.wakeAt(address);
            case UNSUPPORTED -> {
                if (!cannotPoison) {
                    log.error(
                            "space {}: this kernel cannot poison pages (UFFDIO_POISON, Linux 6.6); threads that touch a"
                                    + " page that is not resident wait for ever; end the VMM",
                            space);
                }
                cannotPoison = true;
            }
        }
    }

    /** How the guest's paging ended. */
    PagerEnd result() {
        return new PagerEnd(reason, false);
    }

    /** Whether the VMM has ended and nothing of the pager is under way. */
    boolean isOver() {
        return memory.isGone() && transfers.inUse() == 0;
    }
}
