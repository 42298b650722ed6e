package io.farpage.it.harness;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Commands of a page of the documentation, as they are pasted: in a network namespace, where port 7400 is free, and
 * with a {@code /run} of their own.
 */
public final class PastedCommands {
    /** The root of the project. */
    public static final Path ROOT =
            Path.of(System.getProperty("farpage.root", "..")).toAbsolutePath().normalize();

    private static final List<String> NAMESPACES =
            List.of("unshare", "--net", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child");

    private PastedCommands() {}

    /** The blocks of commands in a part of a page. */
    public static List<String> blocks(String page, String from, String to) throws IOException {
        String text = Files.readString(ROOT.resolve("docs").resolve(page));
        return Pattern.compile("^```\\n(.*?)^```$", Pattern.DOTALL | Pattern.MULTILINE)
                .matcher(text.substring(text.indexOf(from), text.indexOf(to)))
                .results()
                .map(match -> match.group(1))
                .toList();
    }

    /** Skips the test if the programs are not built, or commands cannot be run. */
    public static void assumeRun(String... programs) {
        Path lib = ROOT.resolve("target/farpage/lib");
        assumeTrue(Files.isDirectory(lib), lib + " does not exist; make build assembles it");
        for (String program : programs) {
            assumeRuns(List.of(program, "--version"));
        }
        assumeRuns(inNamespaces("bash", "-c", "ip link set lo up && mount -t tmpfs none /run"));
    }

    private static List<String> inNamespaces(String... command) {
        return Stream.concat(NAMESPACES.stream(), Stream.of(command)).toList();
    }

    private static void assumeRuns(List<String> command) {
        try (ChildJvm trial = ChildJvm.launch("trial", command, Map.of(), ROOT)) {
            int exit = trial.awaitEnd();
            assumeTrue(exit == 0, () -> String.join(" ", command) + " fails: " + trial.err());
        } catch (RuntimeException e) {
            assumeTrue(false, String.join(" ", command) + ": " + e);
        }
    }

    /** Runs a script in the namespaces, and returns what it has printed. */
    public static String run(String name, Duration deadline, String... script) throws IOException {
        List<String> command =
                inNamespaces(Stream.concat(Stream.of("bash"), Stream.of(script)).toArray(String[]::new));
        try (ChildJvm pasted = ChildJvm.launch(name, command, Map.of(), ROOT)) {
            await("the end of the commands", deadline).until(() -> !pasted.isAlive());
            assertEquals(0, pasted.awaitEnd(), () -> pasted.out() + pasted.err());
            return pasted.out();
        }
    }
}
