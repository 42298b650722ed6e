package io.farpage.bench.process;

import io.farpage.guest.command.CommandException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/** A program that runs beside this one and logs to a file. Used by one thread, except for {@link #kill()}. */
public final class Child implements AutoCloseable {
    private static final Duration FAREWELL = Duration.ofSeconds(5);
    private static final int LONGEST_LOG = 1 << 20;
    private static final Pattern TELLING = Pattern.compile("\\bERROR\\b|^(coordinator|page-agent|page-bench): ");

    private final String name;
    private final Process process;
    private final Path log;
    private final Duration startTimeout;
    private final Watchdog watchdog;

    Child(String name, Process process, Path log, Duration startTimeout, Watchdog watchdog) {
        this.name = name;
        this.process = process;
        this.log = log;
        this.startTimeout = startTimeout;
        this.watchdog = watchdog;
    }

    /** What people know it as. */
    public String name() {
        return name;
    }

    /** Its standard streams. */
    public Process process() {
        return process;
    }

    /** Its process id. */
    public long pid() {
        return process.pid();
    }

    public boolean isAlive() {
        return process.isAlive();
    }

    /** Takes it off the CPU until {@link #resume()}: a process that is not measured must not spin while another is. */
    public void pause() {
        Signal.STOP.send(process.pid());
    }

    /** Lets it go on. */
    public void resume() {
        Signal.CONT.send(process.pid());
    }

    /** Why it ended, or what it said last, with the path of its log; one line. */
    public String lastWords() {
        String state = process.isAlive()
                ? "the " + name + " is still running"
                : "the " + name + " ended with exit code " + process.exitValue();
        return state + lastLine() + "; log: " + log;
    }

    private String lastLine() {
        try {
            if (Files.size(log) > LONGEST_LOG) {
                return "";
            }
            List<String> lines = Files.readString(log, StandardCharsets.UTF_8)
                    .lines()
                    .filter(line -> !line.isBlank())
                    .toList();
            return lines.reversed().stream()
                    .filter(line -> TELLING.matcher(line).find())
                    .findFirst()
                    .or(() -> lines.reversed().stream().findFirst())
                    .map(line -> ": " + line.strip())
                    .orElse("");
        } catch (IOException unreadable) {
            return "";
        }
    }

    /** How long it may take to be ready. */
    public Duration startTimeout() {
        return startTimeout;
    }

    /**
     * Waits, at most {@link #startTimeout()}, for a file that it writes, in one step, when it is ready, and returns its
     * text.
     *
     * @throws CommandException if it ends or is not ready in time, with what it said last
     */
    public String awaitFile(Path file) throws InterruptedException {
        long deadline = System.nanoTime() + startTimeout.toNanos();
        while (System.nanoTime() - deadline < 0) {
            try {
                if (Files.exists(file)) {
                    return Files.readString(file).strip();
                }
            } catch (IOException e) {
                throw new CommandException("cannot read " + file + ": " + e.getMessage(), e);
            }
            if (process.waitFor(10, TimeUnit.MILLISECONDS)) {
                throw new CommandException(lastWords());
            }
        }
        throw new CommandException(
                "not ready within " + startTimeout.toSeconds() + " s (--start-timeout): " + lastWords());
    }

    /** Ends it at once. Any thread. */
    void kill() {
        process.destroyForcibly();
    }

    /** Asks it to end, and forces it if it does not within a few seconds. */
    @Override
    public void close() {
        resume();
        process.destroy();
        awaitEnd(FAREWELL);
    }

    /** Waits for it to end by itself, and forces it if it does not in time. */
    public void awaitEnd(Duration timeout) {
        try {
            if (!process.waitFor(timeout.toMillis(), TimeUnit.MILLISECONDS)) {
                process.destroyForcibly();
                process.waitFor(FAREWELL.toMillis(), TimeUnit.MILLISECONDS);
            }
            watchdog.remove(process.pid());
        } catch (IOException watchdogGone) {
            // The process is reaped: its number may belong to another process now, and must not be signalled.
        } catch (InterruptedException interrupted) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }
}
