package io.farpage.it.simulation;

import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Finds fewer faults with which a seed fails in the same way: it runs the seed again without the second half of them,
 * without the first half, and so on down to single ones. A fault that is left out leaves the others as they are.
 */
final class Shortening {
    private static final Pattern VALUES = Pattern.compile("[0-9a-f]{16}|[0-9.]+|\\b[a-z]\\b");
    /** Characters of the first line of a failure that are compared with those of another failure. */
    private static final int KIND = 70;

    private final Function<Map<String, String>, Simulation.Outcome> simulation;
    private final Map<String, String> options;
    private final long end;
    private int runs;

    /**
     * @param simulation runs the seed that has failed with the given options
     * @param budget nanoseconds that it may take
     */
    Shortening(Function<Map<String, String>, Simulation.Outcome> simulation, Map<String, String> options, long budget) {
        this.simulation = simulation;
        this.options = options;
        end = System.nanoTime() + budget;
    }

    /** What to run instead, and its steps, for people. */
    String of(Simulation.Outcome failed) {
        Simulation.Outcome shortest = failed;
        TreeSet<Integer> without = new TreeSet<>();
        List<Integer> left = IntStream.rangeClosed(1, failed.faults()).boxed().toList();
        int part = left.size();
        while (part > 0 && System.nanoTime() < end) {
            boolean any = false;
            for (int from = (left.size() - 1) / part * part; from >= 0 && System.nanoTime() < end; from -= part) {
                TreeSet<Integer> tried = new TreeSet<>(without);
                tried.addAll(left.subList(from, Math.min(left.size(), from + part)));
                Simulation.Outcome outcome = run(tried, 5 + 1.5 * failed.ended());
                if (kind(outcome).equals(kind(failed))) {
                    without = tried;
                    shortest = outcome;
                    any = true;
                }
            }
            TreeSet<Integer> gone = without;
            left = left.stream().filter(fault -> !gone.contains(fault)).toList();
            part = any && part == 1 ? Math.min(1, left.size()) : part / 2;
        }
        return String.format(
                Locale.ROOT,
                "%s%n%d of %d faults are left after %d runs: --seed %d %s--without %s",
                shortest.steps(),
                left.size(),
                failed.faults(),
                runs,
                failed.seed(),
                named(),
                without.stream().map(String::valueOf).collect(Collectors.joining(",")));
    }

    /** @param until virtual seconds after which the seed counts as one that does not fail */
    private Simulation.Outcome run(SortedSet<Integer> without, double until) {
        Map<String, String> fewer = new HashMap<>(options);
        fewer.put("without", without.stream().map(String::valueOf).collect(Collectors.joining(",")));
        fewer.put("until", Double.toString(until));
        runs++;
        return simulation.apply(fewer);
    }

    private String named() {
        return options.entrySet().stream()
                .filter(each ->
                        !List.of("seed", "runs", "shorten", "go-on", "without").contains(each.getKey()))
                .sorted(Map.Entry.comparingByKey())
                .map(each -> "--" + each.getKey() + " " + each.getValue() + " ")
                .collect(Collectors.joining());
    }

    /** The kind of a failure: its first line without numbers and names of nodes. */
    static String kind(Simulation.Outcome outcome) {
        String line = outcome.failure().lines().findFirst().orElse("");
        String text = VALUES.matcher(line).replaceAll("#");
        return text.substring(0, Math.min(KIND, text.length()));
    }
}
