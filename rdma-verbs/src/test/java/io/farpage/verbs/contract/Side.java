package io.farpage.verbs.contract;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.Device;
import io.farpage.verbs.MemoryRegion;
import io.farpage.verbs.ProtectionDomain;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.WorkCompletion;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.EnumSet;
import java.util.Set;

/**
 * One end of a test: a domain, a completion queue, memory that is registered for everything, and queue pairs. Closes in
 * order.
 */
final class Side implements AutoCloseable {
    static final Set<AccessFlag> ALL = EnumSet.allOf(AccessFlag.class);
    static final int MEMORY = 1 << 20;
    private static final int CQE = 1024;

    final Device device;
    final ProtectionDomain domain;
    final CompletionQueue completions;
    final MemorySegment memory;
    final MemoryRegion region;

    private final Arena arena = Arena.ofShared();
    private final Deque<AutoCloseable> opened = new ArrayDeque<>();
    private final Polling polling;

    Side(Device device) {
        this.device = device;
        this.domain = device.allocateProtectionDomain();
        this.completions = device.createCompletionQueue(CQE);
        this.memory = arena.allocate(MEMORY, 4096);
        this.region = domain.registerMemory(memory, ALL);
        this.polling = new Polling(completions);
    }

    long address(long offset) {
        return memory.address() + offset;
    }

    QueuePair queuePair(QpOptions options) {
        return keep(domain.createQueuePair(completions, completions, options));
    }

    MemoryRegion register(MemorySegment segment, Set<AccessFlag> access) {
        return keep(domain.registerMemory(segment, access));
    }

    MemorySegment allocate(long bytes) {
        return arena.allocate(bytes, 4096);
    }

    /** Closes {@code object} with this side, after everything kept later. */
    <T extends AutoCloseable> T keep(T object) {
        opened.push(object);
        return object;
    }

    /** The next completion; fails if none comes in time. */
    WorkCompletion next() {
        return polling.next();
    }

    /** Fails if a completion comes within a few polls of a {@code quiet} queue. */
    Polling polling() {
        return polling;
    }

    /** Fills {@code length} bytes with a pattern that depends on their offset and {@code seed}. */
    void fill(long offset, int length, int seed) {
        for (int i = 0; i < length; i++) {
            memory.set(JAVA_BYTE, offset + i, pattern(i, seed));
        }
    }

    /** Index of the first byte that is not what {@link #fill} wrote, or -1. */
    int mismatch(long offset, int length, int seed) {
        for (int i = 0; i < length; i++) {
            if (memory.get(JAVA_BYTE, offset + i) != pattern(i, seed)) {
                return i;
            }
        }
        return -1;
    }

    private static byte pattern(int index, int seed) {
        return (byte) ((index * 31 + (index >>> 8) * 7 + seed * 101) ^ 0x5A);
    }

    @Override
    public void close() {
        try {
            while (!opened.isEmpty()) {
                opened.pop().close();
            }
            region.close();
            completions.close();
            domain.close();
            arena.close();
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
