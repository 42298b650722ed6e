package io.farpage.guest.vmm;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * A small memory slot above the RAM, with the page tables and a page of code for each vCPU. It is never paged, so that
 * a guest can always fetch its instructions, and ordinary memory of this JVM.
 *
 * <p>The page tables map guest-virtual to equal guest-physical addresses, RAM and this slot alike, in pages of 2 MiB
 * (Intel SDM volume 3, 4.5): one PML4, one page directory pointer table, one page directory per GiB.
 */
final class BootMemory implements AutoCloseable {
    /** What RAM is possible: beyond it addresses have more than the 36 bits that a vCPU without CPUID has. */
    static final long MAX_RAM = 32L << 30;

    static final long CODE_BYTES = 4096;

    private static final long TABLE_BYTES = 4096;
    private static final long GIB = 1L << 30;
    private static final long LARGE_PAGE = 2L << 20;
    private static final int ENTRIES = 512;
    private static final long PRESENT_WRITABLE = 0b11;
    private static final long PAGE_SIZE_BIT = 0x80;

    private final Arena arena = Arena.ofShared();
    private final MemorySegment memory;
    private final long guestAddress;
    private final long codeOffset;

    BootMemory(long ramBytes, int vcpus) {
        guestAddress = (ramBytes + GIB - 1) / GIB * GIB;
        int directories = Math.toIntExact(guestAddress / GIB + 1);
        codeOffset = (2 + directories) * TABLE_BYTES;
        memory = arena.allocate(codeOffset + vcpus * CODE_BYTES, TABLE_BYTES);
        writeTables(directories);
    }

    private void writeTables(int directories) {
        long pointers = TABLE_BYTES;
        memory.set(JAVA_LONG, 0, guestAddress + pointers | PRESENT_WRITABLE);
        for (int i = 0; i < directories; i++) {
            long directory = (2L + i) * TABLE_BYTES;
            memory.set(JAVA_LONG, pointers + i * 8L, guestAddress + directory | PRESENT_WRITABLE);
            for (int j = 0; j < ENTRIES; j++) {
                long maps = i * GIB + j * LARGE_PAGE;
                memory.set(JAVA_LONG, directory + j * 8L, maps | PRESENT_WRITABLE | PAGE_SIZE_BIT);
            }
        }
    }

    /** For CR3. */
    long pageTables() {
        return guestAddress;
    }

    /** Puts a program into a vCPU's page of code; returns its guest-physical address. */
    long load(int vcpu, byte[] program) {
        if (program.length > CODE_BYTES) {
            throw new IllegalArgumentException(program.length + " bytes of code; there is room for " + CODE_BYTES);
        }
        long at = codeOffset + vcpu * CODE_BYTES;
        MemorySegment.copy(MemorySegment.ofArray(program), 0, memory, at, program.length);
        return guestAddress + at;
    }

    long guestAddress() {
        return guestAddress;
    }

    long hostAddress() {
        return memory.address();
    }

    long bytes() {
        return memory.byteSize();
    }

    @Override
    public void close() {
        arena.close();
    }
}
