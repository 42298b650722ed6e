package io.farpage.agent.control.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import io.farpage.agent.data.coherence.DirectoryStatus;
import io.farpage.agent.data.pager.PagerStatus;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.model.DirectoryFigures;
import io.farpage.coordinator.model.FiguresReport;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.rest.Json;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Reports of figures to coordinators that know them and to an older one, over HTTP. */
class FigureReportsTest implements SampledGuests {
    private final HttpServer server;
    private final CoordinatorClient client;
    private final FigureReports reports;
    private final List<FiguresReport> received = new ArrayList<>();
    private final List<Set<Long>> requested = new ArrayList<>();
    private List<GuestSample> samples = List.of(sample(7, 100, 1_000), sample(8, 300, 9_000));
    private List<DirectoryStatus> directories = List.of();
    private int status = 200;
    private String answer = "{\"maps\":[]}";

    FigureReportsTest() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/api/v1/nodes/a/figures", exchange -> {
            received.add(Json.STRICT.readValue(exchange.getRequestBody().readAllBytes(), FiguresReport.class));
            byte[] body = answer.getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders()
                    .add("Content-Type", status == 200 ? "application/json" : "application/problem+json");
            exchange.sendResponseHeaders(status, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.start();
        client = new CoordinatorClient(
                URI.create("http://127.0.0.1:" + server.getAddress().getPort()), Duration.ofSeconds(30));
        reports = new FigureReports(
                client,
                "a",
                new Incarnation(5),
                this,
                new DirectorySamples(
                        () -> CompletableFuture.completedFuture(directories), Duration.ZERO, System::nanoTime));
    }

    @AfterEach
    void close() {
        client.close();
        server.stop(0);
    }

    @Override
    public List<GuestSample> samples() {
        return samples;
    }

    @Override
    public void requestMaps(Set<Long> spaces) {
        requested.add(spaces);
    }

    private static GuestSample sample(long space, long faults, long latency) {
        Histogram histogram = new Histogram(3);
        histogram.recordValueWithCount(latency, faults);
        return new GuestSample(
                space,
                PagerStatus.NONE,
                new GuestSample.Faults(faults + 10, histogram, histogram),
                Optional.of(new Parked(256, 4096, 1_750_000_000)),
                Optional.empty());
    }

    private void refuse(int with, String word) {
        status = with;
        answer = ("{\"type\":\"urn:farpage:problem:%s\",\"title\":\"no\",\"status\":%d,\"detail\":\"no\","
                        + "\"instance\":\"/x\"}")
                .formatted(word, with);
    }

    @Test
    void shouldReportEachGuestAndAllTogether() throws Exception {
        assertEquals(FigureReports.INTERVAL, reports.report());
        FiguresReport report = received.getFirst();
        assertEquals(new Incarnation(5), report.incarnation());
        assertEquals(
                List.of(7L, 8L),
                report.guests().stream().map(FiguresReport.Guest::space).toList());
        assertEquals(110, report.guests().getFirst().faults().faults());
        assertEquals(OptionalLong.of(1_750_000_000), report.guests().getFirst().parkedSince());
        assertEquals(100, report.guests().getFirst().faults().fetched());
        assertEquals(420, report.faults().faults());
        assertEquals(1, report.guests().getFirst().faults().faultP99Ns() / 1_000);
        assertEquals(9, report.faults().faultP50Ns() / 1_000, "of 400 faults 300 took 9 us");
    }

    @Test
    void shouldReportAgainSoonWhenAMapIsAskedForAnew() throws Exception {
        answer = "{\"maps\":[8]}";
        assertEquals(FigureReports.SOON, reports.report());
        assertEquals(FigureReports.INTERVAL, reports.report());
        assertEquals(List.of(Set.of(8L), Set.of(8L)), requested);
        answer = "{\"maps\":[7,8]}";
        assertEquals(FigureReports.SOON, reports.report());
    }

    @Test
    void shouldReportNothingWithoutAGuest() throws Exception {
        samples = List.of();
        assertEquals(FigureReports.INTERVAL, reports.report());
        assertTrue(received.isEmpty());
    }

    private static DirectoryStatus directory(long space) {
        return new DirectoryStatus(space, 64, List.of(), 3, 2, 1, 0, 0, List.of(), List.of());
    }

    @Test
    void shouldReportDirectoriesOnceTheyAreAskedFor() throws Exception {
        samples = List.of();
        directories = List.of(directory(9));
        answer = "{\"maps\":[],\"directories\":true}";
        assertEquals(FigureReports.SOON, reports.report());
        assertEquals(FigureReports.INTERVAL, reports.report());
        assertEquals(Optional.empty(), received.getFirst().directories());
        assertEquals(
                Optional.of(List.of(9L)),
                received.getLast()
                        .directories()
                        .map(all -> all.stream().map(DirectoryFigures::space).toList()));
    }

    @Test
    void shouldSendNoDirectoriesToAnOlderCoordinator() throws Exception {
        directories = List.of(directory(9));
        assertEquals(FigureReports.INTERVAL, reports.report());
        assertEquals(FigureReports.INTERVAL, reports.report());
        assertEquals(2, received.size());
        assertEquals(Optional.empty(), received.getLast().directories());
    }

    /** An older one that takes the place of one that knows them refuses the first report. */
    @Test
    void shouldSendNoDirectoriesAfterARefusal() throws Exception {
        directories = List.of(directory(9));
        answer = "{\"maps\":[],\"directories\":true}";
        reports.report();
        refuse(400, "bad-request");
        assertThrows(CoordinatorRefusedException.class, reports::report);
        status = 200;
        answer = "{\"maps\":[]}";
        reports.report();
        assertEquals(
                List.of(false, true, false),
                received.stream()
                        .map(report -> report.directories().isPresent())
                        .toList());
    }

    @Test
    void shouldRepeatNoReportThatIsRefused() {
        refuse(503, "overloaded");
        assertThrows(CoordinatorRefusedException.class, reports::report);
        assertEquals(1, received.size());
    }
}
