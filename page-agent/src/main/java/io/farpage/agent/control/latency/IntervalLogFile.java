package io.farpage.agent.control.latency;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramLogWriter;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Files of HdrHistogram's interval log format, version 1.3, in a directory: one is written until it would become too
 * large, then the next one, and the oldest are deleted. An interval is in one file, whole or not at all. Used by one
 * thread.
 */
final class IntervalLogFile implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(IntervalLogFile.class);
    private static final FileAttribute<Set<PosixFilePermission>> OWNER_ONLY =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
    private static final FileAttribute<Set<PosixFilePermission>> OWNER_ONLY_DIRECTORY =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));
    private static final Set<OpenOption> NEW =
            Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS);
    private static final DateTimeFormatter STAMP =
            DateTimeFormatter.ofPattern("uuuuMMdd'T'HHmmss.SSS'Z'", Locale.ROOT).withZone(ZoneOffset.UTC);
    private static final double MILLIS_PER_SECOND = 1e3;
    private static final double NANOS_PER_MILLI = 1e6;

    private final Options options;
    private final Supplier<Instant> clock;
    private @Nullable FileChannel channel;
    /** Milliseconds since 1970 that the times of the open file count from. */
    private long base;

    /**
     * Where the log is, and how much of it.
     *
     * @param directory made if missing
     * @param node is in the names of the files
     * @param maxBytes of one file
     * @param keep full files beside the one that is written
     */
    record Options(Path directory, String node, long maxBytes, int keep) {}

    IntervalLogFile(Options options, Supplier<Instant> clock) {
        this.options = options;
        this.clock = clock;
    }

    /**
     * Appends one interval: a line for each series. A file that cannot be written is given up, and the next call begins
     * another one.
     *
     * @param from milliseconds since 1970
     * @param to milliseconds since 1970, after {@code from}
     * @throws IOException if it cannot be written; then none of it is in the file
     */
    void append(long from, long to, SortedMap<String, Histogram> series) throws IOException {
        FileChannel open = channel;
        if (open == null) {
            open = begin();
        }
        byte[] lines = lines(from, to, series);
        if (open.size() + lines.length > options.maxBytes()) {
            forget();
            open = begin();
            lines = lines(from, to, series);
        }
        long size = open.size();
        try {
            write(open, lines);
        } catch (IOException e) {
            giveUp(open, size);
            throw e;
        }
    }

    private byte[] lines(long from, long to, SortedMap<String, Histogram> series) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        HistogramLogWriter writer = new HistogramLogWriter(bytes);
        for (Map.Entry<String, Histogram> each : series.entrySet()) {
            Histogram nanos = each.getValue();
            nanos.setTag(each.getKey());
            writer.outputIntervalHistogram(
                    (from - base) / MILLIS_PER_SECOND, (to - base) / MILLIS_PER_SECOND, nanos, NANOS_PER_MILLI);
        }
        writer.close();
        return bytes.toByteArray();
    }

    private FileChannel begin() throws IOException {
        if (!Files.isDirectory(options.directory())) {
            Files.createDirectories(options.directory(), OWNER_ONLY_DIRECTORY);
        }
        Instant now = clock.get();
        while (Files.exists(path(now), LinkOption.NOFOLLOW_LINKS)) {
            now = now.plusMillis(1);
        }
        FileChannel open = FileChannel.open(path(now), NEW, OWNER_ONLY);
        try {
            write(open, head(now));
        } catch (IOException e) {
            giveUp(open, 0);
            Files.deleteIfExists(path(now));
            throw e;
        }
        base = now.toEpochMilli();
        channel = open;
        deleteOld();
        return open;
    }

    private static byte[] head(Instant start) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        HistogramLogWriter writer = new HistogramLogWriter(new PrintStream(bytes, false, StandardCharsets.UTF_8));
        writer.outputComment("[Logged by page-agent: nanoseconds; Interval_Max in milliseconds]");
        writer.outputLogFormatVersion();
        writer.outputStartTime(start.toEpochMilli());
        writer.outputLegend();
        writer.close();
        return bytes.toByteArray();
    }

    private Path path(Instant start) {
        return options.directory().resolve("latency-%s-%s.hlog".formatted(options.node(), STAMP.format(start)));
    }

    private void deleteOld() throws IOException {
        List<Path> files = files();
        for (Path old : files.subList(0, Math.max(0, files.size() - options.keep() - 1))) {
            Files.deleteIfExists(old);
        }
    }

    /** The files of this node, oldest first. */
    private List<Path> files() throws IOException {
        Pattern name = Pattern.compile("latency-" + Pattern.quote(options.node()) + "-\\d{8}T\\d{6}\\.\\d{3}Z\\.hlog");
        try (Stream<Path> all = Files.list(options.directory())) {
            return all.filter(
                            file -> name.matcher(file.getFileName().toString()).matches())
                    .sorted(Comparator.comparing(Path::toString))
                    .toList();
        }
    }

    private static void write(FileChannel open, byte[] lines) throws IOException {
        ByteBuffer bytes = ByteBuffer.wrap(lines);
        while (bytes.hasRemaining()) {
            open.write(bytes);
        }
    }

    /** An interval that was written in part would make the log unreadable. */
    private void giveUp(FileChannel open, long size) {
        try {
            open.truncate(size);
            open.position(size);
        } catch (IOException e) {
            log.debug("{}: {}", options.directory(), e.toString());
            forget();
        }
    }

    private void forget() {
        FileChannel open = channel;
        channel = null;
        try {
            if (open != null) {
                open.close();
            }
        } catch (IOException e) {
            // Nothing is buffered in this process: what was written is in the file.
            log.debug("{}: {}", options.directory(), e.toString());
        }
    }

    @Override
    public void close() {
        forget();
    }
}
