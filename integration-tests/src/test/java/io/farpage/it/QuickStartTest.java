package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.it.harness.ChildJvm;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The commands that docs/quick-start.md gives for one machine, as they are pasted, in a network namespace, where port
 * 7400 is free.
 */
@Tag("soak")
class QuickStartTest {
    private static final Path ROOT =
            Path.of(System.getProperty("farpage.root", "..")).toAbsolutePath().normalize();
    private static final List<String> NAMESPACES =
            List.of("unshare", "--net", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child");

    /** Six JVMs start one after the other. */
    private static final Duration TIMEOUT = Duration.ofMinutes(2);

    @TempDir
    Path scratch;

    @Test
    void shouldWriteReadAndClearAPageWithTheCommandsOfTheQuickStart() throws Exception {
        Path lib = ROOT.resolve("target/farpage/lib");
        assumeTrue(Files.isDirectory(lib), lib + " does not exist; make build assembles it");
        assumeRuns(List.of("curl", "--version"));
        assumeRuns(inNamespaces("bash", "-c", "ip link set lo up && mount -t tmpfs none /run"));

        String page = Files.readString(ROOT.resolve("docs/quick-start.md"));
        List<String> blocks =
                blocks(page.substring(page.indexOf("## One machine"), page.indexOf("## Several machines")));
        assertEquals(3, blocks.size(), "blocks of commands for one machine");
        // The one thing that is not pasted: what another user has in /tmp is left alone.
        for (int i = 0; i < blocks.size(); i++) {
            Files.writeString(
                    scratch.resolve("block-" + (i + 1)), blocks.get(i).replace("/tmp/farpage", scratch + "/store"));
        }
        Path script = scratch.resolve("quick-start.sh");
        try (InputStream text = QuickStartTest.class.getResourceAsStream("/quick-start.sh")) {
            Files.copy(Objects.requireNonNull(text), script);
        }
        List<String> command = inNamespaces("bash", script.toString(), ROOT.toString(), scratch.toString());
        try (ChildJvm pasted = ChildJvm.launch("quick start", command, Map.of(), ROOT)) {
            await("the end of the commands", TIMEOUT).until(() -> !pasted.isAlive());
            assertEquals(0, pasted.awaitEnd(), pasted::err);
            String out = pasted.out();
            assertTrue(out.startsWith("agents: 2\n"), out);
            assertTrue(out.contains("\"name\":\"demo\""), out);
            assertTrue(out.contains("hello\n"), out);
            assertTrue(out.endsWith("spaces: []\n"), out);
        }
    }

    private static List<String> blocks(String markdown) {
        return Pattern.compile("^```\\n(.*?)^```$", Pattern.DOTALL | Pattern.MULTILINE)
                .matcher(markdown)
                .results()
                .map(match -> match.group(1))
                .toList();
    }

    private static List<String> inNamespaces(String... command) {
        return Stream.concat(NAMESPACES.stream(), Stream.of(command)).toList();
    }

    private void assumeRuns(List<String> command) {
        try (ChildJvm trial = ChildJvm.launch("trial", command, Map.of(), scratch)) {
            int exit = trial.awaitEnd();
            assumeTrue(exit == 0, () -> String.join(" ", command) + " fails: " + trial.err());
        } catch (RuntimeException e) {
            assumeTrue(false, String.join(" ", command) + ": " + e);
        }
    }
}
