package io.farpage.it.harness;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.linux.Errno;
import io.farpage.linux.FileIo;
import io.farpage.linux.uffd.MemoryFile;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A thread that writes whole pages of paged memory, round after round, each round with another byte. The kernel writes
 * for it, so a page that is lost gives EFAULT where a store would give SIGBUS; the thread ends then.
 */
public final class UniformPages implements AutoCloseable {
    private static final int PAGE = 4096;
    private static final int ROUNDS = 200;

    private final PagedRam ram;
    private final int pages;
    private final MemoryFile source = MemoryFile.create("rounds", (long) ROUNDS * PAGE);
    private final AtomicLong written = new AtomicLong();
    private final Thread thread;
    private volatile long refusal;
    private volatile boolean stopping;

    private UniformPages(PagedRam ram, int pages) {
        this.ram = ram;
        this.pages = pages;
        Errno errno = Errno.ofThread();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment page = arena.allocate(PAGE, 8);
            for (int round = 0; round < ROUNDS; round++) {
                page.fill((byte) (round + 1));
                assertEquals(PAGE, FileIo.write(errno, source.fd(), page.address(), PAGE));
            }
        }
        thread = Thread.ofPlatform().daemon().name("uniform-pages").start(this::write);
    }

    /** Begins to write. */
    public static UniformPages start(PagedRam ram, int pages) {
        return new UniformPages(ram, pages);
    }

    /** Whether a page is of one round. */
    public static boolean isUniform(byte[] page) {
        for (byte b : page) {
            if (b != page[0]) {
                return false;
            }
        }
        return true;
    }

    private void write() {
        for (long round = 0; !stopping; round++) {
            for (int page = 0; page < pages && !stopping; page++) {
                long result = ram.copyIn(page, source, round % ROUNDS * PAGE);
                if (result != PAGE) {
                    refusal = result;
                    return;
                }
                written.incrementAndGet();
            }
        }
    }

    /** Waits until all pages were written {@code rounds} times. */
    public void awaitRounds(int rounds) {
        await(rounds + " rounds", Deadlines.LONG).until(() -> written.get() >= (long) rounds * pages);
    }

    /** Waits until the kernel has refused a page, as one that is lost. */
    public void awaitRefusal() {
        await("a page that is lost", Deadlines.LONG)
                .pollInterval(Duration.ofMillis(20))
                .until(() -> refusal == -Errno.EFAULT);
    }

    /** Stops writing. No page may be awaited for ever. */
    @Override
    public void close() {
        stopping = true;
        await("the end of the thread that writes", Deadlines.LONG).until(() -> !thread.isAlive());
        source.close();
    }
}
