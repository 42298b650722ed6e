package io.farpage.pool;

import io.farpage.linux.Errno;
import io.farpage.linux.Memory;
import io.farpage.linux.MemoryHeadroom;
import io.farpage.linux.SharedMemory;
import io.farpage.linux.SystemCall;
import io.farpage.pool.hugepages.HugepageCounts;
import io.farpage.pool.hugepages.HugepageSize;
import io.farpage.pool.hugepages.Hugepages;
import io.farpage.pool.hugepages.HugetlbLimit;
import java.util.Optional;
import java.util.OptionalInt;

/** Tries to map and populate a pool's memory in one particular way; whatever fails, nothing stays mapped. */
final class PoolMapper {
    private final PoolLayout layout;
    private final OptionalInt numaNode;
    private final Hugepages hugepages;
    private final boolean inFile;

    /** @param inFile whether to map a {@link PoolFile} instead of anonymous memory */
    PoolMapper(PoolLayout layout, OptionalInt numaNode, Hugepages hugepages, boolean inFile) {
        this.layout = layout;
        this.inFile = inFile;
        this.numaNode = numaNode;
        this.hugepages = hugepages;
    }

    /** With hugetlb pages. The kernel sets them aside in mmap, so a lack of them is an error of mmap. */
    MapAttempt hugetlb(HugepageSize size) throws NumaNodeException {
        if (inFile) {
            return switch (PoolFile.create(layout.fileBytes(Optional.of(size)), Optional.of(size))) {
                case PoolFile.Made.Refused(String cause) -> refused(size, cause);
                case PoolFile.Made.File(PoolFile file) -> hugetlb(file, size);
            };
        }
        long bytes = layout.hugepages(size) * size.bytes();
        SystemCall call = Memory.mmap(bytes, Memory.MAP_HUGETLB | size.shift() << Memory.MAP_HUGE_SHIFT);
        return hugetlb(call, Optional.empty(), size);
    }

    private MapAttempt hugetlb(PoolFile file, HugepageSize size) throws NumaNodeException {
        return hugetlb(SharedMemory.map(file.fd(), file.length()), Optional.of(file), size);
    }

    private MapAttempt hugetlb(SystemCall call, Optional<PoolFile> file, HugepageSize size) throws NumaNodeException {
        if (!call.succeeded()) {
            file.ifPresent(PoolFile::close);
            return refused(size, "mmap: " + call.error());
        }
        long bytes = layout.hugepages(size) * size.bytes();
        Mapping mapping = Mapping.at(call.value(), bytes);
        Optional<BackingStep> unbound = prepare(mapping, file);
        Optional<String> failure = Population.populate(mapping.address(), bytes);
        if (failure.isPresent()) {
            discard(mapping, file);
            return refused(size, failure.get());
        }
        return new MapAttempt.Mapped(mapping, unbound, file);
    }

    private static void discard(Mapping mapping, Optional<PoolFile> file) {
        mapping.close();
        file.ifPresent(PoolFile::close);
    }

    /** A file that an earlier process has filled; its length fits. */
    MapAttempt adopt(PoolFile file) throws NumaNodeException {
        return file.hugepages().isPresent()
                ? hugetlb(file, file.hugepages().get())
                : anonymous(/* transparent= */ true, Optional.of(file));
    }

    /** With anonymous memory, transparent hugepages welcome or not. */
    MapAttempt anonymous(boolean transparent) throws NumaNodeException {
        Optional<MemoryHeadroom> headroom =
                MemoryHeadroom.ofThisProcess().filter(memory -> memory.bytes() < layout.bodyBytes());
        if (headroom.isPresent()) {
            return refused("the pool needs %d bytes, %d are left (%s)"
                    .formatted(
                            layout.bodyBytes(),
                            headroom.get().bytes(),
                            headroom.get().source()));
        }
        if (inFile) {
            return switch (PoolFile.create(layout.fileBytes(Optional.empty()), Optional.empty())) {
                case PoolFile.Made.Refused(String cause) -> refused(cause);
                case PoolFile.Made.File(PoolFile file) -> anonymous(transparent, Optional.of(file));
            };
        }
        return anonymous(transparent, Optional.empty());
    }

    private MapAttempt anonymous(boolean transparent, Optional<PoolFile> file) throws NumaNodeException {
        long bytes = layout.bytes();
        // The kernel aligns to base pages only: map 2 MiB more and cut off both ends.
        SystemCall call = Memory.mmap(bytes + PoolLayout.ALIGNMENT, 0);
        if (!call.succeeded()) {
            file.ifPresent(PoolFile::close);
            return refused("mmap of %d bytes: %s".formatted(bytes, call.error()));
        }
        Mapping mapping = Mapping.at(trim(call.value(), bytes), bytes);
        if (file.isPresent()) {
            SystemCall replaced =
                    SharedMemory.mapAt(mapping.address(), file.get().fd(), bytes);
            if (!replaced.succeeded()) {
                discard(mapping, file);
                return refused("mmap of %d bytes of a memfd: %s".formatted(bytes, replaced.error()));
            }
        }
        long body = mapping.address() + PoolLayout.exportedOffset();
        Memory.madvise(body, layout.bodyBytes(), transparent ? Memory.MADV_HUGEPAGE : Memory.MADV_NOHUGEPAGE);
        Memory.madvise(mapping.address(), PoolLayout.ALIGNMENT, Memory.MADV_NOHUGEPAGE);
        Optional<BackingStep> unbound = prepare(mapping, file);
        long front = file.isPresent() ? PoolLayout.IDENTITY_OFFSET + PoolLayout.HEADER_BYTES : PoolLayout.HEADER_BYTES;
        Optional<String> failure =
                Population.populate(body, layout.bodyBytes()).or(() -> Population.populate(mapping.address(), front));
        if (failure.isPresent()) {
            discard(mapping, file);
            return refused(failure.get());
        }
        return new MapAttempt.Mapped(mapping, unbound, file);
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
    private Optional<BackingStep> prepare(Mapping mapping, Optional<PoolFile> file) throws NumaNodeException {
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
                    ("mbind to NUMA node %d: %s, as in containers whose seccomp profile forbids it or kernels without"
                                    + " NUMA")
                            .formatted(node, bound.error()),
                    "start it under numactl --membind=" + node));
        }
        if (!bound.succeeded()) {
            discard(mapping, file);
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
        long bytes = wanted * size.bytes();
        Optional<HugetlbLimit> group = HugetlbLimit.tightest(size).filter(limit -> limit.left() < bytes);
        if (group.isPresent() && counts.isPresent()) {
            problem += "; the control group leaves %d bytes (%s = %d)"
                    .formatted(
                            group.get().left(), group.get().file(), group.get().bytes());
            String raise = group.get().raiseCommand(bytes);
            fix = available < wanted ? fix + "; " + raise : raise;
        }
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
