package io.farpage.guest.vmm;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.guest.command.CommandException;
import io.farpage.guest.vmm.KvmLayouts.UserspaceMemoryRegion;
import io.farpage.linux.Errno;
import io.farpage.linux.ErrnoName;
import io.farpage.linux.FileIo;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * A virtual machine with two memory slots: RAM for pages from guest-physical address 0, and above it the
 * {@link BootMemory}. Made and closed by one thread; each vCPU is run by one thread of its own.
 */
final class VirtualMachine implements AutoCloseable {
    private static final int RAM_SLOT = 0;
    private static final int BOOT_SLOT = 1;

    private final Errno errno = Errno.create();
    private final Arena arena = Arena.ofShared();
    private final int kvm;
    private final int vm;
    private final BootMemory boot;
    private final List<Vcpu> vcpus = new ArrayList<>();

    private VirtualMachine(int kvm, int vm, BootMemory boot) {
        this.kvm = kvm;
        this.vm = vm;
        this.boot = boot;
    }

    /**
     * Makes one.
     *
     * @param memory its RAM; stays the caller's, and must outlive the machine
     * @throws CommandException if KVM is not there or refuses
     */
    static VirtualMachine create(GuestMemory memory, int vcpus) {
        Errno errno = Errno.ofThread();
        int kvm = Kvm.open(errno);
        int vm = Ioctl.call(errno, kvm, Kvm.KVM_CREATE_VM, 0);
        if (vm < 0) {
            FileIo.close(errno, kvm);
            throw new CommandException("KVM_CREATE_VM: " + ErrnoName.of(-vm));
        }
        VirtualMachine machine = new VirtualMachine(kvm, vm, new BootMemory(memory.bytes(), vcpus));
        try {
            machine.addSlot(RAM_SLOT, 0, memory.bytes(), memory.address());
            machine.addSlot(BOOT_SLOT, machine.boot.guestAddress(), machine.boot.bytes(), machine.boot.hostAddress());
            int runBytes = require(Ioctl.call(errno, kvm, Kvm.KVM_GET_VCPU_MMAP_SIZE, 0), "KVM_GET_VCPU_MMAP_SIZE");
            for (int index = 0; index < vcpus; index++) {
                int vcpu = require(Ioctl.call(errno, vm, Kvm.KVM_CREATE_VCPU, index), "KVM_CREATE_VCPU");
                machine.vcpus.add(new Vcpu(index, vcpu, runBytes, machine.boot));
            }
            return machine;
        } catch (RuntimeException e) {
            machine.close();
            throw e;
        }
    }

    List<Vcpu> vcpus() {
        return vcpus;
    }

    private void addSlot(int slot, long guestAddress, long bytes, long hostAddress) {
        MemorySegment region = arena.allocate(UserspaceMemoryRegion.SIZE, 8);
        region.set(JAVA_INT, UserspaceMemoryRegion.SLOT, slot);
        region.set(JAVA_LONG, UserspaceMemoryRegion.GUEST_PHYS_ADDR, guestAddress);
        region.set(JAVA_LONG, UserspaceMemoryRegion.MEMORY_SIZE, bytes);
        region.set(JAVA_LONG, UserspaceMemoryRegion.USERSPACE_ADDR, hostAddress);
        require(
                Ioctl.call(errno, vm, Kvm.KVM_SET_USER_MEMORY_REGION, region.address()),
                "KVM_SET_USER_MEMORY_REGION of " + bytes + " bytes at " + Long.toHexString(guestAddress));
    }

    static int require(int result, String request) {
        if (result < 0) {
            throw new CommandException(request + ": " + ErrnoName.of(-result));
        }
        return result;
    }

    /** Destroys it; no vCPU may be running. */
    @Override
    public void close() {
        vcpus.forEach(Vcpu::close);
        FileIo.close(errno, vm);
        FileIo.close(errno, kvm);
        boot.close();
        arena.close();
    }
}
