package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.Main;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.ChildJvm;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.ClusterLog;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.JvmLog;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.PagedRam;
import io.farpage.it.harness.Pages;
import io.farpage.it.harness.RefusedAgent;
import io.farpage.it.harness.TraceCollector;
import io.farpage.it.harness.TraceCollector.Manner;
import io.farpage.it.harness.TraceCollector.Received;
import io.farpage.trace.Tracer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Traces of commands, requests and faults, as a collector sees them. */
class TracesTest {
    private static final int PAGES = 1024;
    private static final int LOCAL_PAGES = 256;
    private static final int PAGE = 4096;
    private static final String ENDPOINT = "trace.otlp.endpoint";
    private static final Duration COMMAND = Duration.ofSeconds(15);

    @TempDir
    private Path directory = Path.of("");

    private Optional<Cluster> cluster = Optional.empty();

    @RegisterExtension
    final ClusterLog log = new ClusterLog(() -> cluster.orElseThrow());

    @AfterEach
    void end() {
        cluster.ifPresent(Cluster::close);
    }

    /**
     * Starts a coordinator and an agent that are traced, each in a process of its own as a process has one tracer, and
     * a home.
     */
    private Cluster start(Map<String, String> traces) {
        Cluster started = Cluster.startProcess(traces);
        cluster = Optional.of(started);
        started.launchAgent("a", traces);
        started.openAgent("b", Map.of());
        started.awaitAllLinks();
        return started;
    }

    /** Opens two agents in this JVM, whose tracer is that of agent a. */
    private Cluster open(Map<String, String> traces) {
        Cluster opened = Cluster.start();
        cluster = Optional.of(opened);
        opened.openAgent("a", traces);
        opened.openAgent("b", Map.of());
        opened.awaitAllLinks();
        return opened;
    }

    private static ChildJvm create(Cluster cluster, Map<String, String> environment) {
        ChildJvm command = ChildJvm.start(
                "create",
                Main.class,
                List.of(
                        "space",
                        "create",
                        "--agent",
                        cluster.agent("a").rest().base().toString(),
                        "--space",
                        "traced",
                        "--size",
                        "1MiB",
                        "--home",
                        "b"),
                environment);
        assertEquals(0, command.awaitEnd(), command.err());
        return command;
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
    void shouldShowACommandAsOneTraceOverAgentAndCoordinator() {
        try (TraceCollector collector = new TraceCollector(Manner.TAKES)) {
            Map<String, String> traces = Map.of(ENDPOINT, collector.url().toString());
            Cluster two = start(traces);
            String parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
            create(two, Map.of("FARPAGE_TRACE_OTLP_ENDPOINT", collector.url().toString(), "TRACEPARENT", parent));
            String trace = parent.substring(3, 35);
            List<Received> chain = new ArrayList<>();
            await("the coordinator's span", Deadlines.LONG).untilAsserted(() -> {
                chain.clear();
                collector.spans().stream()
                        .filter(each -> each.trace().equals(trace))
                        .forEach(chain::add);
                assertTrue(chain.size() >= 5, chain.toString());
            });
            Received command = only(chain, "page-agent", "page-agent space create");
            assertEquals(
                    "00f067aa0ba902b7",
                    HexFormat.of().formatHex(command.span().getParentSpanId().toByteArray()));
            Received atAgent = only(chain, "page-agent", "POST /api/v1/spaces");
            Received atCoordinator = only(chain, "coordinator", "POST /api/v1/spaces");
            assertEquals("201", atCoordinator.attribute("http.response.status_code"));
            assertTrue(isBelowARequestOf(chain, atAgent, command), chain.toString());
            assertTrue(isBelowARequestOf(chain, atCoordinator, atAgent), chain.toString());
            assertTrue(
                    command.span().getStartTimeUnixNano()
                                    <= atCoordinator.span().getStartTimeUnixNano()
                            && atCoordinator.span().getEndTimeUnixNano()
                                    <= command.span().getEndTimeUnixNano() + 50_000_000L,
                    chain.toString());
            assertEquals(List.of(), collector.faults());
        }
    }

    private static Received only(List<Received> spans, String service, String name) {
        List<Received> found = spans.stream()
                .filter(each -> each.service().equals(service) && each.name().equals(name))
                .toList();
        assertEquals(1, found.size(), name + " in " + spans);
        return found.getFirst();
    }

    private static boolean isBelowARequestOf(List<Received> spans, Received below, Received above) {
        return spans.stream().anyMatch(request -> below.isBelow(request) && request.isBelow(above));
    }

    @Test
    @NeedsUserfaultfd
    void shouldShowAFaultWithItsPhases() throws Exception {
        try (TraceCollector collector = new TraceCollector(Manner.TAKES)) {
            Cluster two = open(Map.of(
                    ENDPOINT,
                    collector.url().toString(),
                    "trace.faults.one_in",
                    "10",
                    "trace.requests.one_in",
                    "1000000000"));
            long faults = fault(two);
            await("spans of faults", Deadlines.LONG)
                    .until(() -> collector.spans("page-agent", "fault").size() >= faults / 10 / 2);
            for (Received fault : collector.spans("page-agent", "fault")) {
                await("its phases", Deadlines.LONG)
                        .until(() -> below(collector, fault).size() == 2);
                List<Received> phases = below(collector, fault);
                Received fetch = only(phases, "page-agent", "fetch");
                Received install = only(phases, "page-agent", "install");
                assertEquals("vm1", fault.attribute("farpage.space"));
                assertTrue(Integer.parseInt(fault.attribute("farpage.page")) < PAGES, fault.toString());
                assertEquals(fault.span().getStartTimeUnixNano(), fetch.span().getStartTimeUnixNano());
                assertTrue(fetch.span().getStartTimeUnixNano() < fetch.span().getEndTimeUnixNano());
                assertEquals(fetch.span().getEndTimeUnixNano(), install.span().getStartTimeUnixNano());
                assertTrue(
                        install.span().getStartTimeUnixNano() < install.span().getEndTimeUnixNano());
                assertEquals(fault.span().getEndTimeUnixNano(), install.span().getEndTimeUnixNano());
            }
            assertTrue(collector.spans("page-agent", "fault").size() <= faults / 5, "one in ten of " + faults);
            assertEquals(List.of(), collector.faults());
        }
    }

    private static List<Received> below(TraceCollector collector, Received fault) {
        return collector.spans().stream().filter(each -> each.isBelow(fault)).toList();
    }

    /** Makes a guest fault until it has used all its memory twice. Returns how many faults fetched a page. */
    private long fault(Cluster two) throws Exception {
        Guests guests = new Guests(two, "a", "b");
        Path socket = directory.resolve("vmm");
        attachWithoutReadahead(guests, socket);
        long faults;
        try (PagedRam ram = PagedRam.handOver(socket, PAGES)) {
            guests.awaitAttached("vm1");
            for (int round = 0; round < 2; round++) {
                for (int page = 0; page < PAGES; page++) {
                    ram.write(page, Pages.of(round, page, PAGE));
                }
            }
            faults = guests.status("vm1").get("fetchedFaults").asLong();
        }
        guests.awaitEnded("vm1");
        assertTrue(faults > 100, "faults that fetch: " + faults);
        return faults;
    }

    @Test
    @Tag("processes")
    @NeedsUserfaultfd
    void shouldSendNothingAndHaveNoTracerWhenOff() throws Exception {
        try (TraceCollector collector = new TraceCollector(Manner.TAKES)) {
            Cluster two = open(Map.of("trace.faults.one_in", "1"));
            create(two, Map.of("TRACEPARENT", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"));
            fault(two);
            assertEquals(0, collector.requests());
            assertNull(Tracer.current());
            assertTrue(Thread.getAllStackTraces().keySet().stream()
                    .noneMatch(thread -> thread.getName().equals("fault-traces")));
            assertFalse(
                    two.agent("a").rest().get("/metrics").expect(200).text().contains("_trace_spans_exported_total "),
                    "a metric of traces has a value");
        }
    }

    /** Neither a request nor a fault waits for a collector; what it did not take is counted. */
    @ParameterizedTest
    @Tag("processes")
    @EnumSource(
            value = Manner.class,
            names = {"HANGS", "IS_UNAVAILABLE"})
    @NeedsUserfaultfd
    void shouldCostNothingButSpansWhenTheCollectorTakesNone(Manner manner) throws Exception {
        try (TraceCollector collector = new TraceCollector(manner);
                JvmLog log = new JvmLog()) {
            Cluster two = open(Map.of(ENDPOINT, collector.url().toString(), "trace.faults.one_in", "1"));
            await("the collector is called", Deadlines.LONG).until(() -> collector.requests() > 0);
            Deadlines.Wait wait = Deadlines.begin("a command that the collector does not hold up", COMMAND);
            create(two, Map.of("FARPAGE_TRACE_OTLP_ENDPOINT", collector.url().toString()));
            wait.check();
            fault(two);
            if (manner == Manner.IS_UNAVAILABLE) {
                await("dropped spans", Duration.ofMinutes(1)).until(() -> dropped(two) > 0);
            }
            await("the log names the collector", Deadlines.LONG)
                    .until(() -> !said(log).isEmpty());
            assertEquals(1, said(log).size(), said(log)::toString);
        }
    }

    private static List<String> said(JvmLog log) {
        return log.lines().stream().filter(line -> line.contains(ENDPOINT)).toList();
    }

    private static double dropped(Cluster two) {
        return two.agent("a")
                .rest()
                .get("/metrics")
                .expect(200)
                .text()
                .lines()
                .filter(line -> line.startsWith("farpage_agent_trace_spans_dropped_total "))
                .mapToDouble(line -> Double.parseDouble(line.substring(line.indexOf(' ') + 1)))
                .sum();
    }

    @Test
    @Tag("processes")
    void shouldNameAnEndpointThatIsNoUrl() {
        ChildJvm command = ChildJvm.start(
                "refused", Main.class, List.of("guests"), Map.of("FARPAGE_TRACE_OTLP_ENDPOINT", "collector:4317"));
        assertEquals(1, command.awaitEnd(), command.err());
        assertTrue(
                command.err().contains("FARPAGE_TRACE_OTLP_ENDPOINT 'collector:4317' is not an http or https URL"),
                command.err());
        List<String> agent = RefusedAgent.open(Optional.empty(), Map.of(), Map.of(ENDPOINT, "collector:4317"));
        assertTrue(agent.getFirst().contains("an http or https URL, such as http://127.0.0.1:4318"), agent::toString);
    }
}
