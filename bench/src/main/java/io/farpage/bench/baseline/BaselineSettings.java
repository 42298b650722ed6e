package io.farpage.bench.baseline;

import io.farpage.bench.pattern.PagePattern;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.OptionalInt;

/**
 * What the baseline is asked to do. Bounds are checked by the program itself, which refuses with the value and what is
 * allowed.
 *
 * @param mode how both sides wait
 * @param depth fetches outstanding, 1 to 1024
 * @param pageSize in bytes, 4096 to 2 MiB, a power of two
 * @param pages that the server holds
 * @param pattern in which they are fetched
 * @param zipfExponent of the zipf pattern
 * @param verification of each page's content, outside the latency but inside the throughput
 * @param clientCpu where the fetching side is pinned; empty leaves the choice to the program
 * @param serverCpu where the serving side is pinned
 * @param hugepages whether to back the served memory with huge pages where there are any
 * @param seed of content and pattern
 * @param warmup fetches before each round that are not recorded
 */
public record BaselineSettings(
        Mode mode,
        int depth,
        int pageSize,
        long pages,
        PagePattern pattern,
        double zipfExponent,
        Verification verification,
        OptionalInt clientCpu,
        OptionalInt serverCpu,
        boolean hugepages,
        long seed,
        long warmup) {
    /** How both sides wait. */
    public enum Mode {
        /** Each busy on a CPU of its own. */
        SPIN,
        /** Both asleep in the kernel, on one CPU. */
        BLOCK
    }

    /** How much of each page is checked. */
    public enum Verification {
        NONE,
        /** The first and the last word. */
        ENDS,
        FULL
    }

    List<String> arguments() {
        List<String> arguments = new ArrayList<>(List.of("--interactive", "--latencies"));
        add(arguments, "--mode", mode.name().toLowerCase(Locale.ROOT));
        add(arguments, "--depth", Integer.toString(depth));
        add(arguments, "--page-size", Integer.toString(pageSize));
        add(arguments, "--pages", Long.toString(pages));
        add(arguments, "--pattern", pattern.label());
        add(arguments, "--zipf-exponent", Double.toString(zipfExponent));
        add(arguments, "--verify", verification.name().toLowerCase(Locale.ROOT));
        add(arguments, "--seed", Long.toUnsignedString(seed));
        add(arguments, "--warmup", Long.toString(warmup));
        clientCpu.ifPresent(cpu -> add(arguments, "--client-cpu", Integer.toString(cpu)));
        serverCpu.ifPresent(cpu -> add(arguments, "--server-cpu", Integer.toString(cpu)));
        if (mode == Mode.BLOCK) {
            // As an agent takes it by itself for threads that sleep.
            add(arguments, "--priority", "1");
        }
        if (hugepages) {
            arguments.add("--hugepages");
        }
        return arguments;
    }

    private static void add(List<String> arguments, String name, String value) {
        arguments.add(name);
        arguments.add(value);
    }
}
