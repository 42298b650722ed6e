package io.farpage.agent.control.guest;

import io.farpage.linux.uffd.Userfaultfd;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The memory that a VMM handed over.
 *
 * @param pid process id of the VMM
 * @param slices parts of the space, one for each userfaultfd
 * @param uffds the userfaultfds of the slices
 * @param backing the memory file; null without one, and then nothing can be evicted
 */
record VmmMemory(
        int pid,
        List<Slice> slices,
        List<Userfaultfd> uffds,
        @Nullable Backing backing) {
    /** Bytes that are mapped. */
    long bytes() {
        return slices.stream().mapToLong(Slice::mappedBytes).sum();
    }

    /** The descriptor of the memory file, which must have been handed over. */
    int file() {
        return Objects.requireNonNull(backing).file().fd();
    }

    /** Closes the VMM's descriptors. */
    void close() {
        uffds.forEach(Userfaultfd::close);
        if (backing != null) {
            backing.close();
        }
    }
}
