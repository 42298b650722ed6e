package io.farpage.verbs.soft;

import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.MemoryRegion;
import java.lang.foreign.MemorySegment;
import java.util.Set;
import java.util.function.Consumer;

/** A registered run of native memory. One random key serves as lkey and rkey. */
final class SoftMemoryRegion implements MemoryRegion {
    private final Consumer<SoftMemoryRegion> deregister;
    private final MemorySegment memory; // keeps an automatic arena's memory alive
    private final long address;
    private final long length;
    private final int key;
    private final Set<AccessFlag> access;
    private final int accessBits;

    /** @param deregister closes the region */
    SoftMemoryRegion(MemorySegment memory, int key, Set<AccessFlag> access, Consumer<SoftMemoryRegion> deregister) {
        this.deregister = deregister;
        this.memory = memory;
        this.address = memory.address();
        this.length = memory.byteSize();
        this.key = key;
        this.access = Set.copyOf(access);
        this.accessBits = AccessFlag.bits(access);
    }

    /**
     * Whether {@code bytes} bytes at {@code from} lie within and all of {@code bits} are granted. Any values may be
     * asked for.
     */
    boolean permits(long from, int bytes, int bits) {
        return covers(address, length, from, bytes) && (accessBits & bits) == bits;
    }

    /** Whether {@code bytes} bytes at {@code from} lie within {@code length} bytes at {@code address}. */
    static boolean covers(long address, long length, long from, int bytes) {
        // The difference is exact modulo 2^64, so no sum can overflow: a start outside is negative or beyond the
        // length.
        long offset = from - address;
        return offset >= 0 && bytes >= 0 && offset <= length - bytes;
    }

    @Override
    public long address() {
        return address;
    }

    @Override
    public long length() {
        return length;
    }

    @Override
    public int lkey() {
        return key;
    }

    @Override
    public int rkey() {
        return key;
    }

    @Override
    public Set<AccessFlag> access() {
        return access;
    }

    @Override
    public void close() {
        deregister.accept(this);
    }

    @Override
    public String toString() {
        return "memory region 0x%x+%d".formatted(address, memory.byteSize());
    }
}
