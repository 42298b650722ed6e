package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.coordinator.client.Allegiance;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.it.harness.ChildJvm;
import io.farpage.it.harness.EtcdProcess;
import io.farpage.it.harness.Ports;
import io.farpage.it.harness.TraceCollector;
import io.farpage.it.harness.TraceCollector.Manner;
import io.farpage.it.harness.TraceCollector.Received;
import io.farpage.tls.Credentials;
import io.farpage.trace.TraceContext;
import io.farpage.trace.Tracer;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A call to a coordinator that follows is one trace with the call to the leader that it names. */
@Tag("portable")
@Tag("processes")
class TracedLeaderTest {
    private static final Path ROOT =
            Path.of(System.getProperty("farpage.root", "..")).toAbsolutePath().normalize();
    private static final Duration PATIENCE = Duration.ofSeconds(90);
    private static final Map<String, String> SMALL =
            Map.of("FARPAGE_JAVA_OPTS", "-Xms16m -Xmx128m -XX:TieredStopAtLevel=1");

    @TempDir
    private Path directory = Path.of("");

    private ChildJvm etcd(int client) {
        String peer = "http://127.0.0.1:" + Ports.free();
        String url = "http://127.0.0.1:" + client;
        return ChildJvm.launch(
                "etcd",
                List.of(
                        "/usr/bin/etcd",
                        "--name=e1",
                        "--data-dir=" + directory.resolve("etcd"),
                        "--listen-client-urls=" + url,
                        "--advertise-client-urls=" + url,
                        "--listen-peer-urls=" + peer,
                        "--initial-advertise-peer-urls=" + peer,
                        "--initial-cluster=e1=" + peer),
                Map.of(),
                directory);
    }

    private ChildJvm coordinator(int etcd, int port, URI collector) {
        List<String> command =
                new ArrayList<>(List.of(ROOT.resolve("bin/coordinator").toString(), "run"));
        Map.of(
                        "store.kind",
                        "etcd",
                        "store.etcd.endpoints",
                        "http://127.0.0.1:" + etcd,
                        "store.directory",
                        directory.resolve("c" + port).toString(),
                        "server.listen",
                        "127.0.0.1:" + port,
                        "trace.otlp.endpoint",
                        collector.toString())
                .forEach((key, value) -> command.addAll(List.of("-D", key + "=" + value)));
        return ChildJvm.launch("coordinator-" + port, command, SMALL, directory);
    }

    private static CoordinatorClient client(List<URI> urls) {
        return new CoordinatorClient(urls, Duration.ofSeconds(10), new Allegiance(), Credentials.NONE);
    }

    private static boolean answers(CoordinatorClient client) {
        try {
            client.nodes();
            return true;
        } catch (CoordinatorException e) {
            return false;
        }
    }

    @Test
    void shouldShowAFollowersRefusalAndTheLeadersAnswerAsOneTrace() throws Exception {
        Optional<String> missing = EtcdProcess.missing();
        assumeTrue(missing.isEmpty(), "skipped: " + missing.orElse(""));
        assumeTrue(Files.isDirectory(ROOT.resolve("target/farpage/lib-etcd")), "skipped: make build was not run");
        int etcd = Ports.free();
        List<URI> urls =
                List.of(URI.create("http://127.0.0.1:" + Ports.free()), URI.create("http://127.0.0.1:" + Ports.free()));
        try (TraceCollector collector = new TraceCollector(Manner.TAKES);
                ChildJvm _ = etcd(etcd);
                ChildJvm _ = coordinator(etcd, urls.getFirst().getPort(), collector.url());
                ChildJvm _ = coordinator(etcd, urls.getLast().getPort(), collector.url())) {
            URI leader;
            try (CoordinatorClient both = client(urls)) {
                await("a leader", PATIENCE).until(() -> answers(both));
                leader = both.base();
            }
            URI follower = leader.equals(urls.getFirst()) ? urls.getLast() : urls.getFirst();
            TraceContext root = TraceContext.root();
            try (Tracer _ = Tracer.begin(new Tracer.Options(collector.url(), "test", "", 1));
                    CoordinatorClient client = client(List.of(follower))) {
                assertTrue(Tracer.within(root, () -> answers(client)), "the leader answers");
            }
            check(collector, root);
        }
    }

    private static void check(TraceCollector collector, TraceContext root) {
        String trace = HexFormat.of().toHexDigits(root.high()) + HexFormat.of().toHexDigits(root.low());
        List<Received> spans = new ArrayList<>();
        await("four spans", Duration.ofSeconds(20)).untilAsserted(() -> {
            spans.clear();
            collector.spans().stream()
                    .filter(each -> each.trace().equals(trace))
                    .forEach(spans::add);
            assertEquals(4, spans.size(), spans.toString());
        });
        List<Received> requests =
                spans.stream().filter(each -> each.service().equals("test")).toList();
        List<String> statuses = new ArrayList<>();
        for (Received request : requests) {
            List<Received> answers =
                    spans.stream().filter(each -> each.isBelow(request)).toList();
            assertEquals(1, answers.size(), spans.toString());
            assertEquals("coordinator", answers.getFirst().service());
            assertEquals(
                    request.attribute("http.response.status_code"),
                    answers.getFirst().attribute("http.response.status_code"));
            statuses.add(request.attribute("http.response.status_code"));
        }
        assertEquals(List.of("503", "200"), statuses);
        assertTrue(
                requests.getFirst().span().getEndTimeUnixNano()
                        <= requests.getLast().span().getStartTimeUnixNano(),
                spans.toString());
    }
}
