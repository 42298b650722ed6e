package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.access.Role;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Answer;
import io.farpage.it.harness.Certificates;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.ClusterLog;
import io.farpage.it.harness.Directories;
import io.farpage.it.harness.JvmLog;
import io.farpage.it.harness.Pages;
import io.farpage.it.harness.Rest;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Tests of a cluster with certificates, nodes a and b and a space of b's. All classes of a JVM share it: it is started
 * once and closed when the JVM ends. After each refusal the cluster goes on to serve its own.
 */
abstract class SecuredNodes {
    private static final int PAGE = 4096;

    /** Started by the first class that needs it. */
    private static final class Shared {
        static final Path DIRECTORY = directory();
        static final Certificates CERTIFICATES = new Certificates(DIRECTORY.resolve("ca"));
        static final JvmLog LOG = new JvmLog();
        static final Cluster CLUSTER = Cluster.secured(CERTIFICATES, Map.of(), "a", "b");
        static final Rest COORDINATOR = CLUSTER.coordinator().rest();
        /** Each is a connection, and its handshake takes longer than a hundred requests. */
        static final Map<String, Rest> CLIENTS = new ConcurrentHashMap<>();

        static {
            Runtime.getRuntime()
                    .addShutdownHook(new Thread(
                            () -> {
                                CLUSTER.close();
                                LOG.close();
                                Directories.delete(DIRECTORY);
                            },
                            "close-secured-nodes"));
            try {
                CLUSTER.makeSpace("s", 16, PAGE, "b");
            } catch (io.farpage.coordinator.client.CoordinatorException e) {
                throw new IllegalStateException(e);
            }
            CLUSTER.agent("a").putPage("s", 3, Pages.of(1, 3, PAGE)).expect(204);
        }

        private static Path directory() {
            try {
                return Files.createTempDirectory("farpage-secured");
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    final Certificates certificates = Shared.CERTIFICATES;
    final Cluster cluster = Shared.CLUSTER;

    @RegisterExtension
    final ClusterLog log = new ClusterLog(() -> cluster);

    /** The same agents fetch pages and keep their leases. */
    @AfterEach
    void shouldGoOnToServe() {
        assertArrayEquals(
                Pages.of(1, 3, PAGE),
                cluster.agent("a").page("s", 3).expect(200).body());
        for (var node : coordinator().get("/api/v1/nodes").expect(200).json()) {
            assertEquals("active", node.get("status").asString(), node.toString());
        }
    }

    Rest coordinator() {
        return Shared.COORDINATOR;
    }

    Rest as(String name) {
        return Shared.CLIENTS.computeIfAbsent(name, _ -> coordinator().with(certificates.tls(name)));
    }

    Rest as(Role role) {
        return Shared.CLIENTS.computeIfAbsent(role.word(), _ -> certificates.as(role, coordinator()));
    }

    /** What the nodes have logged. */
    List<String> logged() {
        return Shared.LOG.lines();
    }

    /** Does what is refused again until the log has a line of it: of many refusals in a second it has ten. */
    void awaitLogged(Runnable again, String... parts) {
        await("a line with " + List.of(parts), Deadlines.LONG).untilAsserted(() -> {
            again.run();
            List<String> said = logged();
            assertTrue(
                    said.stream().anyMatch(line -> List.of(parts).stream().allMatch(line::contains)),
                    List.of(parts) + " in " + said);
        });
    }

    static void assertRefused(int status, String word, String detail, Answer answer) {
        assertEquals(status, answer.status(), answer.toString());
        assertTrue(answer.problem().is(word), answer.toString());
        assertTrue(
                answer.problem().detail().contains(detail),
                detail + " in " + answer.problem().detail());
    }
}
