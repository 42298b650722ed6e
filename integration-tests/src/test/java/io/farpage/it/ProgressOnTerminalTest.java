package io.farpage.it;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.it.harness.ChildJvm;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.Pages;
import io.farpage.it.harness.TwoNodes;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** What commands that take long show on a pseudo terminal, which script(1) makes, and without one. */
@ExtendWith(TwoNodes.class)
class ProgressOnTerminalTest {
    private static final Path ROOT =
            Path.of(System.getProperty("farpage.root", "..")).toAbsolutePath();

    private static final int PAGES = 300;
    private static final int COLUMNS = 72;
    private static final String CLEAR = "\r\u001b[K";

    @TempDir
    private Path directory = Path.of("");

    /**
     * Runs a command whose standard output is a file, and its standard error a terminal. Gives what the terminal has
     * got.
     */
    private ChildJvm onTerminal(String term, List<String> command) {
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/script")), "script(1) is not installed; apt install bsdutils");
        Path lib = ROOT.resolve("target/farpage/lib");
        assumeTrue(Files.isDirectory(lib), lib + " does not exist; make build assembles it");
        String line = "stty cols " + COLUMNS + "; exec " + String.join(" ", command) + " >" + directory.resolve("out");
        return ChildJvm.launch(
                "on-terminal",
                List.of("/usr/bin/script", "-qefc", line, "/dev/null"),
                Map.of("TERM", term, "SHELL", "/bin/sh"),
                directory);
    }

    private static List<String> command(Cluster cluster, String space, String command, Path file) {
        return List.of(
                ROOT.resolve("bin/page-agent").toString(),
                command,
                "--agent=" + cluster.agent("a").rest().base(),
                "--space=" + space,
                "--file=" + file);
    }

    private static List<String> drawn(String terminal) {
        return Arrays.stream(terminal.split("\r\u001b\\[K", -1)).skip(1).toList();
    }

    @Test
    void shouldDrawOneLineInPlaceAndLeaveStandardOutputAlone(Cluster cluster) throws Exception {
        cluster.makeSpace("terminal-0", PAGES, 4096, "b");
        try {
            cluster.agent("a").putPage("terminal-0", 7, Pages.of(7, 7, 4096)).expect(204);
            Path file = directory.resolve("image");
            for (String command : List.of("save", "load")) {
                try (ChildJvm child = onTerminal("xterm", command(cluster, "terminal-0", command, file))) {
                    assertEquals(0, child.awaitEnd(), child.out());
                    List<String> drawn = drawn(child.out());
                    assertTrue(drawn.size() >= 2, child.out());
                    assertTrue(drawn.getFirst().startsWith(command + " terminal-0  "), child.out());
                    for (String line : drawn) {
                        assertTrue(line.strip().length() < COLUMNS, line);
                    }
                    assertTrue(
                            drawn.getLast().startsWith(command + " terminal-0: 1.2 MiB in "),
                            "at the end: " + child.out());
                    assertEquals("", Files.readString(directory.resolve("out")));
                }
            }
            assertArrayEquals(Pages.of(7, 7, 4096), Arrays.copyOfRange(Files.readAllBytes(file), 7 * 4096, 8 * 4096));
        } finally {
            cluster.client().deleteSpace("terminal-0");
        }
    }

    @Test
    void shouldTakeTheLineAwayBeforeAnError(Cluster cluster) throws Exception {
        cluster.makeSpace("terminal-1", PAGES, 4096, "b");
        try {
            Path file = Files.write(directory.resolve("short"), new byte[(PAGES - 1) * 4096]);
            try (ChildJvm child = onTerminal("xterm", command(cluster, "terminal-1", "load", file))) {
                assertEquals(1, child.awaitEnd(), child.out());
                assertTrue(drawn(child.out()).getLast().startsWith("page-agent: "), child.out());
            }
        } finally {
            cluster.client().deleteSpace("terminal-1");
        }
    }

    @Test
    @Tag("processes")
    void shouldWriteNoEscapeSequencesToADumbOrWithoutATerminal(Cluster cluster) throws Exception {
        cluster.makeSpace("terminal-2", PAGES, 4096, "b");
        try {
            Path file = directory.resolve("image");
            try (ChildJvm child = onTerminal("dumb", command(cluster, "terminal-2", "save", file))) {
                assertEquals(0, child.awaitEnd(), child.out());
                assertEquals("", child.out());
            }
            List<String> asked = new ArrayList<>(command(cluster, "terminal-2", "load", file));
            asked.add("--progress");
            try (ChildJvm child = ChildJvm.launch("asked", asked, Map.of("TERM", "xterm"), directory)) {
                assertEquals(0, child.awaitEnd(), child.err());
                assertTrue(child.err().startsWith("load terminal-2: 1.2 MiB in "), child.err());
                assertFalse(child.err().contains(CLEAR) || child.err().contains("\r"), child.err());
                assertEquals("", child.out());
            }
        } finally {
            cluster.client().deleteSpace("terminal-2");
        }
    }
}
