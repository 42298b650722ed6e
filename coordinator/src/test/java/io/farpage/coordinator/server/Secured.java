package io.farpage.coordinator.server;

import io.farpage.access.Role;
import io.farpage.certs.CertificateAuthority;
import io.farpage.certs.Keys;
import io.farpage.certs.PrivateFiles;
import io.farpage.certs.SigningRequest;
import io.farpage.certs.Subject;
import io.farpage.coordinator.cluster.FakeTime;
import io.farpage.tls.CaPin;
import io.farpage.tls.Credentials;
import io.farpage.tls.Peer;
import io.farpage.tls.Pem;
import io.farpage.tls.Tls;
import io.farpage.tls.TlsFiles;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongSupplier;
import javax.net.ssl.SSLContext;

/** A coordinator with certificates in this process, and clients with theirs. */
final class Secured implements AutoCloseable {

    private static final Duration HOUR = Duration.ofHours(1);

    final Running running;
    private final Path directory;
    private CertificateAuthority.Made ca = CertificateAuthority.make();

    /** @param more settings */
    Secured(Path directory, Map<String, String> more) {
        this(directory, more, System::nanoTime);
    }

    /**
     * @param more settings
     * @param limitsClock by which rates are limited
     */
    Secured(Path directory, Map<String, String> more, LongSupplier limitsClock) {
        this.directory = directory;
        PrivateFiles.create(at("ca.pem"), Pem.encode(ca.authority().certificate()));
        PrivateFiles.create(at("ca.key"), Pem.encode(ca.key()));
        issue("coordinator", Subject.coordinator(List.of("127.0.0.1")), HOUR);
        Map<String, String> flags = new HashMap<>(more);
        flags.put("tls.certificate", at("coordinator.pem").toString());
        flags.put("tls.key", at("coordinator.key").toString());
        flags.put("tls.ca", at("ca.pem").toString());
        flags.put("tls.ca_key", at("ca.key").toString());
        running = new Running(directory.resolve("store"), new FakeTime(), flags, limitsClock);
    }

    Path at(String name) {
        return directory.resolve(name);
    }

    private void issue(String name, Subject subject, Duration lifetime) {
        KeyPair pair = Keys.generate();
        PrivateFiles.create(at(name + ".key"), Pem.encode(pair.getPrivate()));
        PrivateFiles.create(at(name + ".pem"), Pem.encode(ca.authority().issue(pair.getPublic(), subject, lifetime)));
    }

    /** Trusts another CA alone from now on, and shows a certificate of it. */
    void changeCa() {
        ca = CertificateAuthority.make();
        KeyPair pair = Keys.generate();
        Subject coordinator = Subject.coordinator(List.of("127.0.0.1"));
        PrivateFiles.replace(at("ca.pem"), Pem.encode(ca.authority().certificate()));
        PrivateFiles.replace(at("coordinator.key"), Pem.encode(pair.getPrivate()));
        PrivateFiles.replace(
                at("coordinator.pem"), Pem.encode(ca.authority().issue(pair.getPublic(), coordinator, HOUR)));
    }

    /** A signing request for the key of a client. */
    String signingRequest(String name) throws IOException {
        return SigningRequest.make(
                name,
                Pem.certificates(Files.readString(at(name + ".pem")), name)
                        .getFirst()
                        .getPublicKey(),
                Pem.privateKey(Files.readString(at(name + ".key")), name));
    }

    /** A client that shows a node's certificate. */
    HttpClient node(String id) {
        issue(id, Subject.node(id, List.of("127.0.0.1")), HOUR);
        return client(id);
    }

    /** A client that shows a person's certificate. */
    HttpClient person(String name, Role role) {
        issue(name, Subject.role(name, role), HOUR);
        return client(name);
    }

    private HttpClient client(String name) {
        Tls tls = Tls.read(
                new TlsFiles(at("ca.pem"), Optional.of(new TlsFiles.Own(at(name + ".pem"), at(name + ".key")))));
        return with(Credentials.of(Optional.of(tls)).context(Peer.COORDINATOR).orElseThrow());
    }

    /** A client that shows no certificate. */
    HttpClient stranger() {
        return with(CaPin.parse(CaPin.hash(ca.authority().certificate())).context());
    }

    private static HttpClient with(SSLContext context) {
        return HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .sslContext(context)
                .build();
    }

    HttpRequest.Builder request(String method, String path, String body) {
        return HttpRequest.newBuilder(URI.create(running.coordinator.url() + path))
                .timeout(Duration.ofSeconds(30))
                .header("Content-Type", "application/json")
                .method(
                        method,
                        body.isEmpty()
                                ? HttpRequest.BodyPublishers.noBody()
                                : HttpRequest.BodyPublishers.ofString(body));
    }

    HttpResponse<String> send(HttpClient client, String method, String path, String body)
            throws IOException, InterruptedException {
        return client.send(request(method, path, body).build(), HttpResponse.BodyHandlers.ofString());
    }

    HttpResponse<String> sendWithToken(String token, String method, String path)
            throws IOException, InterruptedException {
        try (HttpClient client = stranger()) {
            return client.send(
                    request(method, path, "")
                            .header("Authorization", "Bearer " + token)
                            .build(),
                    HttpResponse.BodyHandlers.ofString());
        }
    }

    @Override
    public void close() {
        running.close();
    }
}
