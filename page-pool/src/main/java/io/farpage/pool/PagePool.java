package io.farpage.pool;

import io.farpage.linux.Smaps;
import io.farpage.pool.frames.FrameAllocator;
import io.farpage.pool.frames.FrameShares;
import io.farpage.pool.header.PoolHeader;
import io.farpage.pool.hugepages.HugepageSize;
import io.farpage.pool.hugepages.Hugepages;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.LongAdder;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One node's pool: a single mapping of three parts, each to be registered with devices as a memory region of its own.
 *
 * <pre>
 * offset 0                 header page, 4 KiB: remote read. The rest of the first 2 MiB is unused.
 * offset 2 MiB             exported frames: remote read and write. Starts at a multiple of 2 MiB, in the address too.
 * offset 2 MiB + exported  staging frames: local only. Starts at a multiple of the page size.
 * </pre>
 *
 * <p>All pages are populated before {@link #open} returns, so later accesses do not fault, and locked if the
 * process may lock that much memory.
 *
 * <p><b>Zeroing.</b> A pool starts as zeros. {@link #zero} zeroes an exported frame that changes its owner, before the
 * coordinator gives the frame to another space. Staging frames are not zeroed: peers cannot reach them, and a fetch
 * overwrites the whole frame and completes before any part of the frame is installed.
 *
 * <p><b>Closing.</b> Deregister the pool's regions from devices before {@link #close}: a raw address is a number and
 * cannot be revoked. Segments can: they share one arena, and after close every access through them throws
 * IllegalStateException instead of touching unmapped memory. This holds for an access that races with the close,
 * because the close waits for a safepoint handshake of all threads. On the hot path an access costs one load and
 * compare of the arena's state; the compiler hoists it out of loops, and bulk operations do it once.
 *
 * <p>Thread-safe, close included.
 */
public final class PagePool implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(PagePool.class);

    private final PoolConfig config;
    private final PoolLayout layout;
    private final long id;
    private final Optional<PoolFile> file;
    private final Mapping mapping;
    private final Backing backing;
    private final long hugepages;
    private final boolean locked;
    private final List<BackingStep> steps;
    private final MemorySegment header;
    private final MemorySegment exported;
    private final MemorySegment staging;
    private final FrameAllocator stagingFrames;
    private final FrameShares stagingShares;
    /**
     * Bytes that one call fills: a thread in it reaches no safepoint, and holds up every thread of the process until it
     * returns.
     */
    private static final long ZEROED_AT_ONCE = 1 << 20;

    private final LongAdder zeroedBytes = new LongAdder();

    private PagePool(PoolConfig config, MapAttempt.Mapped mapped, Backing wished, List<BackingStep> stepsSoFar, long id)
            throws MemoryLockException {
        this.config = config;
        this.id = id;
        this.file = mapped.file();
        Mapping mapping = mapped.mapping();
        this.layout = PoolLayout.of(config);
        this.mapping = mapping;
        List<BackingStep> all = new ArrayList<>(stepsSoFar);
        TransparentPages transparent = TransparentPages.NONE;
        if (wished == Backing.TRANSPARENT) {
            transparent = TransparentPages.of(
                    Smaps.transparentHugeBytes(mapping.address(), mapping.bytes()), layout.bodyBytes());
            transparent.step().ifPresent(all::add);
        }
        this.backing = wished == Backing.TRANSPARENT && transparent.bytes() == 0 ? Backing.BASE : wished;
        this.hugepages = switch (backing) {
            case HUGETLB_1G -> layout.hugepages(HugepageSize.ONE_GIB);
            case HUGETLB_2M -> layout.hugepages(HugepageSize.TWO_MIB);
            case TRANSPARENT -> transparent.bytes() / HugepageSize.TWO_MIB.bytes();
            case BASE -> 0;
        };
        Optional<BackingStep> unlocked = PageLock.lock(mapping, layout, backing, config.lock());
        unlocked.ifPresent(all::add);
        this.locked = backing.isHugetlb() || unlocked.isEmpty();
        this.steps = List.copyOf(all);
        MemorySegment whole = mapping.segment();
        this.header = whole.asSlice(0, PoolLayout.HEADER_BYTES);
        this.exported = whole.asSlice(PoolLayout.exportedOffset(), layout.exportedBytes());
        this.staging = whole.asSlice(layout.stagingOffset(), layout.stagingBytes());
        this.stagingFrames = new FrameAllocator((int) (layout.stagingBytes() / config.frameBytes()));
        this.stagingShares = new FrameShares(stagingFrames.capacity());
        new PoolHeader(config.nodeId(), config.incarnation(), id, config.frameBytes(), config.exportedBytes())
                .writeTo(header);
        if (file.isPresent() && id == config.incarnation()) {
            new PoolHeader(config.nodeId(), id, config.frameBytes(), config.exportedBytes())
                    .writeTo(whole.asSlice(PoolLayout.IDENTITY_OFFSET, PoolHeader.BYTES));
        }
    }

    /**
     * Maps, populates and locks a pool. Logs each preferred property that the pool lacks, once, at WARN.
     *
     * @throws PoolException if a required property is not available; nothing stays mapped then
     */
    public static PagePool open(PoolConfig config) throws PoolException {
        return open(config, /* inFile= */ false);
    }

    /** As {@link #open}, in a {@link #file}, so that the pool can outlive this process. */
    public static PagePool openInFile(PoolConfig config) throws PoolException {
        return open(config, /* inFile= */ true);
    }

    /**
     * Maps a pool that an earlier process of this node has opened with {@link #openInFile}. Exported frames have what
     * they had; staging frames are all free. The header is written anew, for {@link PoolConfig#incarnation()}. The file
     * is this pool's from now on, also if this fails.
     *
     * @throws KeptPoolException if it is not a whole pool of this node with the configured sizes; it is not changed
     *     then
     * @throws PoolException if it cannot be mapped or locked as configured
     */
    public static PagePool adopt(PoolConfig config, PoolFile kept) throws PoolException {
        PoolMapper mapper = mapper(config, /* inFile= */ true);
        try {
            KeptPoolCheck.length(config, kept);
        } catch (KeptPoolException e) {
            kept.close();
            throw e;
        }
        return switch (mapper.adopt(kept)) {
            case MapAttempt.Refused refused -> throw refused.failure();
            case MapAttempt.Mapped mapped -> {
                try {
                    PoolHeader identity = KeptPoolCheck.identity(config, mapped.mapping());
                    Backing backing = kept.hugepages().map(Backing::of).orElse(Backing.TRANSPARENT);
                    List<BackingStep> steps = new ArrayList<>();
                    mapped.unbound().ifPresent(steps::add);
                    yield open(config, mapped, backing, steps, identity.pool());
                } catch (KeptPoolException e) {
                    discard(mapped);
                    throw e;
                }
            }
        };
    }

    /** Whether a file of {@code bytes} bytes can be a pool as configured, on pages of some size. */
    public static boolean mayHaveLength(PoolConfig config, long bytes) {
        PoolLayout layout = PoolLayout.of(config);
        return layout.fileBytes(Optional.empty()) == bytes
                || Arrays.stream(HugepageSize.values()).anyMatch(size -> layout.fileBytes(Optional.of(size)) == bytes);
    }

    private static PoolMapper mapper(PoolConfig config, boolean inFile) {
        return new PoolMapper(PoolLayout.of(config), config.numaNode(), Hugepages.ofThisMachine(), inFile);
    }

    private static void discard(MapAttempt.Mapped mapped) {
        mapped.mapping().close();
        mapped.file().ifPresent(PoolFile::close);
    }

    private static PagePool open(PoolConfig config, boolean inFile) throws PoolException {
        List<BackingStep> steps = new ArrayList<>();
        PoolMapper mapper = mapper(config, inFile);
        for (HugepageSize size : hugetlbSizes(config)) {
            switch (mapper.hugetlb(size)) {
                case MapAttempt.Mapped mapped -> {
                    mapped.unbound().ifPresent(steps::add);
                    return open(config, mapped, Backing.of(size), steps, config.incarnation());
                }
                case MapAttempt.Refused refused -> {
                    if (config.hugepages() == HugepagePolicy.REQUIRE) {
                        throw refused.failure();
                    }
                    steps.add(refused.step());
                }
            }
        }
        boolean transparent = config.hugepages() == HugepagePolicy.PREFER;
        switch (mapper.anonymous(transparent)) {
            case MapAttempt.Mapped mapped -> {
                mapped.unbound().ifPresent(steps::add);
                return open(
                        config, mapped, transparent ? Backing.TRANSPARENT : Backing.BASE, steps, config.incarnation());
            }
            case MapAttempt.Refused refused -> throw refused.failure();
        }
    }

    private static PagePool open(
            PoolConfig config, MapAttempt.Mapped mapped, Backing backing, List<BackingStep> steps, long id)
            throws MemoryLockException {
        PagePool pool;
        try {
            pool = new PagePool(config, mapped, backing, steps, id);
        } catch (MemoryLockException | RuntimeException | Error e) {
            discard(mapped);
            throw e;
        }
        pool.steps.forEach(step -> LOG.warn("pool of {} bytes on {}: {}", pool.layout.bodyBytes(), pool.backing, step));
        return pool;
    }

    private static List<HugepageSize> hugetlbSizes(PoolConfig config) {
        return switch (config.hugepages()) {
            case OFF -> List.of();
            case REQUIRE -> List.of(config.hugepageSize());
            case PREFER ->
                config.hugepageSize() == HugepageSize.ONE_GIB
                        ? List.of(HugepageSize.ONE_GIB, HugepageSize.TWO_MIB)
                        : List.of(HugepageSize.TWO_MIB);
        };
    }

    /** What the pool was asked to be. */
    public PoolConfig config() {
        return config;
    }

    /** The pool, as extents name it: the incarnation of the agent that made it. */
    public long id() {
        return id;
    }

    /** The file that it is in; empty if it is memory of this process alone. */
    public Optional<PoolFile> file() {
        return file;
    }

    /** What this agent leaves for the one that adopts the pool; empty if the pool is memory of this process alone. */
    public Optional<PoolRecords> records() {
        return file.map(_ -> PoolRecords.in(mapping.segment()));
    }

    /** Bytes of one frame, of either part. */
    public int frameBytes() {
        return config.frameBytes();
    }

    /** The header page, 4 KiB, already written; see {@link PoolHeader}. */
    public MemorySegment header() {
        return header;
    }

    /** The exported part. */
    public MemorySegment exported() {
        return exported;
    }

    /** The staging part. */
    public MemorySegment staging() {
        return staging;
    }

    /** The address of the header page, for registration. */
    public long headerAddress() {
        return header.address();
    }

    /** The address of the exported part, for registration. */
    public long exportedAddress() {
        return exported.address();
    }

    /** The address of the staging part, for registration. */
    public long stagingAddress() {
        return staging.address();
    }

    /** Who holds which staging frame. */
    public FrameAllocator stagingFrames() {
        return stagingFrames;
    }

    /** How the pagers of this node divide the staging frames. */
    public FrameShares stagingShares() {
        return stagingShares;
    }

    /** Where a frame starts, in bytes from the start of its part. */
    public long offset(int frame) {
        return (long) frame * config.frameBytes();
    }

    /**
     * Zeroes a range of the exported part. No peer may have a write to it under way.
     *
     * @param offset in bytes from the start of the exported part
     * @param length in bytes
     * @throws IndexOutOfBoundsException if the range is not within the exported part
     */
    public void zero(long offset, long length) {
        MemorySegment range = exported.asSlice(offset, length);
        for (long at = 0; at < length; at += ZEROED_AT_ONCE) {
            range.asSlice(at, Math.min(ZEROED_AT_ONCE, length - at)).fill((byte) 0);
        }
        zeroedBytes.add(length);
    }

    /** What the pages are. */
    public Backing backing() {
        return backing;
    }

    /** What was preferred and not had, in the order in which it was tried. */
    public List<BackingStep> steps() {
        return steps;
    }

    /** The numbers of this moment; works after close, too. */
    public PoolStatistics statistics() {
        return new PoolStatistics(
                layout.exportedBytes(),
                layout.stagingBytes(),
                mapping.bytes(),
                backing,
                hugepages,
                locked,
                PoolStatistics.Frames.of(stagingFrames),
                zeroedBytes.sum(),
                steps);
    }

    /**
     * Unmaps the pool, and closes its file. Idempotent.
     *
     * @throws IllegalStateException if a call in native code holds one of the segments at this moment; nothing is
     *     unmapped then, and close can be tried again
     */
    @Override
    public synchronized void close() {
        if (mapping.arena().scope().isAlive()) {
            mapping.close();
            file.ifPresent(PoolFile::close);
        }
    }
}
