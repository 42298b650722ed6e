package io.farpage.bench.baseline;

import io.farpage.bench.report.Baseline;
import io.farpage.bench.report.FetchRound;
import io.farpage.bench.report.Turn;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * The running baseline: set up once, then asked for one round at a time. Between rounds both its processes sleep, so
 * that they take no CPU from the process that is measured. Every wait has a deadline. Used by one thread.
 */
public final class BaselineProcess implements AutoCloseable {
    /** How long the program may take to fill its pages. */
    public static final Duration START_TIMEOUT = Duration.ofSeconds(60);

    private static final Duration FAREWELL = Duration.ofSeconds(5);

    private final Process process;
    private final Writer commands;
    private final BlockingQueue<Said> said = new LinkedBlockingQueue<>();

    private sealed interface Said {
        record Line(String text) implements Said {}

        record End() implements Said {}
    }

    /** What a round gave, and the words that go with it. */
    public record Measured(String name, String placement, String backing, FetchRound round) {
        /** With the same words, other rounds of the same baseline. */
        public Baseline of(List<Turn> turns) {
            return Baseline.of(name, placement, backing, turns);
        }
    }

    private BaselineProcess(Process process) {
        this.process = process;
        this.commands = process.outputWriter();
        Thread.ofVirtual().name("baseline-output").start(this::listen);
    }

    /**
     * Starts the program and waits until its pages are filled.
     *
     * @throws BaselineException with what the program said, if it ends or is not ready in time
     */
    public static BaselineProcess start(Path program, BaselineSettings settings, Duration timeout)
            throws InterruptedException {
        List<String> command = new ArrayList<>(List.of(program.toString()));
        command.addAll(settings.arguments());
        Process started;
        try {
            started = new ProcessBuilder(command).redirectErrorStream(true).start();
        } catch (IOException e) {
            throw new BaselineException("cannot start " + program + ": " + e.getMessage(), e);
        }
        BaselineProcess baseline = new BaselineProcess(started);
        boolean ready = false;
        try {
            String line = baseline.await("set up", timeout);
            ready = line.equals("ready");
            if (!ready) {
                throw new BaselineException(line);
            }
            return baseline;
        } finally {
            if (!ready) {
                baseline.close();
            }
        }
    }

    /** Ids of the program and of its server. */
    public List<Long> processes() {
        return family(process);
    }

    static List<Long> family(Process process) {
        return Stream.concat(Stream.of(process.toHandle()), process.descendants())
                .map(ProcessHandle::pid)
                .toList();
    }

    /** Fetches this many pages, after the warm-up. */
    public Measured run(long count, Duration timeout) throws InterruptedException {
        return command("run " + count, timeout);
    }

    /** Fetches for this long, after the warm-up; to the millisecond, at least one. */
    public Measured runFor(Duration duration, Duration timeout) throws InterruptedException {
        return command(String.format(Locale.ROOT, "run %.3fs", duration.toMillis() / 1e3), timeout);
    }

    private Measured command(String command, Duration timeout) throws InterruptedException {
        try {
            commands.write(command + "\n");
            commands.flush();
        } catch (IOException gone) {
            // It has ended; what it said last tells why.
            throw new BaselineException("'" + command + "': " + await(command, timeout), gone);
        }
        return RoundJson.parse(await(command, timeout));
    }

    private String await(String what, Duration timeout) throws InterruptedException {
        return switch (said.poll(timeout.toMillis(), TimeUnit.MILLISECONDS)) {
            case null -> throw new BaselineException("the C baseline did not answer '" + what + "' within " + timeout);
            case Said.Line(String text) -> text;
            case Said.End() -> throw new BaselineException("the C baseline ended before it answered '" + what + "'");
        };
    }

    private void listen() {
        try (BufferedReader reader = process.inputReader()) {
            reader.lines().forEach(line -> said.add(new Said.Line(line)));
        } catch (IOException | UncheckedIOException closed) {
            // The process is gone, which End says.
        } finally {
            said.add(new Said.End());
        }
    }

    /** Ends the program, by force if it does not go within a few seconds. Its server goes with it. */
    @Override
    public void close() {
        try {
            commands.write("quit\n");
            commands.close();
            if (!process.waitFor(FAREWELL.toMillis(), TimeUnit.MILLISECONDS)) {
                process.destroyForcibly();
            }
        } catch (IOException gone) {
            process.destroyForcibly();
        } catch (InterruptedException interrupted) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }
}
