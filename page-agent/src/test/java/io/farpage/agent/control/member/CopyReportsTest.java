package io.farpage.agent.control.member;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.model.CopyReport;
import io.farpage.coordinator.model.ExtentEpoch;
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
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Reports of copies to coordinators that know them and to an older one, over HTTP. */
class CopyReportsTest {
    private static final CopyReport.Copy COPY = new CopyReport.Copy(7, new ExtentEpoch(512, 3), 4096);

    private final HttpServer server;
    private final CoordinatorClient client;
    private final CopyReports reports;
    private final List<CopyReport> received = new ArrayList<>();
    private List<CopyReport.Copy> copies = List.of(COPY);
    private int status = 204;

    CopyReportsTest() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/api/v1/nodes/a/copies", exchange -> {
            received.add(Json.STRICT.readValue(exchange.getRequestBody().readAllBytes(), CopyReport.class));
            byte[] problem = ("{\"type\":\"urn:farpage:problem:no\",\"title\":\"no\",\"status\":%d,\"detail\":\"no\","
                            + "\"instance\":\"/x\"}")
                    .formatted(status)
                    .getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders().add("Content-Type", "application/problem+json");
            exchange.sendResponseHeaders(status, status == 204 ? -1 : problem.length);
            if (status != 204) {
                exchange.getResponseBody().write(problem);
            }
            exchange.close();
        });
        server.start();
        client = new CoordinatorClient(
                URI.create("http://127.0.0.1:" + server.getAddress().getPort()), Duration.ofSeconds(30));
        reports = new CopyReports(client, "a", new Incarnation(5), () -> copies);
    }

    @AfterEach
    void close() {
        client.close();
        server.stop(0);
    }

    @Test
    void shouldReportTheCopiesThatAreUnderWay() throws CoordinatorException {
        assertEquals(CopyReports.INTERVAL, reports.report());
        assertEquals(List.of(new CopyReport(new Incarnation(5), List.of(COPY))), received);
    }

    @Test
    void shouldReportNothingWhileNothingIsCopied() throws CoordinatorException {
        copies = List.of();
        assertEquals(CopyReports.INTERVAL, reports.report());
        assertTrue(received.isEmpty());
    }

    @Test
    void shouldRepeatNoReportThatIsRefused() {
        status = 503;
        assertThrows(CoordinatorRefusedException.class, reports::report);
        assertEquals(1, received.size());
    }
}
