package io.farpage.agent.control.latency;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.HdrHistogram.EncodableHistogram;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramLogReader;
import org.HdrHistogram.SingleWriterRecorder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the log holds, read with HdrHistogram's own reader. */
class LatencyLogTest {
    private static final long HIGHEST = 100_000_000_000L;
    private static final long LARGE = 1 << 30;
    private static final Duration SECOND = Duration.ofSeconds(1);

    @TempDir
    private Path parent = Path.of("");

    private final List<LatencySeries> series = new ArrayList<>();
    private Instant now = Instant.parse("2026-01-02T03:04:05Z");

    private SingleWriterRecorder record(String what, String whose) {
        SingleWriterRecorder recorder = new SingleWriterRecorder(HIGHEST, 3);
        series.add(LatencySeries.of(what, whose, new LatencyTotals(recorder)));
        return recorder;
    }

    private LatencyLog log(Path directory, long maxBytes, int keep) {
        return new LatencyLog(
                new LatencyLog.Options(directory, SECOND, maxBytes, keep), "a", () -> List.copyOf(series), () -> now);
    }

    private void logAfterASecond(LatencyLog log) {
        now = now.plus(SECOND);
        log.log();
    }

    private static List<Histogram> read(Path directory, String tag) throws IOException {
        List<Histogram> found = new ArrayList<>();
        for (Path file : files(directory)) {
            try (HistogramLogReader reader = new HistogramLogReader(file.toFile())) {
                while (reader.hasNext()) {
                    EncodableHistogram next = reader.nextIntervalHistogram();
                    if (next instanceof Histogram one && tag.equals(one.getTag())) {
                        found.add(one);
                    }
                }
            }
        }
        return found;
    }

    private static List<Path> files(Path directory) throws IOException {
        try (Stream<Path> all = Files.list(directory)) {
            return all.sorted().toList();
        }
    }

    @Test
    void shouldLogWhatWasRecordedInEachInterval() throws Exception {
        long seed = 20_261_123;
        SplittableRandom random = new SplittableRandom(seed);
        SingleWriterRecorder one = record("fault", "vm1");
        SingleWriterRecorder other = record("fault", "vm2");
        LatencyLog log = log(parent, LARGE, 3);
        List<Histogram> recorded = new ArrayList<>();
        List<Histogram> recordedByBoth = new ArrayList<>();
        for (int interval = 0; interval < 5; interval++) {
            Histogram expected = new Histogram(HIGHEST, 3);
            Histogram both = new Histogram(HIGHEST, 3);
            for (int count = 1000 * (interval + 1); count > 0; count--) {
                long nanos = random.nextLong(1_000, 5_000_000_000L);
                one.recordValue(nanos);
                expected.recordValue(nanos);
                both.recordValue(nanos);
                other.recordValue(nanos / 2);
                both.recordValue(nanos / 2);
            }
            recorded.add(expected);
            recordedByBoth.add(both);
            logAfterASecond(log);
        }
        assertEquals(recorded, read(parent, "fault:vm1"), "seed " + seed);
        assertEquals(recordedByBoth, read(parent, "fault"), "seed " + seed);
        Histogram third = read(parent, "fault:vm1").get(2);
        assertEquals(Instant.parse("2026-01-02T03:04:07Z").toEpochMilli(), third.getStartTimeStamp());
        assertEquals(Instant.parse("2026-01-02T03:04:08Z").toEpochMilli(), third.getEndTimeStamp());
        assertEquals(5, log.written());
    }

    @Test
    void shouldLogTheLastFaultsOfAGuestThatHasEnded() throws Exception {
        SingleWriterRecorder guest = record("fault", "vm1");
        LatencyLog log = log(parent, LARGE, 3);
        guest.recordValue(5);
        logAfterASecond(log);
        guest.recordValue(7);
        series.clear();
        logAfterASecond(log);
        guest.recordValue(9);
        logAfterASecond(log);
        assertEquals(
                List.of(5L, 7L),
                read(parent, "fault:vm1").stream().map(Histogram::getMaxValue).toList());
    }

    @Test
    void shouldShowThatTheAgentRanThoughNothingWasRecorded() throws Exception {
        record("fault", "vm1");
        LatencyLog log = log(parent, LARGE, 3);
        logAfterASecond(log);
        logAfterASecond(log);
        assertEquals(2, read(parent, "fault").size());
        assertEquals(List.of(), read(parent, "fault:vm1"));
    }

    @Test
    void shouldKeepTheDirectoryWithinItsBound() throws Exception {
        long seed = 20_261_124;
        SplittableRandom random = new SplittableRandom(seed);
        SingleWriterRecorder recorder = record("fault", "vm1");
        Path foreign = Files.writeString(parent.resolve("latency-b-20260102T030405.000Z.hlog"), "of another node");
        int maxBytes = 20_000;
        LatencyLog log = log(parent, maxBytes, 2);
        for (int interval = 0; interval < 200; interval++) {
            for (int count = 0; count < 200; count++) {
                recorder.recordValue(random.nextLong(1_000, 5_000_000_000L));
            }
            logAfterASecond(log);
        }
        assertTrue(Files.exists(foreign));
        Files.delete(foreign);
        List<Path> files = files(parent);
        assertEquals(3, files.size(), files.toString());
        for (Path file : files) {
            assertTrue(Files.size(file) <= maxBytes, file + ": " + Files.size(file));
        }
        List<Histogram> kept = read(parent, "fault:vm1");
        assertEquals(now.toEpochMilli(), kept.getLast().getEndTimeStamp());
        for (int next = 1; next < kept.size(); next++) {
            assertEquals(
                    kept.get(next - 1).getEndTimeStamp(), kept.get(next).getStartTimeStamp(), "no interval is missing");
        }
    }

    @Test
    void shouldCountWhatADirectoryThatCannotBeMadeHasLostAndGoOn() throws Exception {
        SingleWriterRecorder recorder = record("fault", "vm1");
        Path inTheWay = Files.writeString(parent.resolve("logs"), "a file");
        LatencyLog log = log(inTheWay, LARGE, 3);
        recorder.recordValue(1);
        logAfterASecond(log);
        logAfterASecond(log);
        assertEquals(2, log.lost());
        Files.delete(inTheWay);
        recorder.recordValue(3);
        logAfterASecond(log);
        assertEquals(2, log.lost());
        assertEquals(1, log.written());
        assertEquals(3, read(inTheWay, "fault:vm1").getFirst().getMaxValue());
    }

    /** A real disk of 64 KiB. */
    @Test
    void shouldLeaveAReadableLogWhenTheDiskIsFull() throws Exception {
        Path disk = Files.createDirectory(parent.resolve("disk"));
        assumeTrue(
                run("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk.toString()),
                "skipped: no file system of 64 KiB can be mounted here; run as root");
        try {
            fill(disk);
        } finally {
            assertTrue(run("umount", disk.toString()));
        }
    }

    private void fill(Path disk) throws IOException {
        SplittableRandom random = new SplittableRandom(1);
        SingleWriterRecorder recorder = record("fault", "vm1");
        LatencyLog log = log(disk, LARGE, 3);
        for (int interval = 0; interval < 100; interval++) {
            for (int count = 0; count < 500; count++) {
                recorder.recordValue(random.nextLong(1_000, 5_000_000_000L));
            }
            logAfterASecond(log);
        }
        log.close();
        assertTrue(log.lost() > 0, "the disk was full");
        assertEquals(100, log.written() + log.lost());
        assertEquals(log.written(), read(disk, "fault:vm1").size());
        assertTrue(read(disk, "fault:vm1").stream().allMatch(one -> one.getTotalCount() == 500));
    }

    private static boolean run(String... command) throws IOException, InterruptedException {
        try {
            Process process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .start();
            return process.waitFor(10, TimeUnit.SECONDS) && process.exitValue() == 0;
        } catch (IOException e) {
            return false;
        }
    }

    @Test
    void shouldLogTheRestWhenItEnds() throws Exception {
        SingleWriterRecorder recorder = record("fault", "vm1");
        LatencyLog log = new LatencyLog(
                new LatencyLog.Options(parent, Duration.ofHours(1), LARGE, 3),
                "a",
                () -> List.copyOf(series),
                Instant::now);
        log.start();
        recorder.recordValue(11);
        log.close();
        assertEquals(11, read(parent, "fault:vm1").getFirst().getMaxValue());
    }
}
