package io.farpage.guest.vmm;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import io.farpage.guest.command.CommandException;
import io.farpage.guest.vmm.KvmLayouts.Regs;
import io.farpage.guest.vmm.KvmLayouts.Run;
import io.farpage.guest.vmm.KvmLayouts.Segment;
import io.farpage.guest.vmm.KvmLayouts.Sregs;
import io.farpage.linux.Errno;
import io.farpage.linux.ErrnoName;
import io.farpage.linux.FileIo;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** One processor of a virtual machine, in long mode from the start. Run by one thread. */
final class Vcpu implements AutoCloseable {
    /** Takes what the guest writes to its ports, 32 bits at a time. */
    interface Ports {
        void out(int port, int value);
    }

    private static final long CR0_PE_PG = 0x80000001L;
    private static final long CR4_PAE = 0x20;
    private static final long EFER_LME_LMA = 0x500;
    private static final int CODE_SELECTOR = 0x08;
    private static final int DATA_SELECTOR = 0x10;
    private static final int CODE_TYPE = 0b1011;
    private static final int DATA_TYPE = 0b0011;
    private static final long RFLAGS_RESERVED = 0x2;
    private static final int OUT_BYTES = 4;

    private final Errno errno = Errno.create();
    private final MemorySegment scratch = Arena.ofAuto().allocate(Sregs.SIZE, 8);
    private final int index;
    private final int fd;
    private final BootMemory boot;
    private final MemorySegment run;

    @SuppressWarnings("restricted") // the kernel's own mapping is reached by its address
    Vcpu(int index, int fd, int runBytes, BootMemory boot) {
        this.index = index;
        this.fd = fd;
        this.boot = boot;
        // SAFETY: maps runBytes, the size that KVM gives for it; unmapped by close only.
        this.run = MemorySegment.ofAddress(Mappings.shared(errno, fd, runBytes)).reinterpret(runBytes);
    }

    int index() {
        return index;
    }

    /**
     * Runs a program from its first instruction to HLT.
     *
     * @throws CommandException if the guest leaves its program, or its memory is not available
     */
    void run(byte[] program, Ports ports) {
        setSegmentsAndPaging();
        setInstructionPointer(boot.load(index, program));
        while (true) {
            int result = Ioctl.call(errno, fd, Kvm.KVM_RUN, 0);
            if (result == -Errno.EINTR || result == -Errno.EAGAIN) {
                continue;
            }
            VirtualMachine.require(result, "KVM_RUN on vCPU " + index);
            int reason = run.get(JAVA_INT, Run.EXIT_REASON);
            if (reason == Run.EXIT_HLT) {
                return;
            }
            if (reason != Run.EXIT_IO) {
                throw new CommandException("vCPU " + index + " stopped: " + describe(reason));
            }
            out(ports);
        }
    }

    private void out(Ports ports) {
        int port = Short.toUnsignedInt(run.get(JAVA_SHORT, Run.IO_PORT));
        if (run.get(JAVA_BYTE, Run.IO_DIRECTION) != Run.IO_OUT || run.get(JAVA_BYTE, Run.IO_SIZE) != OUT_BYTES) {
            throw new CommandException(
                    "vCPU " + index + " made an input or output at port " + port + " that is not out of 32 bits");
        }
        ports.out(port, run.get(JAVA_INT, run.get(JAVA_LONG, Run.IO_DATA_OFFSET)));
    }

    private String describe(int reason) {
        return switch (reason) {
            case Run.EXIT_MMIO ->
                "it touched guest-physical address 0x" + Long.toHexString(run.get(JAVA_LONG, Run.MMIO_PHYS_ADDR))
                        + ", where no memory is";
            case Run.EXIT_SHUTDOWN -> "triple fault";
            case Run.EXIT_FAIL_ENTRY ->
                "the hardware refused to enter the guest, reason 0x"
                        + Long.toHexString(run.get(JAVA_LONG, Run.FAIL_ENTRY_REASON));
            case Run.EXIT_INTERNAL_ERROR ->
                "KVM_EXIT_INTERNAL_ERROR, suberror " + run.get(JAVA_INT, Run.INTERNAL_SUBERROR);
            default -> "exit reason " + reason;
        };
    }

    private void setSegmentsAndPaging() {
        MemorySegment sregs = scratch.asSlice(0, Sregs.SIZE);
        call(Kvm.KVM_GET_SREGS, sregs, "KVM_GET_SREGS");
        Segment.set(sregs.asSlice(Sregs.CS, Segment.SIZE), CODE_SELECTOR, CODE_TYPE, true);
        for (long data : new long[] {Sregs.DS, Sregs.ES, Sregs.SS}) {
            Segment.set(sregs.asSlice(data, Segment.SIZE), DATA_SELECTOR, DATA_TYPE, false);
        }
        sregs.set(JAVA_LONG, Sregs.CR3, boot.pageTables());
        sregs.set(JAVA_LONG, Sregs.CR4, CR4_PAE);
        sregs.set(JAVA_LONG, Sregs.CR0, CR0_PE_PG);
        sregs.set(JAVA_LONG, Sregs.EFER, EFER_LME_LMA);
        call(Kvm.KVM_SET_SREGS, sregs, "KVM_SET_SREGS");
    }

    private void setInstructionPointer(long address) {
        MemorySegment regs = scratch.asSlice(0, Regs.SIZE).fill((byte) 0);
        regs.set(JAVA_LONG, Regs.RIP, address);
        regs.set(JAVA_LONG, Regs.RFLAGS, RFLAGS_RESERVED);
        call(Kvm.KVM_SET_REGS, regs, "KVM_SET_REGS");
    }

    private void call(long request, MemorySegment argument, String name) {
        int result = Ioctl.call(errno, fd, request, argument.address());
        if (result < 0) {
            throw new CommandException(name + " on vCPU " + index + ": " + ErrnoName.of(-result));
        }
    }

    @Override
    public void close() {
        Mappings.unmap(errno, run.address(), run.byteSize());
        FileIo.close(errno, fd);
    }
}
