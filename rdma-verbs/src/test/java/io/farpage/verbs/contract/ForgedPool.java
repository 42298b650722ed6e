package io.farpage.verbs.contract;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.MemoryRegion;
import io.farpage.verbs.ProtectionDomain;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Random;
import java.util.Set;

/**
 * The memory that forged accesses aim at, cut up as a node's pool is: a header to be read, two spaces side by side with
 * a key each, memory with fewer rights, staging memory without remote access, a region of another protection domain,
 * one that was deregistered, and unregistered pages around all of them. A copy of all bytes tells what they must be.
 */
final class ForgedPool {
    static final int PAGE = 4096;
    private static final int PAGES = 128;
    private static final Set<AccessFlag> READ_WRITE =
            EnumSet.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE);

    private final MemorySegment memory;
    private final MemorySegment expected;
    private final List<MemoryRegion> open = new ArrayList<>();
    private final MemoryRegion space;
    private final MemoryRegion foreign;
    private final MemoryRegion deregistered;

    ForgedPool(Side side, Random random) {
        memory = side.allocate((long) PAGES * PAGE);
        for (long i = 0; i < memory.byteSize(); i++) {
            memory.set(JAVA_BYTE, i, (byte) random.nextInt());
        }
        expected = side.allocate(memory.byteSize()).copyFrom(memory);
        register(side, 8, 1, EnumSet.of(AccessFlag.REMOTE_READ));
        space = register(side, 16, 16, Side.ALL);
        register(side, 32, 16, Side.ALL);
        register(side, 48, 8, EnumSet.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE));
        register(side, 64, 8, READ_WRITE);
        register(side, 72, 8, EnumSet.of(AccessFlag.REMOTE_READ));
        register(side, 88, 16, EnumSet.of(AccessFlag.LOCAL_WRITE));
        ProtectionDomain other = side.keep(side.device.allocateProtectionDomain());
        foreign = side.keep(other.registerMemory(pages(104, 8), Side.ALL));
        deregistered = side.domain.registerMemory(pages(112, 8), Side.ALL);
        deregistered.close();
    }

    private MemoryRegion register(Side side, int firstPage, int pages, Set<AccessFlag> access) {
        MemoryRegion region = side.register(pages(firstPage, pages), access);
        open.add(region);
        return region;
    }

    private MemorySegment pages(int first, int count) {
        return memory.asSlice((long) first * PAGE, (long) count * PAGE);
    }

    /** The regions of the domain that the queue pairs belong to. */
    List<MemoryRegion> regions() {
        return open;
    }

    /** The region that may be read and written. */
    MemoryRegion space() {
        return space;
    }

    /** A region of another domain, with all rights. */
    MemoryRegion foreign() {
        return foreign;
    }

    /** What was a region with all rights. */
    MemoryRegion deregistered() {
        return deregistered;
    }

    /** Whether a peer has been told {@code rkey}, or could by chance use it rightly. */
    boolean knows(int rkey) {
        return rkey == foreign.rkey() || open.stream().anyMatch(region -> region.rkey() == rkey);
    }

    /** A rightful WRITE of {@code bytes} has been done at {@code address}. */
    void written(long address, MemorySegment bytes) {
        MemorySegment.copy(bytes, 0, expected, address - memory.address(), bytes.byteSize());
    }

    /** Offset of the first byte that no rightful WRITE put where it is, or -1. */
    long mismatch() {
        return memory.mismatch(expected);
    }
}
