package io.farpage.it.harness;

import static io.farpage.it.deadlines.Deadlines.await;

import io.farpage.it.deadlines.Deadlines;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** A process that maps the file of a snapshot privately, as VMMs do; see {@code src/test/c/mapped_snapshot.c}. */
public final class MappedSnapshot implements AutoCloseable {
    private static final Duration TIMEOUT = Duration.ofSeconds(60);

    private final Process process;
    private final Writer passes;
    private final BufferedReader results;

    private MappedSnapshot(Process process) {
        this.process = process;
        passes = process.outputWriter();
        results = process.inputReader();
    }

    /** Compiles the program; skips the test where there is no C compiler. */
    public static Path compile(Path into) {
        return SharedRam.compileMappedSnapshot(into);
    }

    /**
     * Maps a file.
     *
     * @param expected a file with the same bytes
     * @param seed decides the order of the pages, and which are written to
     */
    public static MappedSnapshot map(Path program, Path file, Path expected, int seed) {
        List<String> command = List.of(program.toString(), file.toString(), expected.toString(), "" + seed);
        try {
            return new MappedSnapshot(new ProcessBuilder(command)
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Begins to read and compare all pages, and to write to some. */
    public void begin() {
        try {
            passes.write("\n");
            passes.flush();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** What came of the pass that began before. */
    public JsonNode result() {
        await("a pass over the mapped pages", Deadlines.LONG)
                .pollInterval(Duration.ofMillis(10))
                .until(() -> results.ready() || !process.isAlive());
        try {
            String line = results.readLine();
            if (line == null) {
                throw new AssertionError("the process has ended: " + process.waitFor());
            }
            return JsonMapper.shared().readTree(line);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
    }

    /** Waits for the process to end by itself. Returns its exit code; 128 and a number if that signal ended it. */
    public int awaitEnd() {
        try {
            if (!process.waitFor(TIMEOUT.toSeconds(), TimeUnit.SECONDS)) {
                throw new AssertionError("the process does not end");
            }
            return process.exitValue();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
    }

    @Override
    public void close() {
        process.destroyForcibly();
        var _ = awaitEnd();
    }
}
