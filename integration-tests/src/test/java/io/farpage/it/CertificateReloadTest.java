package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Certificates;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.Pages;
import io.farpage.it.harness.Rest;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Certificates that change under running programs. */
@Tag("portable")
@Tag("processes")
class CertificateReloadTest {
    private static final int PAGE = 4096;
    private static final int ROUNDS = 3;

    @TempDir
    Path directory;

    @Test
    void shouldLoseNoFetchAndNoRequestWhileCertificatesChange() throws Exception {
        Certificates certificates = new Certificates(directory.resolve("ca"));
        AtomicBoolean stop = new AtomicBoolean();
        AtomicLong fetched = new AtomicLong();
        AtomicLong asked = new AtomicLong();
        try (Cluster cluster = Cluster.securedProcesses(certificates, Map.of(), "a", "b");
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            cluster.makeSpace("s", 16, PAGE, "b");
            Rest agent = cluster.agent("a").rest();
            Rest coordinator = cluster.coordinator().rest();
            cluster.agent("a").putPage("s", 0, Pages.of(1, 0, PAGE)).expect(204);
            // Each client keeps its connection from before the first change to after the last.
            Future<?> fetches = threads.submit(() -> {
                while (!stop.get()) {
                    assertArrayEquals(
                            Pages.of(1, 0, PAGE),
                            agent.get("/api/v1/spaces/s/pages/0").expect(200).body());
                    fetched.incrementAndGet();
                }
            });
            Future<?> requests = threads.submit(() -> {
                while (!stop.get()) {
                    coordinator.get("/api/v1/nodes").expect(200);
                    asked.incrementAndGet();
                }
            });
            String incarnation = cluster.incarnation("a");
            try {
                changeAll(certificates, cluster);
                long before = fetched.get();
                await("more fetches", Deadlines.LONG).until(() -> fetched.get() > before + 10);
            } finally {
                stop.set(true);
            }
            fetches.get();
            requests.get();
            assertTrue(asked.get() > ROUNDS, "requests to the coordinator");
            assertEquals(incarnation, cluster.incarnation("a"), "the node kept its lease");
            assertEquals(
                    "active",
                    coordinator
                            .get("/api/v1/nodes/a")
                            .expect(200)
                            .json()
                            .get("status")
                            .asString());
        }
    }

    /** Each program gets another certificate, several times; between, one finds a file that is none. */
    private static void changeAll(Certificates certificates, Cluster cluster) throws Exception {
        for (int round = 0; round < ROUNDS; round++) {
            for (String name : List.of("coordinator", "a", "b")) {
                X509Certificate next = certificates.renew(name);
                int port = name.equals("coordinator")
                        ? cluster.coordinator().rest().base().getPort()
                        : cluster.agent(name).rest().base().getPort();
                await(name + " shows its new certificate", Deadlines.LONG)
                        .until(() -> shown(certificates, port).equals(next));
            }
            // A file that is not a certificate changes nothing.
            Files.writeString(certificates.file("a.pem"), "not a certificate");
            await("a logs it", Deadlines.LONG).until(() -> logged(cluster, "earlier ones stay in use"));
        }
    }

    private static boolean logged(Cluster cluster, String text) {
        return (cluster.process("a").process().out()
                        + cluster.process("a").process().err())
                .contains(text);
    }

    /** The certificate that a new connection is shown. */
    private static X509Certificate shown(Certificates certificates, int port) throws Exception {
        try (Socket socket =
                certificates.anonymous().server().getSocketFactory().createSocket("127.0.0.1", port)) {
            SSLSocket tls = (SSLSocket) socket;
            tls.startHandshake();
            return (X509Certificate) tls.getSession().getPeerCertificates()[0];
        }
    }

    /** A certificate that lives for 30 s is renewed after 20; on a loaded machine both are longer. */
    @Test
    @Tag("soak")
    void shouldRenewTheAgentsOwnCertificateAfterTwoThirdsOfItsLife() throws Exception {
        Certificates certificates = new Certificates(directory.resolve("ca"));
        try (Cluster cluster = Cluster.securedProcesses(
                certificates,
                Map.of("tls.ca_key", certificates.file("ca.key").toString(), "tls.lifetime", "1h"),
                "b")) {
            Duration life = Collections.min(List.of(Deadlines.of(Duration.ofSeconds(30)), Duration.ofMinutes(1)));
            long issued = System.nanoTime();
            certificates.issue("a", io.farpage.certs.Subject.node("a", List.of()), life);
            Map<String, String> settings = new java.util.HashMap<>(certificates.node("a"));
            settings.put("tls.renew", "true");
            cluster.startAgent("a", settings);
            String first = Files.readString(certificates.file("a.pem"));
            String key = Files.readString(certificates.file("a.key"));
            await("renewed", life).until(() -> logged(cluster, "certificate renewed, valid until"));
            assertTrue(!Files.readString(certificates.file("a.pem")).equals(first));
            assertEquals(key, Files.readString(certificates.file("a.key")), "the key stays");
            await("the end of the first one", life)
                    .until(() ->
                            System.nanoTime() - issued > life.plusSeconds(2).toNanos());
            assertEquals(
                    "active",
                    cluster.coordinator()
                            .rest()
                            .get("/api/v1/nodes/a")
                            .expect(200)
                            .json()
                            .get("status")
                            .asString());
            assertTrue(cluster.agent("b").isLinkedTo("a"));
        }
    }
}
