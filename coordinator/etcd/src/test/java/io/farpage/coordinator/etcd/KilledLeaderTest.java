package io.farpage.coordinator.etcd;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.client.Allegiance;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.ClusterRequest;
import io.farpage.coordinator.model.operation.ClusterOperations;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.tls.Credentials;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Coordinators as processes, over one member of etcd; a client of both URLs records what was acknowledged. */
@Tag("soak")
class KilledLeaderTest {

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @TempDir
    private Path directory = Path.of("");

    private final Map<URI, Process> running = new LinkedHashMap<>();

    private void launch(String etcd, URI url) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                "io.farpage.coordinator.Main",
                "run"));
        for (String setting : List.of(
                "store.kind=etcd",
                "store.etcd.endpoints=" + etcd,
                "store.etcd.lease=2s",
                "store.directory=" + directory.resolve("c" + url.getPort()),
                "server.listen=" + url.getAuthority())) {
            command.addAll(List.of("-D", setting));
        }
        running.put(
                url,
                new ProcessBuilder(command)
                        .redirectErrorStream(true)
                        .redirectOutput(
                                directory.resolve(url.getPort() + ".log").toFile())
                        .start());
    }

    @Test
    void shouldKeepWhatWasAcknowledgedWhenTheLeaderIsKilled() throws IOException, InterruptedException {
        try (EtcdMember member = EtcdMember.start(directory)) {
            List<URI> urls = List.of(EtcdMember.freeUrl(), EtcdMember.freeUrl());
            for (URI url : urls) {
                launch(member.url(), url);
            }
            try (CoordinatorClient client =
                    new CoordinatorClient(urls, Duration.ofSeconds(5), new Allegiance(), Credentials.NONE)) {
                Deadlines.await("a coordinator leads", PATIENCE).until(() -> answers(client));
                for (int round = 0; round < 2; round++) {
                    String name = "round-" + round;
                    Deadlines.await("the cluster is formed", PATIENCE).until(() -> formed(client, name));
                    URI leader = client.base();
                    Process killed = Optional.ofNullable(running.get(leader)).orElseThrow();
                    long start = System.nanoTime();
                    killed.destroyForcibly();
                    Deadlines.exit("the end of the process", Deadlines.SHORT, killed);
                    Deadlines.await("the next one leads", PATIENCE)
                            .until(() -> name(client).equals(Optional.of(name)));
                    System.out.printf(
                            "round %d: without a leader for %d ms%n", round, (System.nanoTime() - start) / 1_000_000);
                    assertTrue(!client.base().equals(leader), "another coordinator leads than " + leader);
                    launch(member.url(), leader);
                    dissolve(client);
                }
            } finally {
                running.values().forEach(Process::destroyForcibly);
            }
        }
    }

    private static boolean answers(CoordinatorClient client) {
        try {
            client.nodes();
            return true;
        } catch (CoordinatorException e) {
            return false;
        }
    }

    private static boolean formed(CoordinatorClient client, String name) {
        try {
            client.formCluster(new ClusterRequest(name, List.of()));
            return true;
        } catch (CoordinatorException e) {
            return false;
        }
    }

    private static void dissolve(CoordinatorClient client) {
        Deadlines.await("the cluster is dissolved", PATIENCE).until(() -> {
            try {
                client.tell(ClusterOperations.DISSOLVE.at());
                return true;
            } catch (CoordinatorException e) {
                return false;
            }
        });
    }

    private static Optional<String> name(CoordinatorClient client) {
        try {
            return client.cluster().map(cluster -> cluster.name());
        } catch (CoordinatorException e) {
            return Optional.empty();
        }
    }
}
