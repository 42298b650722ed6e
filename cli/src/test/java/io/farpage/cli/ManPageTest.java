package io.farpage.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.it.deadlines.Deadlines;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

class ManPageTest {
    @TempDir
    private Path scratch;

    @Command(
            name = "pages",
            subcommands = Sub.class,
            description = {".profile is read. Then it ends.", "'quoted' at the start"},
            exitCodeListHeading = "Exit codes:%n",
            exitCodeList = {"0:It was done.", "3:It was superseded."})
    private static final class Awkward implements Runnable {
        @Option(names = "--back-slash", paramLabel = "\"A\\B\"", description = "One. Two.")
        private String value = "";

        @Option(names = "--secret", hidden = true, description = "Not for people.")
        private String secret = "";

        @Override
        public void run() {
            throw new UnsupportedOperationException(value + secret);
        }
    }

    @Command(name = "sub", description = "A command of it.")
    private static final class Sub {}

    private static String awkward() {
        return ManPage.of(new CommandLine(new Awkward()), "pages", "November 25, 2026");
    }

    @Test
    void shouldKeepTextFromBecomingMacros() {
        String page = awkward();
        assertTrue(page.startsWith(".Dd November 25, 2026\n.Dt PAGES 1\n"), page);
        assertTrue(page.contains("\n\\&.profile is read.\nThen it ends.\n\\&'quoted' at the start\n"), page);
        assertTrue(page.contains("\n.It Fl \\-back\\-slash Ar \"\\(dqA\\eB\\(dq\"\nOne.\nTwo.\n"), page);
        assertTrue(page.contains("\n.It 3\nIt was superseded.\n"), page);
        assertTrue(page.contains("\n.Ss sub\nA command of it.\n"), page);
        assertTrue(!page.contains("secret"), page);
    }

    @Test
    void shouldBeCleanWithAwkwardText() throws Exception {
        assertClean(awkward());
    }

    @ParameterizedTest
    @ValueSource(strings = {"farpage", "coordinator", "agent", "bench"})
    void shouldBeCleanForEachProgram(String program) throws Exception {
        StringWriter out = new StringWriter();
        CommandLine all = Main.commandLine();
        all.setOut(new PrintWriter(out));
        assertEquals(0, all.execute("man-page", program, "--as", "farpage-" + program));
        assertTrue(out.toString().contains("\n.Nm farpage-" + program + "\n"), out.toString());
        assertClean(out.toString());
    }

    private void assertClean(String page) throws IOException, InterruptedException {
        assumeTrue(
                Stream.of(System.getenv("PATH").split(":"))
                        .anyMatch(path -> Files.isExecutable(Path.of(path, "mandoc"))),
                "man pages are not checked: mandoc is missing (apt-get install mandoc)");
        Path file = Files.writeString(scratch.resolve("page.1"), page);
        Process lint = new ProcessBuilder("mandoc", "-T", "lint", "-W", "warning", file.toString())
                .redirectErrorStream(true)
                .start();
        String said = new String(lint.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        Deadlines.exit("the end of the process", Deadlines.LONG, lint);
        assertEquals("", said);
        assertEquals(0, lint.exitValue());
    }

    @Test
    void shouldRefuseAProgramThatIsNone() {
        StringWriter err = new StringWriter();
        CommandLine all = Main.commandLine();
        all.setErr(new PrintWriter(err));
        assertEquals(2, all.execute("man-page", "pager"));
        assertTrue(err.toString().contains("Invalid value 'pager' for PROGRAM"), err.toString());
    }

    @Test
    void shouldTakeItsDateFromTheSourcesEpoch() {
        assertEquals("November 24, 2026", ManPageCommand.date(Optional.of("1795478400")));
        String message = String.valueOf(
                assertThrows(IllegalArgumentException.class, () -> ManPageCommand.date(Optional.of("yesterday")))
                        .getMessage());
        assertTrue(message.contains("'yesterday'"), message);
    }
}
