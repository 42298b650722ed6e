package io.farpage.bench.footprint;

import io.farpage.guest.command.CommandException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What the JVM of an agent says of itself when {@code jcmd} asks it. Native memory is known of a JVM that was started
 * with {@link #TRACKING}.
 */
final class JvmFigures {
    /** The flag with which a JVM tracks its native memory. */
    static final String TRACKING = "-XX:NativeMemoryTracking=summary";

    private static final long DEADLINE_SECONDS = 30;
    private static final long KIB = 1024;
    private static final Pattern HEAP_USED = Pattern.compile("(?m)^ *(DefNew|Tenured) .*?\\bused (\\d+)K");
    private static final Pattern CATEGORY =
            Pattern.compile("(?m)^- +([A-Z][A-Za-z ]+?) \\(reserved=(\\d+)KB, committed=(\\d+)KB");
    private static final Pattern STACKS = Pattern.compile("\\(stack: reserved=\\d+KB, committed=(\\d+)KB");
    private static final Pattern USED = Pattern.compile("\\( *used=(\\d+)KB\\)");

    private final Path jcmd;
    private final Path answer;

    private JvmFigures(Path jcmd, Path answer) {
        this.jcmd = jcmd;
        this.answer = answer;
    }

    /**
     * Asks with the tool of the Java that runs this; empty if that has none.
     *
     * @param scratch directory for answers
     */
    static Optional<JvmFigures> with(Path scratch) {
        Path jcmd = Path.of(System.getProperty("java.home"), "bin", "jcmd");
        return Files.isExecutable(jcmd)
                ? Optional.of(new JvmFigures(jcmd, scratch.resolve("jcmd.answer")))
                : Optional.empty();
    }

    /** Collects the garbage of a JVM; what its heap then holds, its threads' stacks, and memory of native buffers. */
    Figures collected(long pid) throws InterruptedException {
        ask(pid, "GC.run");
        Map<Measure, Double> values = new EnumMap<>(Measure.class);
        // All that a collection finds alive is in the old generation then. The young one fills up again at once.
        values.put(Measure.HEAP, heapUsed(ask(pid, "GC.heap_info"), "Tenured"));
        String tracked = ask(pid, "VM.native_memory", "summary", "scale=KB");
        Matcher stacks = STACKS.matcher(tracked);
        if (stacks.find()) {
            values.put(Measure.STACKS, Double.parseDouble(stacks.group(1)) * KIB);
        }
        Matcher category = CATEGORY.matcher(tracked);
        while (category.find()) {
            if (category.group(1).equals("Other")) {
                values.put(Measure.BUFFERS, Double.parseDouble(category.group(3)) * KIB);
            }
        }
        return new Figures(values);
    }

    /** Bytes that the generations of some names hold. */
    private static double heapUsed(String heapInfo, String... generations) {
        return HEAP_USED
                .matcher(heapInfo)
                .results()
                .filter(found -> List.of(generations).contains(found.group(1)))
                .mapToDouble(found -> Double.parseDouble(found.group(2)) * KIB)
                .sum();
    }

    /** Each category of memory that a JVM tracks, those of at least 256 KiB. */
    List<Row> categories(long pid) throws InterruptedException {
        return categories(ask(pid, "VM.native_memory", "summary", "scale=KB"), ask(pid, "GC.heap_info"));
    }

    static List<Row> categories(String tracked, String heapInfo) {
        List<Row> rows = new ArrayList<>();
        Matcher category = CATEGORY.matcher(tracked);
        while (category.find()) {
            Map<Measure, Double> values = new EnumMap<>(Measure.class);
            values.put(Measure.RESERVED, Double.parseDouble(category.group(2)) * KIB);
            values.put(Measure.COMMITTED, Double.parseDouble(category.group(3)) * KIB);
            int end = tracked.indexOf("\n\n", category.end());
            Matcher used = USED.matcher(tracked).region(category.end(), end < 0 ? tracked.length() : end);
            if (category.group(1).equals("Java Heap")) {
                values.put(Measure.USED, heapUsed(heapInfo, "DefNew", "Tenured"));
            } else if (!category.group(1).equals("Class") && used.find()) {
                values.put(Measure.USED, Double.parseDouble(used.group(1)) * KIB);
            }
            if (values.getOrDefault(Measure.COMMITTED, 0.0) >= 256 * KIB) {
                rows.add(new Row(category.group(1), new Figures(values)));
            }
        }
        return rows;
    }

    private String ask(long pid, String... words) throws InterruptedException {
        List<String> command = new ArrayList<>(List.of(jcmd.toString(), Long.toString(pid)));
        command.addAll(List.of(words));
        try {
            // A file, so that the wait has a deadline even if the tool says nothing.
            Process asked = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(answer.toFile())
                    .start();
            try {
                boolean hasEnded = asked.waitFor(DEADLINE_SECONDS, TimeUnit.SECONDS);
                String said = Files.readString(answer, StandardCharsets.UTF_8);
                if (!hasEnded || asked.exitValue() != 0) {
                    throw new CommandException("%s %s: %s"
                            .formatted(
                                    String.join(" ", command),
                                    hasEnded
                                            ? "exit code " + asked.exitValue()
                                            : "no answer in " + DEADLINE_SECONDS + " s",
                                    said.lines().reduce("", (_, last) -> last)));
                }
                return said;
            } finally {
                asked.destroyForcibly();
            }
        } catch (IOException e) {
            throw new CommandException("cannot run " + jcmd + ": " + e.getMessage(), e);
        }
    }
}
