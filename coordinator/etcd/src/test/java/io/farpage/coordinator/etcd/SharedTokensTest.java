package io.farpage.coordinator.etcd;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.certs.CertificateAuthority;
import io.farpage.certs.Keys;
import io.farpage.certs.PrivateFiles;
import io.farpage.certs.Subject;
import io.farpage.coordinator.command.Commands;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.tls.CaPin;
import io.farpage.tls.Pem;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.security.KeyPair;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Two coordinators with certificates on one etcd: a token that was made with the configuration of one counts at the
 * other, which leads after the first was killed.
 */
@Tag("soak")
class SharedTokensTest {

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @TempDir
    private Path directory = Path.of("");

    private final CertificateAuthority.Made ca = CertificateAuthority.make();
    private String etcd = "";

    private void makeCertificates() {
        PrivateFiles.create(file("ca.pem"), Pem.encode(ca.authority().certificate()));
        KeyPair pair = Keys.generate();
        PrivateFiles.create(file("coordinator.key"), Pem.encode(pair.getPrivate()));
        PrivateFiles.create(
                file("coordinator.pem"),
                Pem.encode(ca.authority()
                        .issue(pair.getPublic(), Subject.coordinator(List.of("127.0.0.1")), Duration.ofHours(1))));
    }

    private Path file(String name) {
        return directory.resolve(name);
    }

    /** The arguments of a command with the configuration of the coordinator at a URL. */
    private List<String> at(URI url, String... command) {
        List<String> all = new ArrayList<>(List.of(command));
        for (String setting : List.of(
                "store.kind=etcd",
                "store.etcd.endpoints=" + etcd,
                "store.etcd.lease=2s",
                "store.directory=" + file("c" + url.getPort()),
                "server.listen=" + url.getAuthority(),
                "tls.certificate=" + file("coordinator.pem"),
                "tls.key=" + file("coordinator.key"),
                "tls.ca=" + file("ca.pem"))) {
            all.addAll(List.of("-D", setting));
        }
        return all;
    }

    private Program launch(URI url) {
        return Program.start(file(url.getPort() + ".log"), at(url, "run"));
    }

    private String run(URI url, String... command) {
        Commands.Outcome outcome = Commands.run(at(url, command).toArray(String[]::new));
        assertEquals(0, outcome.code(), outcome.err());
        return outcome.out().strip();
    }

    private static int status(HttpClient client, URI url, String token) {
        HttpRequest request = HttpRequest.newBuilder(URI.create("https://" + url.getAuthority() + "/api/v1/nodes"))
                .timeout(Duration.ofSeconds(10))
                .header("Authorization", "Bearer " + token)
                .build();
        try {
            return client.send(request, HttpResponse.BodyHandlers.discarding()).statusCode();
        } catch (IOException e) {
            return 0;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return 0;
        }
    }

    @Test
    void shouldKeepATokenAndItsRevocationWhenTheLeaderIsKilled() throws InterruptedException {
        makeCertificates();
        URI first = EtcdMember.freeUrl();
        URI second = EtcdMember.freeUrl();
        try (EtcdMember member = EtcdMember.start(directory);
                HttpClient client = HttpClient.newBuilder()
                        .version(HttpClient.Version.HTTP_1_1)
                        .sslContext(CaPin.parse(CaPin.hash(ca.authority().certificate()))
                                .context())
                        .build()) {
            etcd = member.url();
            String ann = run(first, "token", "create", "--name", "ann", "--role", "viewer");
            try (Program leader = launch(first)) {
                Deadlines.await("the first one leads", PATIENCE).until(() -> status(client, first, ann) == 200);
                try (Program _ = launch(second)) {
                    Deadlines.await("the second one follows", PATIENCE).until(() -> status(client, second, ann) == 503);
                    String bob = run(second, "token", "create", "--name", "bob", "--role", "viewer");
                    assertEquals(200, status(client, first, bob));
                    assertEquals(401, status(client, second, bob + "x"));
                    leader.kill();
                    Deadlines.await("the second one leads", PATIENCE).until(() -> status(client, second, ann) == 200);
                    assertEquals(200, status(client, second, bob));
                    run(first, "token", "revoke", "--name", "ann");
                    assertEquals(401, status(client, second, ann));
                    assertTrue(run(second, "token", "list").contains("revoked"));
                }
            }
        }
    }
}
