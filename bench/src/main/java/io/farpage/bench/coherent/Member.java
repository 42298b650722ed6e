package io.farpage.bench.coherent;

import io.farpage.guest.vmm.GuestMemory;
import io.farpage.guest.vmm.Handoff;
import java.nio.file.Path;

/** Memory of this process whose faults one agent resolves. Any thread. */
final class Member implements AutoCloseable {
    private final GuestMemory memory;
    private final Handoff handoff;

    private Member(GuestMemory memory, Handoff handoff) {
        this.memory = memory;
        this.handoff = handoff;
    }

    /** Hands memory over to the agent that listens at {@code socket}. */
    static Member begin(Path socket, long bytes) {
        GuestMemory memory = GuestMemory.map(GuestMemory.Backing.MEMFD, bytes);
        return new Member(memory, Handoff.of(memory, socket, 1));
    }

    /** Where a page is in this process. */
    long address(int page) {
        return memory.address() + (long) page * CoherentPlan.PAGE_BYTES;
    }

    /** Its VMM ends. The agent must run. */
    @Override
    public void close() {
        handoff.close();
        memory.close();
    }
}
