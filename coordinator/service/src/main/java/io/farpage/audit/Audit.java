package io.farpage.audit;

import io.farpage.config.ConfigException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.json.JsonMapper;

/**
 * Where the events of one program go. Any thread may record an event; it does not wait for the disk. A thread of the
 * audit writes the lines in their order. If the file cannot be written, the thread says so in the log, keeps the line
 * and tries again; lines that find the queue full are lost and counted.
 */
public final class Audit implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(Audit.class);
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final int QUEUE = 8_192;
    private static final Duration RETRY = Duration.ofMillis(500);
    private static final Duration LOG_AGAIN = Duration.ofMinutes(1);
    private static final Duration SUMMARY = Duration.ofSeconds(10);
    private static final Duration DRAIN = Duration.ofSeconds(2);
    private static final Duration REQUIRED_WITHIN = Duration.ofSeconds(2);

    private final Source source;
    private final Optional<Sink> sink;
    /** Where refusals go if there is no file; empty if they are not kept either. */
    private final Optional<Consumer<String>> otherwise;

    private final Floods floods = new Floods(System::nanoTime);
    private final AtomicLong written = new AtomicLong();
    private final AtomicLong suppressed = new AtomicLong();
    private final AtomicLong failures = new AtomicLong();
    private volatile boolean closed;

    /**
     * The program that writes.
     *
     * @param program its name
     * @param node of an agent; empty for the coordinator
     */
    public record Source(String program, String node) {}

    /**
     * Where and how much is written.
     *
     * @param file that lines are appended to
     * @param maxBytes of it before it is rotated
     * @param keep rotated files
     * @param required whether administrative acts are refused while the file cannot be written
     */
    public record Options(Path file, long maxBytes, int keep, boolean required) {}

    /** A file, and the lines that wait for it. */
    private record Sink(Options options, AuditFile file, BlockingQueue<Line> queue, Thread thread) {}

    /** A line, and whether it is in the file. */
    private record Line(String text, CompletableFuture<Void> done) {
        Line(String text) {
            this(text, new CompletableFuture<>());
        }

        /** Wakes the audit's thread when it must end; is written nowhere. */
        static Line end() {
            return new Line("");
        }

        boolean isEnd() {
            return text.isEmpty();
        }

        byte[] bytes() {
            return text.getBytes(StandardCharsets.UTF_8);
        }
    }

    private Audit(Source source, Optional<Options> options, Optional<Consumer<String>> otherwise) {
        this.source = source;
        this.otherwise = otherwise;
        this.sink = options.map(this::open);
    }

    private Sink open(Options options) {
        try {
            AuditFile file = AuditFile.open(
                    options.file(), new AuditFile.Limits(options.maxBytes(), options.keep()), Instant::now);
            BlockingQueue<Line> queue = new ArrayBlockingQueue<>(QUEUE);
            return new Sink(
                    options,
                    file,
                    queue,
                    Thread.ofPlatform().daemon().name("audit").unstarted(() -> run(file, queue, options.file())));
        } catch (IOException e) {
            throw new ConfigException(List.of("audit.file: '%s' cannot be written: %s; choose another file, or 'off'"
                    .formatted(options.file(), e)));
        }
    }

    /** Keeps nothing. */
    public static Audit off(Source source) {
        return new Audit(source, Optional.empty(), Optional.empty());
    }

    /** Has no file: the lines of refused attempts go to the program's log, within the same bounds. */
    public static Audit refusalsInLog(Source source) {
        return refusalsTo(source, line -> LOG.warn("{}", line));
    }

    static Audit refusalsTo(Source source, Consumer<String> log) {
        return new Audit(source, Optional.empty(), Optional.of(log));
    }

    /**
     * Opens the file and begins to write.
     *
     * @throws ConfigException if it cannot be written
     */
    public static Audit open(Source source, Options options) {
        Audit audit = new Audit(source, Optional.of(options), Optional.empty());
        audit.sink.ifPresent(open -> open.thread().start());
        return audit;
    }

    /**
     * Writes one event of a command to a file that a service may have open.
     *
     * @throws IOException if it cannot be written
     */
    public static void append(Path file, Source source, AuditEvent event) throws IOException {
        AuditFile.appendOnce(file, new Line(text(source, event)).bytes());
    }

    private static String text(Source source, AuditEvent event) {
        return JSON.writeValueAsString(event.fields(Instant.now(), source.program(), source.node())) + "\n";
    }

    /** Whether {@link #require} must announce administrative acts. */
    public boolean isRequired() {
        return sink.map(open -> open.options().required()).orElse(false);
    }

    /** Keeps an event. Any thread; does not wait for the file. */
    public void record(AuditEvent event) {
        if (sink.isEmpty() && (otherwise.isEmpty() || event.outcome().result() != AuditEvent.Result.REFUSED)) {
            return;
        }
        if (!floods.admit(event)) {
            suppressed.incrementAndGet();
            return;
        }
        if (sink.isPresent()) {
            offer(sink.get(), new Line(text(source, event)));
        } else {
            log(event);
        }
    }

    /** The counts of those that were not logged come with the next that is. */
    private void log(AuditEvent event) {
        otherwise.ifPresent(log -> {
            floods.drain()
                    .forEach((kind, count) ->
                            log.accept(text(source, suppressed(kind, count)).strip()));
            log.accept(text(source, event).strip());
            written.incrementAndGet();
        });
    }

    private static AuditEvent suppressed(String kind, long count) {
        return new AuditEvent(
                AuditEvent.Actor.PROGRAM, "suppressed", kind, AuditEvent.Outcome.OK, Map.of("count", count));
    }

    /**
     * Keeps an event, and waits until its line is written.
     *
     * @throws AuditUnavailableException if it is not within two seconds; the line may be written later
     */
    public void require(AuditEvent event) throws AuditUnavailableException {
        if (sink.isEmpty()) {
            return;
        }
        Path file = sink.get().options().file();
        Line line = new Line(text(source, event));
        offer(sink.get(), line);
        try {
            line.done().get(REQUIRED_WITHIN.toMillis(), TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw unavailable(file, "interrupted");
        } catch (TimeoutException e) {
            throw unavailable(file, "not written within " + REQUIRED_WITHIN.toSeconds() + " s");
        } catch (ExecutionException e) {
            throw unavailable(file, String.valueOf(e.getCause()));
        }
    }

    private static AuditUnavailableException unavailable(Path file, String reason) {
        return new AuditUnavailableException(
                ("the audit %s cannot be written (%s), and audit.required is true; make room for it or set"
                                + " audit.required: false")
                        .formatted(file, reason));
    }

    private void offer(Sink open, Line line) {
        if (closed || !open.queue().offer(line)) {
            failures.incrementAndGet();
            line.done().completeExceptionally(new IOException("too many lines wait to be written"));
        }
    }

    private void run(AuditFile file, BlockingQueue<Line> queue, Path path) {
        long summarized = System.nanoTime();
        Trouble trouble = new Trouble(path);
        try (file) {
            while (!closed || !queue.isEmpty()) {
                Line line = queue.poll(RETRY.toMillis(), TimeUnit.MILLISECONDS);
                if (line != null && !line.isEnd()) {
                    write(file, line, trouble);
                }
                if (System.nanoTime() - summarized >= SUMMARY.toNanos()) {
                    summarized = System.nanoTime();
                    summarize(file, trouble);
                }
            }
            summarize(file, trouble);
        } catch (InterruptedException e) {
            failures.addAndGet(queue.size());
            LOG.error("the audit {} ends with {} lines unwritten", path, queue.size());
        }
    }

    private void summarize(AuditFile file, Trouble trouble) throws InterruptedException {
        for (Map.Entry<String, Long> kind : floods.drain().entrySet()) {
            write(file, new Line(text(source, suppressed(kind.getKey(), kind.getValue()))), trouble);
        }
    }

    /** Writes a line, however often it takes. */
    private void write(AuditFile file, Line line, Trouble trouble) throws InterruptedException {
        while (true) {
            try {
                file.append(line.bytes());
                written.incrementAndGet();
                trouble.isOver();
                line.done().complete(null);
                return;
            } catch (IOException | RuntimeException e) {
                failures.incrementAndGet();
                trouble.is(e);
                line.done().completeExceptionally(e);
                if (closed) {
                    return;
                }
                Thread.sleep(RETRY);
            }
        }
    }

    /** What the log says while the file cannot be written. Used by the audit's thread. */
    private static final class Trouble {
        private final Path path;
        private @Nullable Long loggedAt;

        Trouble(Path path) {
            this.path = path;
        }

        void is(Exception failure) {
            long now = System.nanoTime();
            if (loggedAt == null || now - loggedAt >= LOG_AGAIN.toNanos()) {
                loggedAt = now;
                LOG.error(
                        "the audit {} cannot be written: {}; its lines wait, and are lost when too many do",
                        path,
                        failure.toString());
            }
        }

        void isOver() {
            if (loggedAt != null) {
                loggedAt = null;
                LOG.warn("the audit {} can be written again", path);
            }
        }
    }

    /** Lines written. */
    public long written() {
        return written.get();
    }

    /** Refusals that were counted instead of written. */
    public long suppressed() {
        return suppressed.get();
    }

    /** Attempts to write that failed, and lines that were lost. */
    public long failures() {
        return failures.get();
    }

    /** Writes what waits, for two seconds at most. */
    @Override
    public void close() {
        closed = true;
        sink.ifPresent(open -> {
            open.queue().offer(Line.end()); // A full queue needs none: a thread that has lines to write does not sleep.
            try {
                if (!open.thread().join(DRAIN)) {
                    open.thread().interrupt();
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
    }
}
