package io.farpage.bench.evict;

import io.farpage.agent.control.guest.GuestStatus;
import io.farpage.bench.cluster.Coordinator;
import io.farpage.bench.cluster.Idle;
import io.farpage.bench.guest.BenchGuest;
import io.farpage.bench.guest.GuestAgents;
import io.farpage.bench.pattern.PageNumbers;
import io.farpage.bench.pattern.PagePattern;
import io.farpage.bench.process.Children;
import io.farpage.bench.process.Cpus;
import io.farpage.bench.process.Installation;
import io.farpage.bench.process.Programs;
import io.farpage.guest.command.CommandException;
import io.farpage.guest.command.UsageException;
import io.farpage.linux.uffd.PagedAccess;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code page-bench evict}. */
@Command(
        name = "evict",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description =
                "Starts a coordinator and two agents on this machine, and a guest that touches its pages in a known"
                        + " order while a part of them may be resident. Counts the fetches, and compares them with"
                        + " those of least recently used and of the best order, with and without guest.victim_cache.")
public final class EvictCommand implements Callable<Integer> {
    private static final int PAGE = 4096;
    private static final int LEAST_PAGES = 1024;
    private static final int MOST_PAGES = 1 << 22;
    private static final int MOST_TOUCHES = 50_000_000;
    private static final int WHOLE = 100;
    private static final double ZIPF_EXPONENT = 0.99;
    /** One of eight touches is a store. */
    private static final int STORES = 8;

    private static final Duration START_TIMEOUT = Duration.ofSeconds(90);

    @Option(
            names = "--pages",
            defaultValue = "16384",
            description = "Pages of the guest, 1024 to 4194304; with --lackey as many as the trace has (default:"
                    + " ${DEFAULT-VALUE})")
    private int pages;

    @Option(
            names = "--touches",
            defaultValue = "1000000",
            description = "Touches at most, 1000 to 50000000; the first third is not counted (default:"
                    + " ${DEFAULT-VALUE})")
    private int touches;

    @Option(
            names = "--local",
            defaultValue = "25",
            description = "How many of the pages may be resident, 5 to 90 percent (default: ${DEFAULT-VALUE})")
    private int local;

    @Option(
            names = "--pattern",
            defaultValue = "zipf",
            description = "Order of the pages: zipf, with an exponent of 0.99; random or sequential (default:"
                    + " ${DEFAULT-VALUE})")
    private PagePattern pattern = PagePattern.ZIPF;

    @Option(
            names = "--lackey",
            description = "The order in which a program touched them: what valgrind --tool=lackey --trace-mem=yes"
                    + " prints; /dev/stdin reads a pipe")
    private @Nullable Path lackey;

    /** What one of the agents did with the counted touches. */
    private record Played(long fetches, long victims, double microsPerTouch) {}

    @Override
    public Integer call() throws InterruptedException {
        require("--pages", pages, LEAST_PAGES, MOST_PAGES);
        require("--touches", touches, 1000, MOST_TOUCHES);
        require("--local", local, 5, 90);
        int[] trace = trace();
        int all = Math.max(LEAST_PAGES, Arrays.stream(trace).max().orElseThrow() + 1);
        int frames = all * local / WHOLE;
        int from = trace.length / 3;
        System.out.printf(
                Locale.ROOT,
                "%d pages, %d of them resident; %d touches, one of %d a store; tcp, block%n",
                all,
                frames,
                trace.length - from,
                STORES);
        long leastRecent = Orders.leastRecentlyUsed(trace, all, frames, from);
        print("best order (Belady)", Orders.belady(trace, all, frames, from), leastRecent, "");
        print("least recently used", leastRecent, leastRecent, "");
        for (String cache : List.of("0", "256MiB")) {
            Played played = play(trace, all, from, cache);
            print(
                    "victim cache of " + cache,
                    played.fetches(),
                    leastRecent,
                    String.format(
                            Locale.ROOT,
                            "   %.2f us for a touch, %d pages from the cache",
                            played.microsPerTouch(),
                            played.victims()));
        }
        return 0;
    }

    private static void require(String option, int value, int least, int most) {
        if (value < least || value > most) {
            throw new UsageException(option + " " + value + ": must be from " + least + " to " + most);
        }
    }

    private int[] trace() {
        if (lackey != null) {
            return LackeyTrace.read(lackey, touches);
        }
        PageNumbers numbers = pattern.over(pages, 1, ZIPF_EXPONENT);
        int[] trace = new int[touches];
        Arrays.setAll(trace, _ -> (int) numbers.next());
        return trace;
    }

    private Played play(int[] trace, int all, int from, String cache) throws InterruptedException {
        List<Integer> cpus = Cpus.allowed();
        long bytes = (long) all * PAGE;
        GuestAgents.Setting setting = new GuestAgents.Setting(
                Idle.BLOCK,
                cpus.getFirst(),
                cpus.getFirst(),
                Math.ceilDiv(bytes, 2L << 20) * (2L << 20),
                false,
                OptionalLong.of(bytes * local / WHOLE / PAGE * PAGE),
                Map.of("guest.victim_cache", cache));
        Path report = Installation.root().resolve("bench/target/report");
        try (Children children = Children.open(Programs.ofThisJvm(), report.resolve("logs"), START_TIMEOUT);
                Coordinator coordinator = Coordinator.start(children);
                GuestAgents agents = GuestAgents.start(children, coordinator, setting, 1);
                BenchGuest guest = agents.begin("bench-evict");
                Arena arena = Arena.ofConfined()) {
            Touched touched = new Touched(guest, all, arena.allocate(ValueLayout.JAVA_LONG));
            touched.play(trace, 0, from);
            GuestStatus.Faults before = guest.faults();
            long began = System.nanoTime();
            touched.play(trace, from, trace.length);
            double micros = (System.nanoTime() - began) / 1e3;
            GuestStatus.Faults after = guest.faults();
            return new Played(
                    after.fetchedFaults() - before.fetchedFaults(),
                    after.victimFaults() - before.victimFaults(),
                    micros / (trace.length - from));
        }
    }

    /** The guest's pages and what each of them holds. */
    private static final class Touched {
        private final BenchGuest guest;
        private final long[] stored;
        private final MemorySegment word;
        private long stores;

        /** Stores to all pages, so that all of them have a home. */
        Touched(BenchGuest guest, int all, MemorySegment word) {
            this.guest = guest;
            this.word = word;
            stored = new long[all];
            for (int page = 0; page < all; page++) {
                store(page);
            }
        }

        void play(int[] trace, int from, int end) {
            for (int at = from; at < end; at++) {
                if (at % STORES == 0) {
                    store(trace[at]);
                } else {
                    load(trace[at]);
                }
            }
        }

        private void store(int page) {
            stored[page] = ++stores;
            word.set(ValueLayout.JAVA_LONG, 0, stores);
            PagedAccess.write(guest.address(page), word);
        }

        private void load(int page) {
            PagedAccess.read(guest.address(page), word);
            long found = word.get(ValueLayout.JAVA_LONG, 0);
            if (found != stored[page]) {
                throw new CommandException("page %d holds %d, expected %d".formatted(page, found, stored[page]));
            }
        }
    }

    private static void print(String name, long misses, long leastRecent, String more) {
        System.out.printf(
                Locale.ROOT, "%-24s %9d misses  %5.2f%s%n", name, misses, misses / (double) leastRecent, more);
    }
}
