package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.access.Role;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Certificates;
import io.farpage.it.harness.ChildJvm;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.ClusterLog;
import io.farpage.it.harness.Pages;
import io.farpage.it.harness.Rest;
import io.farpage.it.harness.Stranger;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/**
 * Strangers at the ports of a cluster with certificates: REST of the coordinator and of an agent over TLS, the agent's
 * Unix socket, and the port of pages over TCP. Each is refused within a bound and with a reason, and others are served.
 */
@Tag("portable")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Tag("processes")
class StrangersTest {
    private static final int PAGE = 4096;
    private static final Duration SOON = Duration.ofSeconds(8);
    /** A handshake, of TLS or of a link, ends within 10 s. */
    private static final Duration SLOW = Duration.ofSeconds(20);

    private static final int REQUESTS = 100;

    private final Certificates certificates;
    private Cluster cluster;

    @RegisterExtension
    final ClusterLog log = new ClusterLog(() -> cluster);

    StrangersTest(@TempDir Path directory) {
        certificates = new Certificates(directory.resolve("ca"));
        cluster = Cluster.securedProcesses(certificates, Map.of(), "a", "b");
    }

    @BeforeAll
    void makeASpace() throws Exception {
        cluster.makeSpace("s", 16, PAGE, "b");
        cluster.agent("a").putPage("s", 3, Pages.of(1, 3, PAGE)).expect(204);
    }

    @AfterAll
    void close() {
        cluster.close();
    }

    /** A way to connect to one of the doors. */
    @FunctionalInterface
    private interface Door {
        Stranger knock() throws IOException;
    }

    private int coordinatorPort() {
        return cluster.coordinator().rest().base().getPort();
    }

    private int agentPort() {
        return cluster.agent("a").rest().base().getPort();
    }

    private Path socket() {
        return cluster.process("a").process().socket();
    }

    /** Where agent b serves its pages over TCP. */
    private int pagesPort() {
        return cluster.coordinator()
                .rest()
                .with(certificates.tls("b"))
                .get("/api/v1/nodes/b/endpoints/a")
                .expect(200)
                .json()
                .get("entries")
                .get(0)
                .get("port")
                .asInt();
    }

    /** Connections on which HTTP is spoken: within TLS, and on the Unix socket. */
    private Map<String, Door> http() {
        return Map.of(
                "coordinator", () -> Stranger.tls(coordinatorPort()),
                "agent", () -> Stranger.tls(agentPort()),
                "unix socket", () -> Stranger.unix(socket()));
    }

    /** Connections as the kernel accepts them. */
    private Map<String, Door> raw() {
        return Map.of(
                "coordinator", () -> Stranger.tcp(coordinatorPort()),
                "agent", () -> Stranger.tcp(agentPort()),
                "unix socket", () -> Stranger.unix(socket()),
                "pages", () -> Stranger.tcp(pagesPort()));
    }

    private static String logOf(ChildJvm process) {
        return process.out() + process.err();
    }

    private static void sayNoise(Door door, SplittableRandom random) throws IOException, InterruptedException {
        byte[] noise = new byte[random.nextInt(100, 2000)];
        random.nextBytes(noise);
        // An HTTP parser waits for the end of the line, so that noise has one.
        noise[99] = '\n';
        try (Stranger stranger = door.knock()) {
            stranger.say(noise).untilItEnds(SLOW);
        }
    }

    /** Repeats the noise, since only some refusals of each second are logged, those at other doors included. */
    private static void awaitRefusedHandshake(ChildJvm process, Door door, SplittableRandom random) {
        String line = "refused: TLS handshake from 127.0.0.1, a client without identity:";
        await("'" + line + "' in the log", Deadlines.LONG).until(() -> {
            sayNoise(door, random);
            return logOf(process).contains(line);
        });
    }

    /**
     * The p99 of requests of others, in milliseconds: a list of nodes, an agent's links, and a page that another node
     * holds.
     */
    private double p99Millis() {
        Rest coordinator = certificates.as(Role.VIEWER, cluster.coordinator().rest());
        double[] took = new double[REQUESTS];
        for (int i = 0; i < REQUESTS; i++) {
            long start = System.nanoTime();
            switch (i % 3) {
                case 0 -> coordinator.get("/api/v1/nodes").expect(200);
                case 1 -> cluster.agent("a").rest().get("/api/v1/links").expect(200);
                default -> cluster.agent("a").page("s", 3).expect(200);
            }
            took[i] = (System.nanoTime() - start) / 1e6;
        }
        Arrays.sort(took);
        return took[REQUESTS * 99 / 100 - 1];
    }

    /** Half a second of a quiet machine, or five times what it was before. */
    private void assertServedAsBefore(double before) {
        Duration bound = Duration.ofMillis((long) Math.max(5 * before, 500));
        Deadlines.Wait wait = Deadlines.begin("a p99 of at most " + bound.toMillis() + " ms", bound);
        double during = p99Millis();
        while (during > bound.toMillis()) {
            System.err.printf("p99 %.1f ms, before %.1f ms%n", during, before);
            wait.check();
            during = p99Millis();
        }
    }

    @Test
    @Tag("soak")
    void shouldEndConnectionsThatBeginWithNoiseAndServeOthersAsBefore() throws Exception {
        double before = p99Millis();
        SplittableRandom random = new SplittableRandom(7);
        for (Door door : raw().values()) {
            for (int i = 0; i < 20; i++) {
                sayNoise(door, random);
            }
        }
        awaitRefusedHandshake(cluster.coordinatorProcess().process(), () -> Stranger.tcp(coordinatorPort()), random);
        awaitRefusedHandshake(cluster.process("a").process(), () -> Stranger.tcp(agentPort()), random);
        assertServedAsBefore(before);
    }

    @Test
    void shouldRefusePlainHttpWhereTlsIsSpokenAndTlsWhereItIsNot() throws Exception {
        for (int port : List.of(coordinatorPort(), agentPort())) {
            try (Stranger plain = Stranger.tcp(port)) {
                String said = plain.say("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
                        .untilItEnds(SOON);
                assertTrue(!said.contains("HTTP/1.1 200"), said);
            }
        }
        byte[] hello = {0x16, 3, 1, 0, 5, 1, 0, 0, 1, '\n'};
        try (Stranger secure = Stranger.unix(socket())) {
            String said = secure.say(hello).untilItEnds(SOON);
            assertTrue(said.startsWith("HTTP/1.1 400"), said);
        }
        try (Stranger secure = Stranger.tcp(pagesPort())) {
            assertEquals("", secure.say(hello).untilItEnds(SLOW));
        }
    }

    @Test
    void shouldAnswerWhatIsTooLongWithAReason() throws Exception {
        for (Map.Entry<String, Door> door : http().entrySet()) {
            assertAnswer(door, "GET /" + "x".repeat(20_000) + " HTTP/1.1\r\nHost: localhost\r\n\r\n", "414", "431");
            assertAnswer(door, "GET / HTTP/1.1\r\nHost: localhost\r\nX: " + "x".repeat(20_000) + "\r\n\r\n", "431");
            assertAnswer(door, "GET / HTTP/1.1\r\nHost: localhost\r\n" + "X: y\r\n".repeat(20_000) + "\r\n", "431");
            assertAnswer(door, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "4", "505");
            assertAnswer(door, "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "400");
            assertAnswer(
                    door, "GET /health HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "400");
            assertAnswer(door, """
                    POST /api/v1/spaces HTTP/1.1\r
                    Host: localhost\r
                    Content-Length: 99999999999\r
                    Connection: close\r
                    \r
                    """, "4");
        }
    }

    private static void assertAnswer(Map.Entry<String, Door> door, String request, String... statuses)
            throws IOException, InterruptedException {
        try (Stranger stranger = door.getValue().knock()) {
            String said = stranger.say(request).untilItEnds(SOON);
            String what = door.getKey() + ": " + request.substring(0, Math.min(60, request.length())) + ": " + said;
            assertTrue(Arrays.stream(statuses).anyMatch(status -> said.startsWith("HTTP/1.1 " + status)), what);
            assertTrue(said.contains("application/problem+json"), what);
        }
    }
}
