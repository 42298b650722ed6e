package io.farpage.guest.stress;

import io.farpage.guest.command.UsageException;
import io.farpage.guest.vmm.GuestMemory;
import io.farpage.guest.vmm.GuestMemory.Backing;
import io.farpage.guest.vmm.Handoff;
import io.farpage.guest.vmm.MemoryOptions;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import tools.jackson.databind.json.JsonMapper;

/** {@code page-bench stress}. */
@Command(
        name = "stress",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description =
                "Reads, writes, zeroes and discards pages that an agent serves, in random order, and compares every"
                        + " page it reads with a shadow copy. Prints its seed, and one line of JSON.")
public final class StressCommand implements Callable<Integer> {
    private static final int WRONG = 1;

    private static final long DEFAULT_MEMORY = 16L << 20;
    private static final Duration DEFAULT_TIMEOUT = Duration.ofMinutes(5);

    @Mixin
    private final MemoryOptions options = new MemoryOptions();

    @Option(names = "--threads", defaultValue = "3", description = "Threads, 1 to 64 (default: ${DEFAULT-VALUE})")
    private int threads;

    @Option(
            names = "--operations",
            defaultValue = "1000000",
            description = "Operations of all threads together (default: ${DEFAULT-VALUE})")
    private long operations;

    @Option(
            names = "--rate",
            defaultValue = "0",
            description = "Operations a second of all threads together, 0 for as many as there can be"
                    + " (default: ${DEFAULT-VALUE})")
    private long rate;

    @Option(names = "--seed", description = "Seed of the operations (default: random, and printed)")
    private @Nullable Long seed;

    /**
     * The outcome.
     *
     * @param seed of what was done
     * @param operations done
     * @param mismatches 1 if a page did not hold what was written to it, and then everything stopped
     * @param firstMismatch which; empty if there was none
     * @param ns nanoseconds that it took
     */
    record Result(long seed, long operations, int mismatches, String firstMismatch, long ns) {}

    @Override
    public Integer call() throws InterruptedException {
        Backing backing = options.backing();
        long memory = options.memory(DEFAULT_MEMORY);
        int pageBytes = backing.pageBytes();
        Path socket = options.socket().orElseThrow(() -> new UsageException("--socket PATH is missing"));
        if (backing != Backing.MEMFD && backing != Backing.HUGETLB) {
            throw new UsageException("--backing " + backing + ": nothing of it can be evicted; take memfd or hugetlb");
        }
        if (memory < pageBytes || memory > 1 << 30 || memory % pageBytes != 0) {
            throw new UsageException("--memory " + memory + " is not a multiple of " + pageBytes + " up to 1GiB");
        }
        if (rate < 0) {
            throw new UsageException("--rate " + rate + " is less than 0");
        }
        if (threads < 1 || threads > 64 || threads > memory / pageBytes) {
            throw new UsageException("--threads " + threads + " is not within 1..64, or there are more than pages");
        }
        long chosen = seed == null ? ThreadLocalRandom.current().nextLong(1L << 40) : seed;
        System.err.println("page-bench: seed " + chosen);
        Result result = run(chosen, socket, (int) (memory / pageBytes));
        System.out.println(new JsonMapper().writeValueAsString(result));
        return result.mismatches() > 0 ? WRONG : 0;
    }

    private Result run(long chosen, Path socket, int pages) throws InterruptedException {
        int pageBytes = options.backing().pageBytes();
        long start = System.nanoTime();
        try (Arena arena = Arena.ofShared();
                GuestMemory guest = GuestMemory.map(options.backing(), (long) pages * pageBytes);
                Handoff _ = Handoff.of(guest, socket, options.pagers())) {
            Shadow shadow = new Shadow(pages, pageBytes);
            AtomicBoolean stop = new AtomicBoolean();
            List<Toucher> touchers = new ArrayList<>();
            List<Thread> running = new ArrayList<>();
            Toucher.Work work = new Toucher.Work(guest.address(), pages, threads, operations, rate, chosen, shadow);
            for (int i = 0; i < threads; i++) {
                Toucher toucher = new Toucher(work, i, stop, arena);
                touchers.add(toucher);
                running.add(Thread.ofPlatform().daemon().name("toucher-" + i).start(toucher));
            }
            await(running, touchers, stop);
            String wrong = touchers.stream()
                    .map(Toucher::mismatch)
                    .filter(Objects::nonNull)
                    .findFirst()
                    .orElse("");
            long done = touchers.stream().mapToLong(Toucher::done).sum();
            return new Result(chosen, done, wrong.isEmpty() ? 0 : 1, wrong, System.nanoTime() - start);
        }
    }

    private void await(List<Thread> running, List<Toucher> touchers, AtomicBoolean stop) throws InterruptedException {
        Duration timeout = options.timeout(DEFAULT_TIMEOUT);
        long deadline = System.nanoTime() + timeout.toNanos();
        for (Thread thread : running) {
            if (!thread.join(Duration.ofNanos(Math.max(1, deadline - System.nanoTime())))) {
                stop.set(true);
                long done = touchers.stream().mapToLong(Toucher::done).sum();
                System.err.println("page-bench: not done after " + timeout.toSeconds() + " s: " + done
                        + " operations; a page that was asked for may never have come");
                // Threads that wait for a page cannot be stopped, and hold on to the memory.
                Runtime.getRuntime().halt(WRONG);
            }
        }
    }
}
