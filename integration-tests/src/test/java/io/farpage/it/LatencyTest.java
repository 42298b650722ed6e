package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.Main;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.ChildJvm;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.ClusterLog;
import io.farpage.it.harness.Command;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.JvmLog;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.PagedRam;
import io.farpage.it.harness.Pages;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.HdrHistogram.EncodableHistogram;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramLogReader;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Latencies of real faults, in the log of an agent and as {@code page-agent latency} shows them, against what the
 * agent's status says.
 */
@NeedsUserfaultfd
class LatencyTest {
    private static final int PAGES = 1024;
    private static final int LOCAL_PAGES = 256;
    private static final int PAGE = 4096;

    @TempDir
    private Path directory = Path.of("");

    private Optional<Cluster> cluster = Optional.empty();

    @RegisterExtension
    final ClusterLog log = new ClusterLog(() -> cluster.orElseThrow());

    @AfterEach
    void end() {
        cluster.ifPresent(Cluster::close);
    }

    private Cluster start(Map<String, String> settings) {
        Cluster started = Cluster.of(settings, "a", "b");
        cluster = Optional.of(started);
        started.awaitAllLinks();
        return started;
    }

    /** Each page that is not resident is a fault. */
    private static void attachWithoutReadahead(Guests guests, Path socket) {
        String request = """
                {"socket": "%s", "sizeBytes": %d, "pageSize": %d, "homes": ["b"], "localBytes": %d, \
                "prefetchPages": 1}""".formatted(socket, PAGES * PAGE, PAGE, LOCAL_PAGES * PAGE);
        guests.tryAttach("vm1", request).expect(200);
    }

    @Test
    @Tag("processes")
    void shouldLogAndShowTheFaultsOfAGuestAsItsStatusHasThem() throws Exception {
        Path logs = directory.resolve("logs");
        Cluster two = start(Map.of("latency.directory", logs.toString(), "latency.interval", "100ms"));
        Guests guests = new Guests(two, "a", "b");
        Path socket = directory.resolve("vmm");
        attachWithoutReadahead(guests, socket);
        String agent = two.agent("a").rest().base().toString();
        JsonNode status;
        ChildJvm watch = ChildJvm.start(
                "watch", Main.class, List.of("latency", "--watch", "--interval", "200ms", "--json", "--agent", agent));
        try (watch;
                PagedRam ram = PagedRam.handOver(socket, PAGES)) {
            guests.awaitAttached("vm1");
            await("the watch has begun", Deadlines.LONG)
                    .until(() -> !rows(watch.out(), "fault").isEmpty());
            for (int round = 0; round < 3; round++) {
                for (int page = 0; page < PAGES; page++) {
                    ram.write(page, Pages.of(round, page, PAGE));
                }
            }
            status = guests.status("vm1");
            long faults = status.get("fetchedFaults").asLong();
            assertTrue(faults > PAGES, "faults that fetch: " + faults);
            int shown = rows(watch.out(), "fault").size();
            await("two intervals without faults are shown", Deadlines.LONG)
                    .until(() -> rows(watch.out(), "fault").size() >= shown + 3);
            watch.interrupt();
            assertEquals(0, watch.awaitEnd(), watch.err());
            assertEquals("", watch.err());
        }
        guests.awaitEnded("vm1");
        two.agent("a").stop();

        Histogram logged = logged(logs, "fault:vm1");
        checkAgainst(status, logged, logged(logs, "install:vm1"));
        assertEquals(logged.getTotalCount(), count(rows(watch.out(), "fault:vm1")), "what the watch has shown");
        assertTrue(logged(logs, "fault").equals(logged), "the only guest is the sum");

        Command read = Command.agent(
                        "latency",
                        "--json",
                        "--file",
                        files(logs, "a").getFirst().toString())
                .done();
        assertEquals(logged.getTotalCount(), count(rows(read.out(), "fault:vm1")));
        assertEquals(
                logged.getMaxValue(),
                rows(read.out(), "fault:vm1").stream()
                        .mapToLong(row -> row.get("maxNs").asLong())
                        .max()
                        .orElseThrow());
    }

    /** The guest stood still when its status was taken, so both have the same values. */
    private static void checkAgainst(JsonNode status, Histogram fault, Histogram install) {
        assertEquals(status.get("faultP50Ns").asLong(), fault.getValueAtPercentile(50));
        assertEquals(status.get("faultP99Ns").asLong(), fault.getValueAtPercentile(99));
        assertEquals(status.get("faultP999Ns").asLong(), fault.getValueAtPercentile(99.9));
        assertEquals(status.get("faultMaxNs").asLong(), fault.getMaxValue());
        assertEquals(status.get("installP99Ns").asLong(), install.getValueAtPercentile(99));
    }

    private static List<JsonNode> rows(String printed, String series) {
        List<JsonNode> rows = new ArrayList<>();
        printed.substring(0, printed.lastIndexOf('\n') + 1).lines().forEach(line -> {
            JsonNode row = JsonMapper.shared().readTree(line);
            if (row.get("series").asString().equals(series)) {
                rows.add(row);
            }
        });
        return rows;
    }

    private static long count(List<JsonNode> rows) {
        return rows.stream().mapToLong(row -> row.get("count").asLong()).sum();
    }

    private static Histogram logged(Path logs, String series) throws IOException {
        Histogram all = new Histogram(3);
        for (Path file : files(logs, "a")) {
            try (HistogramLogReader reader = new HistogramLogReader(file.toFile())) {
                while (reader.hasNext()) {
                    EncodableHistogram next = reader.nextIntervalHistogram();
                    if (next instanceof Histogram one && series.equals(one.getTag())) {
                        all.add(one);
                    }
                }
            }
        }
        return all;
    }

    private static List<Path> files(Path logs, String node) throws IOException {
        try (Stream<Path> all = Files.list(logs)) {
            return all.filter(file -> file.getFileName().toString().startsWith("latency-" + node + "-"))
                    .sorted()
                    .toList();
        }
    }

    @Test
    void shouldPageOnWhenTheLogCannotBeWritten() throws Exception {
        Path inTheWay = Files.writeString(directory.resolve("logs"), "a file");
        JvmLog log = new JvmLog();
        Cluster two = start(Map.of("latency.directory", inTheWay.toString(), "latency.interval", "100ms"));
        Guests guests = new Guests(two, "a", "b");
        Path socket = directory.resolve("vmm");
        attachWithoutReadahead(guests, socket);
        try (log;
                PagedRam ram = PagedRam.handOver(socket, PAGES)) {
            guests.awaitAttached("vm1");
            for (int page = 0; page < PAGES; page++) {
                ram.write(page, Pages.of(1, page, PAGE));
            }
            await("several intervals are lost", Deadlines.LONG).until(() -> lost(two) >= 5);
            // One line of each of the two agents.
            List<String> said = log.lines().stream()
                    .filter(line -> line.contains("latency.directory " + inTheWay))
                    .toList();
            assertEquals(2, said.size(), said::toString);
        }
        guests.awaitEnded("vm1");
    }

    private static long lost(Cluster two) {
        return two.agent("a")
                .rest()
                .get("/metrics")
                .expect(200)
                .text()
                .lines()
                .filter(line -> line.startsWith("farpage_agent_latency_intervals_lost_total "))
                .mapToLong(line -> (long) Double.parseDouble(line.substring(line.indexOf(' ') + 1)))
                .sum();
    }

    @Test
    void shouldNameWrongValuesAndTheFix() {
        refuse(2, "--file shows the intervals that the log has; leave out --watch", "--watch", "--file", "x");
        refuse(2, "--interval 1 ms is not from 100ms to 1h", "--interval", "1ms");
        refuse(1, "is not a file; give one of the files latency-*.hlog in latency.directory", "--file", "/nonexistent");
        refuse(1, "no answer from the agent at http://127.0.0.1:1", "--watch", "--agent", "http://127.0.0.1:1");
    }

    private static void refuse(int code, String message, String... options) {
        Command command = Command.agent(
                Stream.concat(Stream.of("latency"), Stream.of(options)).toList());
        assertEquals(code, command.code(), command.err());
        assertTrue(command.err().contains(message), command.err());
        assertEquals("", command.out());
    }
}
