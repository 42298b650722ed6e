package io.farpage.it.harness;

import static io.farpage.it.deadlines.Deadlines.await;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.guest.vmm.GuestMemory;
import io.farpage.guest.vmm.Handoff;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.linux.Errno;
import io.farpage.linux.Libc;
import io.farpage.linux.uffd.MemoryFile;
import io.farpage.linux.uffd.PagedAccess;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Memory of this process that an agent pages, threads that read, write and give up its pages, and what each of them
 * must hold. Outlives the agent: threads that wait for it then stand still in the kernel, and the memory file can be
 * looked at without touching the memory.
 */
public final class ShadowedRam implements AutoCloseable {
    private static final int PAGE = 4096;
    private static final int SEEK_DATA = 3;
    /** A thread that has done nothing for so long waits for the agent. */
    private static final Duration STILL = Duration.ofMillis(60);

    private static final Duration TIMEOUT = Duration.ofSeconds(20);

    private static final MethodHandle lseek$mh =
            Libc.capturing("lseek", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_INT));

    private final GuestMemory memory;
    private final Handoff handoff;
    private final MemoryFile file;
    private final PageVersions versions;
    private final MappedChunks chunks;
    private final List<Worker> workers;
    private final List<Thread> threads;
    private final AtomicLong moves = new AtomicLong();
    private Optional<Thread> mover = Optional.empty();
    private volatile boolean stopping;

    private ShadowedRam(GuestMemory memory, Handoff handoff, int pages, int threadCount, long seed) {
        this.memory = memory;
        chunks = new MappedChunks(memory.address(), (int) (memory.bytes() / memory.pageBytes()), memory.pageBytes());
        this.handoff = handoff;
        file = memory.file().orElseThrow();
        versions = new PageVersions(pages);
        workers = IntStream.range(0, threadCount)
                .mapToObj(self -> new Worker(self, threadCount, pages, seed + self))
                .toList();
        threads = workers.stream()
                .map(worker -> Thread.ofPlatform().name("guest").daemon().start(worker))
                .toList();
    }

    /** Hands memory over to the agent that listens at {@code socket}, and has threads work on it. */
    public static ShadowedRam start(Path socket, int pages, int threads, long seed) {
        return start(socket, GuestMemory.Backing.MEMFD, pages, threads, seed);
    }

    /** As {@link #start(Path, int, int, long)}, with a backing that is a file. */
    public static ShadowedRam start(Path socket, GuestMemory.Backing backing, int pages, int threads, long seed) {
        GuestMemory memory = GuestMemory.map(backing, (long) pages * backing.pageBytes());
        try {
            return new ShadowedRam(memory, Handoff.of(memory, socket), pages, threads, seed);
        } catch (RuntimeException e) {
            memory.close();
            throw e;
        }
    }

    /**
     * As {@link #start(Path, int, int, long)}, with a thread that unmaps the last pages, and then moves others again
     * and again.
     *
     * @param pages a multiple of {@link MappedChunks#PAGES}
     */
    public static ShadowedRam startMoving(Path socket, int pages, int threads, long seed) {
        GuestMemory memory = GuestMemory.map(GuestMemory.Backing.MEMFD, (long) pages * PAGE);
        try {
            ShadowedRam ram =
                    new ShadowedRam(memory, Handoff.of(memory, socket), pages - MappedChunks.PAGES, threads, seed);
            SplittableRandom random = new SplittableRandom(seed);
            ram.mover = Optional.of(Thread.ofPlatform().name("mover").daemon().start(() -> ram.move(random)));
            return ram;
        } catch (RuntimeException e) {
            memory.close();
            throw e;
        }
    }

    private void move(SplittableRandom random) {
        chunks.unmap(chunks.count() - 1);
        while (!stopping) {
            chunks.move(random.nextInt(chunks.count() - 1));
            moves.incrementAndGet();
        }
    }

    /** How often pages were moved so far. */
    public long moves() {
        return moves.get();
    }

    /**
     * Closes this process's descriptor of the userfaultfd: the kernel fills pages with zeros once the agent and its
     * keeper have closed theirs.
     */
    public void forgetUserfaultfd() {
        handoff.close();
    }

    /** Pages that each thread has touched so far. */
    public List<Long> operationsOfThreads() {
        return workers.stream().map(worker -> worker.operations.get()).toList();
    }

    /** Pages touched so far. */
    public long operations() {
        return workers.stream().mapToLong(worker -> worker.operations.get()).sum();
    }

    /** What threads have read that they must not have; empty if all is well. */
    public List<String> mismatches() {
        return workers.stream().flatMap(worker -> worker.mismatch.stream()).toList();
    }

    /**
     * Waits until every thread has gone on for 50 operations.
     *
     * @param since {@link System#nanoTime} of the moment that the time is taken from
     * @return nanoseconds that it took
     */
    public long awaitProgress(long since) {
        List<Long> before = operationsOfThreads();
        return await("the guest goes on", Deadlines.LONG.multipliedBy(2))
                .pollInterval(Duration.ofMillis(5))
                .until(
                        () -> {
                            List<Long> now = operationsOfThreads();
                            for (int i = 0; i < now.size(); i++) {
                                if (now.get(i) < before.get(i) + 50) {
                                    return 0L;
                                }
                            }
                            return System.nanoTime() - since;
                        },
                        pause -> pause > 0);
    }

    /** Stops the threads, and waits until each has ended or stands still. The agent is dead by now. */
    public void stop() {
        stopping = true;
        for (int i = 0; i < threads.size(); i++) {
            Thread thread = threads.get(i);
            AtomicLong operations = workers.get(i).operations;
            AtomicLong before = new AtomicLong(-1);
            await("a guest's thread stands still", TIMEOUT)
                    .pollInterval(STILL)
                    .until(() -> !thread.isAlive() || before.getAndSet(operations.get()) == operations.get());
        }
    }

    /** A page as it is in the memory file; empty if it is a hole. Does not touch the memory. */
    public Optional<byte[]> inFile(int page) {
        if (!isData(page)) {
            return Optional.empty();
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment buffer = arena.allocate(PAGE);
            long got = file.read((long) page * PAGE, buffer.address(), PAGE);
            if (got != PAGE) {
                throw new IllegalStateException("pread of page " + page + ": " + got);
            }
            return Optional.of(buffer.toArray(ValueLayout.JAVA_BYTE));
        }
    }

    private boolean isData(int page) {
        long offset = (long) page * PAGE;
        Errno errno = Errno.ofThread();
        try {
            return errno.check((long) lseek$mh.invokeExact(errno.segment(), file.fd(), offset, SEEK_DATA)) == offset;
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** What pages must hold. */
    public PageVersions versions() {
        return versions;
    }

    /** Lets the threads go: with the last descriptor the kernel resolves their faults. */
    @Override
    public void close() {
        stopping = true;
        handoff.close();
        try {
            for (Thread thread : Stream.concat(threads.stream(), mover.stream()).toList()) {
                Deadlines.join("the end of a guest's thread", TIMEOUT, thread);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
        if (mover.isEmpty()) {
            memory.close();
        } else {
            // Other memory may be mapped by now where pages were before they moved.
            chunks.unmapFirst(chunks.count() - 1);
            file.close();
        }
    }

    /** A thread, and the pages whose number leaves its own remainder. */
    private final class Worker implements Runnable {
        private final int self;
        private final int step;
        private final int pages;
        private final SplittableRandom random;
        private final AtomicLong operations = new AtomicLong();
        private final List<String> mismatch = new ArrayList<>(1);
        private final MemorySegment buffer = Arena.ofAuto().allocate(memory.pageBytes(), 8);

        Worker(int self, int step, int pages, long seed) {
            this.self = self;
            this.step = step;
            this.pages = pages;
            this.random = new SplittableRandom(seed);
        }

        @Override
        public void run() {
            while (!stopping && mismatch.isEmpty()) {
                int page = self + random.nextInt(pages / step) * step;
                chunks.use(page, address -> operate(page, address));
                operations.incrementAndGet();
            }
        }

        private void operate(int page, long address) {
            int what = random.nextInt(100);
            if (what < 35) {
                PagedAccess.read(address, buffer);
                found(versions.check(page, buffer.toArray(ValueLayout.JAVA_BYTE)));
            } else if (what < 38 && memory.pageBytes() > PAGE) {
                PagedAccess.remove(address + memory.pageBytes() / 4, memory.pageBytes() / 4);
                PagedAccess.read(address, buffer);
                found(versions.checkCut(page, buffer.toArray(ValueLayout.JAVA_BYTE)));
            } else if (what < 97) {
                long version = what < 85 ? 1 + operations.get() : 0;
                PageVersions.fill(buffer, page, version);
                versions.begin(page, version);
                PagedAccess.write(address, buffer);
                versions.end(page);
            } else {
                versions.beginRemoval(page);
                PagedAccess.remove(address, memory.pageBytes());
                versions.end(page);
            }
        }

        /** Once the agent is gone and all its descriptors are closed, the kernel fills pages with zeros. */
        private void found(Optional<String> difference) {
            difference.filter(_ -> !stopping).ifPresent(mismatch::add);
        }
    }
}
