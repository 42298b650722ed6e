package io.farpage.bench.process;

import io.farpage.guest.command.CommandException;
import java.io.BufferedReader;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** The lines that a child writes to its standard output, read by a thread so that a wait for one can have an end. */
public final class SpokenLines {
    private static final Duration FAREWELL = Duration.ofSeconds(5);

    private final Child child;
    private final BlockingQueue<Optional<String>> lines = new LinkedBlockingQueue<>();

    /** @param child started to be spoken with */
    public SpokenLines(Child child) {
        this.child = child;
        Thread.ofVirtual().name("output of the " + child.name()).start(this::listen);
    }

    private void listen() {
        try (BufferedReader out = child.process().inputReader()) {
            for (String line = out.readLine(); line != null; line = out.readLine()) {
                lines.add(Optional.of(line));
            }
        } catch (IOException closed) {
            // As at its end.
        }
        lines.add(Optional.empty());
    }

    /**
     * Waits for the next line.
     *
     * @throws CommandException if the child ends or says nothing in time
     */
    public String next(Duration timeout) throws InterruptedException {
        Optional<String> line = lines.poll(timeout.toMillis(), TimeUnit.MILLISECONDS);
        if (line == null) {
            throw new CommandException(
                    "the " + child.name() + " says nothing within " + timeout.toSeconds() + " s: " + child.lastWords());
        }
        if (line.isEmpty()) {
            child.awaitEnd(FAREWELL);
            throw new CommandException(child.lastWords());
        }
        return line.get();
    }
}
