package io.farpage.agent.data.coherence;

import io.farpage.agent.data.pager.page.GuestLayout;
import io.farpage.linux.Errno;
import io.farpage.linux.ErrnoName;
import io.farpage.linux.uffd.UffdMessages;

/**
 * Reads what the kernel says about a member's memory. Its process may fault; all else that it may do to memory with a
 * userfaultfd ends the membership.
 */
final class MemberEvents {
    private final MemberMemory memory;
    private final UffdMessages messages;
    private boolean drained;

    /** Receives faults. */
    interface Faults {
        /**
         * A thread waits for a page, or to write to one.
         *
         * @param seenAt when the message was read, nanoseconds
         */
        void fault(int page, boolean isWrite, long seenAt);
    }

    /** @param messages where the kernel puts them; a successor handles those that are not blanked */
    MemberEvents(MemberMemory memory, UffdMessages messages) {
        this.memory = memory;
        this.messages = messages;
    }

    /** Handles what the agent before has read and not handled. Faults are repeated by the threads. */
    void resume() {
        for (int i = 0; i < messages.capacity(); i++) {
            switch (messages.event(i)) {
                case 0 -> {}
                case UffdMessages.EVENT_PAGEFAULT -> fault(i, (_, _, _) -> {}, 0);
                case UffdMessages.EVENT_FORK ->
                    memory.fail("its process was forking when its agent was killed; use MADV_DONTFORK");
                default -> refuse(i);
            }
            messages.clear(i);
        }
    }

    int fd() {
        return memory.uffd().fd();
    }

    /** Whether the last batch was not a full one. */
    boolean isDrained() {
        return drained;
    }

    /** Reads a batch. Returns how many messages there were. */
    int read(Faults faults, long now) {
        int count = memory.uffd().read(messages);
        drained = count < messages.capacity();
        if (count < 0) {
            if (-count == Errno.EINVAL || -count == Errno.EBADF) {
                memory.fail("faults cannot be read: " + ErrnoName.of(-count));
            }
            return 0;
        }
        for (int i = 0; i < count; i++) {
            if (messages.event(i) == UffdMessages.EVENT_PAGEFAULT) {
                fault(i, faults, now);
            } else {
                refuse(i);
            }
            messages.clear(i);
        }
        return count;
    }

    private void fault(int index, Faults faults, long now) {
        int page = memory.layout().pageAt(messages.address(index));
        if (page == GuestLayout.NONE) {
            memory.fail("a fault at 0x%x, which is not in the memory that was handed over"
                    .formatted(messages.address(index)));
        } else {
            faults.fault(page, messages.isWrite(index), now);
        }
    }

    private void refuse(int index) {
        switch (messages.event(index)) {
            case UffdMessages.EVENT_FORK -> {
                memory.uffd().child(messages.forked(index)).close();
                memory.fail("its process has forked with the memory mapped; use MADV_DONTFORK");
            }
            case UffdMessages.EVENT_REMOVE -> memory.fail("its process has given up pages, by madvise");
            case UffdMessages.EVENT_UNMAP -> memory.unmapped(messages.address(index), messages.end(index));
            case UffdMessages.EVENT_REMAP -> memory.fail("its process has moved the memory, by mremap");
            default -> memory.fail("an event of kind 0x%x".formatted(messages.event(index)));
        }
    }
}
