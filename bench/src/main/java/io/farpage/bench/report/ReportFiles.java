package io.farpage.bench.report;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import org.HdrHistogram.Histogram;

/**
 * Writes a report's files: {@code fetch.json}, {@code fetch.html}, and for each run {@code fetch-NAME.hgrm} and
 * {@code fetch-NAME-baseline.hgrm}; {@code fault} instead of {@code fetch} if that is its subject. Each file appears
 * whole or not at all, so that a reader never sees half of one.
 */
public final class ReportFiles {
    private static final int HGRM_TICKS_PER_HALF = 5;

    private ReportFiles() {}

    /** Writes into a directory, made if need be, over what was there; returns what was written, JSON and HTML first. */
    public static List<Path> write(FetchReport report, Path directory) throws IOException {
        Files.createDirectories(directory);
        String subject = report.subject().label();
        List<Path> written = new ArrayList<>();
        written.add(replace(directory.resolve(subject + ".json"), ReportJson.render(report)));
        written.add(replace(directory.resolve(subject + ".html"), ReportPage.render(report)));
        for (FetchRun run : report.runs()) {
            String name = subject + "-" + run.settings().name();
            written.add(replace(directory.resolve(name + ".hgrm"), percentiles(run.latencies())));
            if (run.baseline() instanceof Baseline.Measured measured) {
                Histogram baseline = FetchRun.merged(measured.rounds());
                written.add(replace(directory.resolve(name + "-baseline.hgrm"), percentiles(baseline)));
            }
        }
        return written;
    }

    /** HdrHistogram's percentile table, in nanoseconds. */
    private static String percentiles(Histogram latencies) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (PrintStream out = new PrintStream(bytes, false, StandardCharsets.UTF_8)) {
            latencies.outputPercentileDistribution(out, HGRM_TICKS_PER_HALF, 1.0);
        }
        return bytes.toString(StandardCharsets.UTF_8);
    }

    private static Path replace(Path target, String text) throws IOException {
        Path parent = target.toAbsolutePath().getParent();
        Path whole = Files.createTempFile(parent, target.getFileName().toString(), ".part");
        try {
            Files.writeString(whole, text);
            return Files.move(whole, target, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } finally {
            Files.deleteIfExists(whole);
        }
    }
}
