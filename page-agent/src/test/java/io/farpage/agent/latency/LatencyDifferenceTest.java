package io.farpage.agent.latency;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.rest.LatencyApi;
import io.farpage.rest.Json;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramLogWriter;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LatencyDifferenceTest {
    private static final long SECOND = 1_000_000_000L;

    @TempDir
    private Path directory = Path.of("");

    private final LatencyDifference difference = new LatencyDifference();

    private static byte[] answer(long process, long seconds, LatencyApi.Recorder... recorders) {
        return Json.STRICT.writeValueAsBytes(
                new LatencyApi.Latencies(process, seconds * 1000, seconds * SECOND, List.of(recorders)));
    }

    private static LatencyApi.Recorder recorder(long id, String series, long... nanos) {
        Histogram histogram = new Histogram(3);
        Arrays.stream(nanos).forEach(histogram::recordValue);
        ByteBuffer bytes = ByteBuffer.allocate(histogram.getNeededByteBufferCapacity());
        int length = histogram.encodeIntoCompressedByteBuffer(bytes);
        return new LatencyApi.Recorder(
                id, series, Base64.getEncoder().encodeToString(Arrays.copyOf(bytes.array(), length)));
    }

    private static Histogram of(LatencyInterval interval, String series) {
        return Objects.requireNonNull(interval.series().get(series), series);
    }

    private static void assertSays(String text, Exception e) {
        assertTrue(String.valueOf(e.getMessage()).contains(text), e.toString());
    }

    @Test
    void shouldShowWhatWasRecordedBetweenTwoAnswers() {
        assertTrue(difference
                .next(answer(1, 10, recorder(1, "fault:vm", 900_000, 5)))
                .isEmpty());
        LatencyInterval interval = difference
                .next(answer(1, 12, recorder(1, "fault:vm", 900_000, 5, 7, 8), recorder(2, "fault:vm", 20)))
                .orElseThrow();
        assertEquals(2, interval.seconds());
        assertEquals(Set.of("fault", "fault:vm"), interval.series().keySet());
        Histogram both = of(interval, "fault:vm");
        assertEquals(3, both.getTotalCount());
        assertEquals(20, both.getMaxValue(), "not the 900 us from before");
        assertEquals(both, interval.series().get("fault"));
    }

    @Test
    void shouldCompareNothingWithAnotherProcess() {
        assertTrue(difference.next(answer(1, 10, recorder(1, "fault:vm", 5))).isEmpty());
        assertTrue(difference.next(answer(2, 11, recorder(1, "fault:vm", 5, 6))).isEmpty());
        LatencyInterval next =
                difference.next(answer(2, 12, recorder(1, "fault:vm", 5, 6, 7))).orElseThrow();
        assertEquals(1, of(next, "fault").getTotalCount());
    }

    @Test
    void shouldRefuseWhatIsNoAnswer() {
        for (String text : List.of("", "[]", "{\"process\": 1}", "nonsense")) {
            assertThrows(
                    IllegalArgumentException.class, () -> difference.next(text.getBytes(StandardCharsets.UTF_8)), text);
        }
        byte[] noHistogram = answer(1, 1, new LatencyApi.Recorder(1, "fault:vm", "AAAA"));
        assertSays("fault:vm", assertThrows(IllegalArgumentException.class, () -> difference.next(noHistogram)));
    }

    @Test
    void shouldReadALogThatAnotherProgramHasWritten() throws Exception {
        Path file = directory.resolve("other.hlog");
        try (PrintStream out = new PrintStream(Files.newOutputStream(file), false, StandardCharsets.UTF_8)) {
            HistogramLogWriter writer = new HistogramLogWriter(out);
            writer.outputLogFormatVersion();
            writer.outputStartTime(1_700_000_000_000L);
            writer.outputLegend();
            Histogram histogram = new Histogram(3);
            histogram.recordValue(3_000);
            writer.outputIntervalHistogram(0, 2.0, histogram, 1e6);
            writer.outputIntervalHistogram(2.0, 4.0, histogram, 1e6);
        }
        List<LatencyInterval> intervals = new ArrayList<>();
        assertTrue(LatencyLogReader.read(file, intervals::add));
        assertEquals(2, intervals.size());
        assertEquals(1_700_000_002_000L, intervals.getLast().from().toEpochMilli());
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        LatencyPrinter printer = new LatencyPrinter(new PrintWriter(printed, true, StandardCharsets.UTF_8), false);
        assertTrue(printer.print(intervals.getLast()));
        List<String> lines = printed.toString(StandardCharsets.UTF_8).lines().toList();
        assertTrue(lines.get(1).matches("22:13:24.000 +untagged +0\\.5 +3\\.0 +3\\.0 +3\\.0 +3\\.0"), lines.toString());
    }

    @Test
    void shouldRefuseAFileThatIsNoLog() throws Exception {
        for (String text : List.of(
                "nonsense\nmore\n",
                "Tag=fault,0.1,1.0,0.1,HISTFAAAA\n",
                "0.1,1.0,0.1,!!!!\n",
                "Tag=fault,x,y,z,HISTF\n")) {
            Path file = Files.writeString(directory.resolve("text"), text);
            IOException refused =
                    assertThrows(IOException.class, () -> LatencyLogReader.read(file, each -> true), text);
            assertSays("is not an interval log", refused);
            assertSays(file.toString(), refused);
        }
        IOException missing = assertThrows(
                IOException.class, () -> LatencyLogReader.read(directory.resolve("missing"), each -> true));
        assertSays("latency.directory", missing);
    }
}
