package io.farpage.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.it.deadlines.Deadlines;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** The scripts that complete commands, run by the shells that they are for. */
@Tag("portable")
class CompletionTest {
    private static final long DEADLINE_SECONDS = 30;

    /** Completes as bash does when Tab is pressed after the last word. */
    private static final String BASH = """
            compopt() { :; } # outside a completion it only complains
            source "$1"; shift
            COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
            _complete_farpage; echo "${COMPREPLY[@]}"
            """;

    @TempDir
    Path scratch;

    private static String run(String... arguments) {
        StringWriter out = new StringWriter();
        CommandLine program = Main.commandLine();
        program.setOut(new PrintWriter(out));
        assertEquals(0, program.execute(arguments));
        return out.toString();
    }

    private Path script(String shell) throws IOException {
        return Files.writeString(scratch.resolve("farpage." + shell), run("completion", shell));
    }

    private static String shell(List<String> command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        process.getOutputStream().close();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
        Deadlines.exit("the end of the shell", Duration.ofSeconds(DEADLINE_SECONDS), process);
        assertEquals(0, process.exitValue(), said);
        return said;
    }

    private Set<String> completed(String... words) throws IOException, InterruptedException {
        List<String> command = Stream.concat(
                        Stream.of("bash", "-c", BASH, "bash", script("bash").toString()), Stream.of(words))
                .toList();
        return new TreeSet<>(List.of(shell(command).split("\\s+")));
    }

    @Test
    void shouldCompleteProgramsCommandsOptionsAndValuesInBash() throws Exception {
        assertEquals(Set.of("completion", "coordinator"), completed("farpage", "co"));
        assertTrue(completed("farpage", "agent", "").containsAll(List.of("run", "attach", "keeper")));
        assertEquals(Set.of("--status"), completed("farpage", "nodes", "--st"));
        assertTrue(completed("farpage", "nodes", "--status", "").contains("failed"));
        assertEquals(Set.of("--follow"), completed("farpage", "events", "--fol"));
    }

    @Test
    void shouldLoadIntoZsh() throws Exception {
        assumeTrue(
                Stream.of(System.getenv("PATH").split(":")).anyMatch(path -> Files.isExecutable(Path.of(path, "zsh"))),
                "zsh is not installed; apt-get install zsh");
        String said = shell(List.of(
                "zsh",
                "-fc",
                "source \"$1\" && print -r -- \"$_comps[farpage]\"",
                "zsh",
                script("zsh").toString()));
        assertTrue(said.contains("_complete_farpage"), said);
    }

    /** bin/farpage starts these without the front command, so it must know the same ones. */
    @Test
    void shouldNameTheSameCommandsInTheLauncher() throws Exception {
        String launcher = Files.readString(Path.of("..", "bin", "farpage"));
        assertTrue(launcher.contains("    " + String.join(" | ", Main.OPERATOR) + ") launch coordinator"), launcher);
    }

    @Test
    void shouldTellTheExitCodesOfEveryCommand() {
        List.of(
                        List.of("--help"),
                        List.of("coordinator", "--help"),
                        List.of("nodes", "--help"),
                        List.of("agent", "attach", "--help"))
                .forEach(command -> {
                    String help = run(command.toArray(String[]::new));
                    assertTrue(help.contains("Exit codes:") && help.contains("  2   Wrong usage"), help);
                });
    }
}
