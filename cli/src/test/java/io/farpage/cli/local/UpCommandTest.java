package io.farpage.cli.local;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** What {@code up} does before it starts anything: next to nothing. */
class UpCommandTest {

    @TempDir
    private Path directory = Path.of("");

    private final StringWriter err = new StringWriter();

    private int up(Path state, String... more) {
        CommandLine command = new CommandLine(new UpCommand())
                .setOut(new PrintWriter(new StringWriter()))
                .setErr(new PrintWriter(err))
                .setExecutionExceptionHandler((e, line, _) -> {
                    line.getErr().println(e.getMessage());
                    return 1;
                });
        return command.execute(Stream.concat(Stream.of("--local", "2", "--state", state.toString()), Stream.of(more))
                .toArray(String[]::new));
    }

    private List<Path> left() throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.toList();
        }
    }

    @Test
    void shouldNameEveryObstacleOfTheHostAndLeaveNothing() throws IOException {
        Path file = Files.createFile(directory.resolve("file"));
        assertEquals(1, up(file.resolve("state"), "--pool", "64TiB"));
        List<String> lines = err.toString().lines().toList();
        assertEquals(2, lines.size(), lines.toString());
        assertTrue(lines.get(0).startsWith("farpage: the cluster needs 134218148 MiB of memory"), lines.get(0));
        assertTrue(lines.get(1).contains("cannot write to " + file + "; fix: "), lines.get(1));
        assertEquals(List.of(file), left());
    }

    @Test
    void shouldLeaveNotEvenALockFileWhenTheHostHasTooLittle() throws IOException {
        assertEquals(1, up(directory.resolve("state"), "--pool", "64TiB"));
        assertEquals(List.of(), left());
    }

    @Test
    void shouldNameAFolderOfSomethingElseAmongTheObstacles() throws IOException {
        Path letter = Files.createFile(directory.resolve("letter.txt"));
        assertEquals(1, up(directory, "--pool", "64TiB"));
        assertTrue(err.toString().contains("has letter.txt, which is not of a local cluster"), err.toString());
        assertEquals(List.of(letter), left());
    }

    @Test
    void shouldEndWhatIsLeftOfAClusterBeforeItLooksAtTheHost() throws IOException {
        StateFolder folder = new StateFolder(directory.resolve("state"));
        folder.make();
        folder.write(new StateFolder.Kept(StateFolder.boot(), 0, 2, Optional.empty()));
        assertEquals(1, up(folder.path(), "--pool", "64TiB"));
        assertTrue(err.toString().startsWith("farpage: the cluster needs "), err.toString());
        assertFalse(Files.exists(folder.path()));
    }

    @Test
    void shouldDoNothingWhileAnotherUpHasTheLock() throws IOException {
        StateFolder folder = new StateFolder(directory.resolve("state"));
        try (FileChannel _ = folder.lock()) {
            assertEquals(1, up(folder.path()));
            assertTrue(err.toString().contains("another 'farpage up' or 'farpage down' is at work"), err.toString());
            try (Stream<Path> files = Files.list(folder.path())) {
                assertEquals(Optional.empty(), files.findAny());
            }
        }
        assertTrue(Member.of(folder.path()).isEmpty());
    }

    @Test
    void shouldMakeNothingOfADryRun() throws IOException {
        assertEquals(0, up(directory.resolve("new/state"), "--dry-run"));
        assertFalse(Files.exists(directory.resolve("new")));
        assertEquals(List.of(), left());
    }
}
