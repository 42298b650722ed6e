package io.farpage.agent.data.pager.fault;

import io.farpage.agent.data.pager.memory.AddressSpace;
import io.farpage.agent.data.pager.memory.KernelMessages;

/** The address space of a process that the VMM forked, and that has a userfaultfd of its own. */
abstract sealed class Child implements AutoCloseable permits PrivateChild, SharedChild {
    private final AddressSpace memory;
    private final KernelMessages messages;

    /** @param memory of the child */
    Child(AddressSpace memory) {
        this.memory = memory;
        messages = new KernelMessages(memory);
    }

    final AddressSpace memory() {
        return memory;
    }

    final KernelMessages messages() {
        return messages;
    }

    /** A descriptor that is readable while messages wait; -1 while they cannot be read. */
    final int fd() {
        return messages.fd();
    }

    /** Its userfaultfd. */
    final int descriptor() {
        return memory.uffd().fd();
    }

    /** Probes whether the address space still exists. */
    final void probe() {
        memory.probe();
    }

    /** Runs a duty cycle: reads kernel messages and serves faults. Returns the amount of work. */
    abstract int doWork();

    /** Whether work waits that neither a message nor a completion will start. */
    abstract boolean isBusy();

    /**
     * Whether removals from the memory that it shares with its parent have been read and are not in the page table yet.
     */
    boolean holdsUpParent() {
        return false;
    }

    /** Whether the address space is gone, and nothing is under way for it. */
    abstract boolean hasEnded();

    @Override
    public void close() {
        memory.uffd().close();
    }
}
