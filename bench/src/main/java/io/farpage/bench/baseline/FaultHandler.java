package io.farpage.bench.baseline;

import io.farpage.bench.process.Child;
import io.farpage.bench.process.Children;
import io.farpage.guest.command.CommandException;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * The C program that resolves the faults of one {@link FaultToucher} after another with pages that it fetches from a
 * process of its own. It sleeps while there is no toucher. Used by one thread.
 */
public final class FaultHandler implements AutoCloseable {
    private static final Duration FAREWELL = Duration.ofSeconds(5);
    private static final String READY = "ready ";

    private final Child child;
    private final Path socket;
    private final String backing;

    /**
     * How it is reached, and what it reaches.
     *
     * @param socket where it listens for memory
     * @param source protocol and port of the server that has its pages; empty: a process of its own
     */
    public record Doors(Path socket, List<String> source) {
        public Doors {
            source = List.copyOf(source);
        }
    }

    private FaultHandler(Child child, Path socket, String backing) {
        this.child = child;
        this.socket = socket;
        this.backing = backing;
    }

    /**
     * Starts it and waits until its pages are filled.
     *
     * @param doors where it listens for memory, and where its pages are
     * @param settings of the fetches; what is measured is the toucher's to say
     */
    public static FaultHandler start(
            Children children, Path program, Doors doors, BaselineSettings settings, Duration timeout)
            throws InterruptedException {
        List<String> command =
                new ArrayList<>(List.of(program.toString(), doors.socket().toString()));
        command.addAll(doors.source());
        command.addAll(settings.arguments());
        Child child = children.launch("fault baseline " + doors.socket().getFileName(), command, true);
        CompletableFuture<Optional<String>> first = new CompletableFuture<>();
        Thread.ofVirtual().name("fault-baseline-output").start(() -> first.complete(firstLine(child)));
        try {
            String line = first.get(timeout.toMillis(), TimeUnit.MILLISECONDS).orElse("");
            if (line.startsWith(READY)) {
                return new FaultHandler(child, doors.socket(), line.substring(READY.length()));
            }
            child.awaitEnd(FAREWELL);
            throw new CommandException(child.lastWords());
        } catch (TimeoutException | ExecutionException e) {
            child.close();
            throw new CommandException(
                    "the fault baseline was not ready within " + timeout.toSeconds() + " s: " + child.lastWords(), e);
        }
    }

    private static Optional<String> firstLine(Child child) {
        try {
            BufferedReader reader = child.process().inputReader(StandardCharsets.UTF_8);
            return Optional.ofNullable(reader.readLine());
        } catch (IOException gone) {
            return Optional.empty();
        }
    }

    /** Where it listens for memory. */
    public Path socket() {
        return socket;
    }

    /** What its pages are made of. */
    public String backing() {
        return backing;
    }

    /** Ids of the program and of its server. */
    public List<Long> processes() {
        return BaselineProcess.family(child.process());
    }

    /** Why it ended, if it did. */
    public Optional<String> lastWords() {
        return child.isAlive() ? Optional.empty() : Optional.of(child.lastWords());
    }

    /** Ends it, and its server with it. */
    @Override
    public void close() {
        try {
            child.process().outputWriter().close();
        } catch (IOException gone) {
            // It has ended already.
        }
        child.awaitEnd(FAREWELL);
    }
}
