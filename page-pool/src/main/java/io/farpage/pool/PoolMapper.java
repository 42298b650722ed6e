package io.farpage.pool;

import io.farpage.linux.Errno;
import io.farpage.linux.Memory;
import io.farpage.linux.MemoryHeadroom;
import io.farpage.linux.SystemCall;
import io.farpage.pool.hugepages.HugepageCounts;
import io.farpage.pool.hugepages.HugepageSize;
import io.farpage.pool.hugepages.Hugepages;
import java.util.Optional;
import java.util.OptionalInt;

/** Tries to map and populate a pool's memory in one particular way; whatever fails, nothing stays mapped. */
final class PoolMapper {
    private final PoolLayout layout;
    private final OptionalInt numaNode;
    private final Hugepages hugepages;

    PoolMapper(PoolLayout layout, OptionalInt numaNode, Hugepages hugepages) {
        this.layout = layout;
        this.numaNode = numaNode;
        this.hugepages = hugepages;
    }

    /** With hugetlb pages. The kernel sets them aside in mmap, so a lack of them is an error of mmap. */
    MapAttempt hugetlb(HugepageSize size) throws NumaNodeException {
        long bytes = layout.hugepages(size) * size.bytes();
        SystemCall call = Memory.mmap(bytes, Memory.MAP_HUGETLB | size.shift() << Memory.MAP_HUGE_SHIFT);
        if (!call.succeeded()) {
            return refused(size, "mmap: " + call.error());
        }
        Mapping mapping = Mapping.at(call.value(), bytes);
        Optional<BackingStep> unbound = prepare(mapping);
        Optional<String> failure = Population.populate(mapping.address(), bytes);
        if (failure.isPresent()) {
            mapping.close();
            return refused(size, failure.get());
        }
        return new MapAttempt.Mapped(mapping, unbound);
    }

    /** With anonymous memory, transparent hugepages welcome or not. */
    MapAttempt anonymous(boolean transparent) throws NumaNodeException {
        long bytes = layout.bytes();
        Optional<MemoryHeadroom> headroom =
                MemoryHeadroom.ofThisProcess().filter(memory -> memory.bytes() < layout.bodyBytes());
        if (headroom.isPresent()) {
            return refused("the pool needs %d bytes, %d are left (%s)"
                    .formatted(
                            layout.bodyBytes(),
                            headroom.get().bytes(),
                            headroom.get().source()));
        }
        // The kernel aligns to base pages only: map 2 MiB more and cut off both ends.
        SystemCall call = Memory.mmap(bytes + PoolLayout.ALIGNMENT, 0);
        if (!call.succeeded()) {
            return refused("mmap of %d bytes: %s".formatted(bytes, call.error()));
        }
        Mapping mapping = Mapping.at(trim(call.value(), bytes), bytes);
        long body = mapping.address() + PoolLayout.exportedOffset();
        Memory.madvise(body, layout.bodyBytes(), transparent ? Memory.MADV_HUGEPAGE : Memory.MADV_NOHUGEPAGE);
        Memory.madvise(mapping.address(), PoolLayout.ALIGNMENT, Memory.MADV_NOHUGEPAGE);
        Optional<BackingStep> unbound = prepare(mapping);
        Optional<String> failure = Population.populate(body, layout.bodyBytes())
                .or(() -> Population.populate(mapping.address(), PoolLayout.HEADER_BYTES));
        if (failure.isPresent()) {
            mapping.close();
            return refused(failure.get());
        }
        return new MapAttempt.Mapped(mapping, unbound);
    }

    private static long trim(long address, long bytes) {
        long start = Math.ceilDiv(address, PoolLayout.ALIGNMENT) * PoolLayout.ALIGNMENT;
        long end = address + bytes + PoolLayout.ALIGNMENT;
        if (start > address) {
            Mapping.unmap(address, start - address);
        }
        if (end > start + bytes) {
            Mapping.unmap(start + bytes, end - start - bytes);
        }
        return start;
    }

    /** Everything that must come before the first touch. */
    private Optional<BackingStep> prepare(Mapping mapping) throws NumaNodeException {
        // Both are wishes: an old kernel that refuses them has a working pool all the same.
        Memory.madvise(mapping.address(), mapping.bytes(), Memory.MADV_DONTFORK);
        Memory.madvise(mapping.address(), mapping.bytes(), Memory.MADV_DONTDUMP);
        if (numaNode.isEmpty()) {
            return Optional.empty();
        }
        int node = numaNode.getAsInt();
        SystemCall bound = Memory.mbind(mapping.address(), mapping.bytes(), node);
        if (bound.failedWith(Errno.EPERM) || bound.failedWith(Errno.ENOSYS)) {
            return Optional.of(new BackingStep(
                    BackingStep.What.NOT_NUMA_BOUND,
                    "mbind to NUMA node %d: %s, as in containers whose seccomp profile forbids it or kernels without NUMA"
                            .formatted(node, bound.error()),
                    "start it under numactl --membind=" + node));
        }
        if (!bound.succeeded()) {
            mapping.close();
            throw NumaNodeException.of(node, bound);
        }
        return Optional.empty();
    }

    private MapAttempt refused(HugepageSize size, String cause) {
        long wanted = layout.hugepages(size);
        Optional<HugepageCounts> counts = hugepages.counts(size);
        long available = counts.map(HugepageCounts::available).orElse(0L);
        String problem = "the pool needs %d hugepages of %s; %s (%s)"
                .formatted(
                        wanted,
                        size,
                        counts.map(c -> "of %d there are %d free and not reserved".formatted(c.total(), c.available()))
                                .orElse("this kernel offers none of that size"),
                        cause);
        String fix = counts.isPresent() ? hugepages.reserveCommand(size, wanted) : "use another hugepage size, or none";
        return new MapAttempt.Refused(
                size == HugepageSize.ONE_GIB ? BackingStep.What.NO_HUGETLB_1G : BackingStep.What.NO_HUGETLB_2M,
                problem,
                new HugepagesUnavailableException(size, wanted, available, problem, fix));
    }

    private MapAttempt refused(String problem) {
        return new MapAttempt.Refused(
                BackingStep.What.NOT_ALL_TRANSPARENT,
                problem,
                new MemoryUnavailableException(
                        layout.bodyBytes(), problem, "make the pool smaller, or raise the limit named"));
    }
}
