package io.farpage.verbs.ibverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.farpage.linux.Errno;
import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.MemoryRegion;
import io.farpage.verbs.ibverbs.LibIbverbs.Release;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.Set;

/** {@code struct ibv_mr}. */
final class IbvMemoryRegion implements MemoryRegion {
    private final NativePd domain;
    /** Kept so that memory of an automatic arena is not freed while the device may access it. */
    private final MemorySegment memory;

    private final Set<AccessFlag> access;
    private final long mr;
    private final int lkey;
    private final int rkey;
    private boolean closed;

    IbvMemoryRegion(NativePd domain, MemorySegment memory, Set<AccessFlag> access) {
        this.domain = domain;
        this.memory = memory;
        this.access = access.isEmpty() ? Set.of() : Set.copyOf(EnumSet.copyOf(access));
        NativeDevice device = domain.device();
        Errno errno = Errno.create();
        this.mr = device.library()
                .regMr(errno, domain.pointer(), memory.address(), memory.byteSize(), AccessFlag.bits(access));
        if (mr == 0) {
            throw Failure.of(
                    "reg_mr of " + memory.byteSize() + " bytes", domain.toString(), errno.value(), hint(errno.value()));
        }
        // SAFETY: the library returned a struct ibv_mr, which lives until it is deregistered.
        MemorySegment region = Native.at(mr, Structs.Mr.SIZE);
        this.lkey = region.get(JAVA_INT, Structs.Mr.LKEY);
        this.rkey = region.get(JAVA_INT, Structs.Mr.RKEY);
    }

    private String hint(int errno) {
        return switch (errno) {
            case Errno.ENOMEM -> domain.device().host().memlock().refusal(memory.byteSize());
            case Errno.EFAULT -> "the memory is not mapped, or not writable though the access flags want that";
            default -> "the range or the access flags " + access + " are not permitted";
        };
    }

    @Override
    public long address() {
        return memory.address();
    }

    @Override
    public long length() {
        return memory.byteSize();
    }

    @Override
    public int lkey() {
        return lkey;
    }

    @Override
    public int rkey() {
        return rkey;
    }

    @Override
    public Set<AccessFlag> access() {
        return access;
    }

    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        Failure.check(
                domain.device().library().release(Release.DEREG_MR, mr),
                "dereg_mr",
                toString(),
                "the device refused; a memory window may be bound to it");
        closed = true;
        domain.children().remove(this);
    }

    @Override
    public String toString() {
        return domain.device() + " memory region 0x%x (%d bytes)".formatted(memory.address(), memory.byteSize());
    }
}
