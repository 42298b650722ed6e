package io.farpage.agent.command;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import io.farpage.certs.CertificateAuthority;
import io.farpage.certs.Keys;
import io.farpage.certs.PrivateFiles;
import io.farpage.certs.Subject;
import io.farpage.coordinator.model.IssuedCertificate;
import io.farpage.coordinator.model.JoinRequest;
import io.farpage.rest.Json;
import io.farpage.rest.Problem;
import io.farpage.tls.CaPin;
import io.farpage.tls.Pem;
import io.farpage.tls.Tls;
import io.farpage.tls.TlsException;
import io.farpage.tls.TlsFiles;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.KeyPair;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Coordinators that lead, follow or hang, as servers with certificates of one CA. */
@Tag("portable")
final class JoinExchangeTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final JoinRequest REQUEST = new JoinRequest("a", "token", "request", Optional.empty());

    @TempDir
    private Path directory = Path.of("");

    private final CertificateAuthority.Made ca = CertificateAuthority.make();
    private final CaPin pin = CaPin.parse(CaPin.hash(ca.authority().certificate()));
    private final List<HttpServer> servers = new ArrayList<>();

    @BeforeEach
    void makeCertificate() {
        PrivateFiles.create(at("ca.pem"), Pem.encode(ca.authority().certificate()));
        KeyPair pair = Keys.generate();
        PrivateFiles.create(at("own.key"), Pem.encode(pair.getPrivate()));
        PrivateFiles.create(
                at("own.pem"),
                Pem.encode(ca.authority()
                        .issue(pair.getPublic(), Subject.coordinator(List.of("127.0.0.1")), Duration.ofHours(1))));
    }

    @AfterEach
    void endServers() {
        servers.forEach(server -> server.stop(0));
    }

    private Path at(String name) {
        return directory.resolve(name);
    }

    /** What a coordinator answers to its n-th request, from 1. */
    private interface Answers {
        Reply to(int request);
    }

    private record Reply(int status, Optional<String> leader, Object body) {}

    private static Reply issued() {
        return new Reply(200, Optional.empty(), new IssuedCertificate("certificate", "ca"));
    }

    private static Reply refused(int status, Optional<String> leader, String detail) {
        return new Reply(status, leader, new Problem("about:blank", "refused", status, detail, "/api/v1/join"));
    }

    private URI coordinator(Answers answers) throws IOException {
        HttpsServer server = HttpsServer.create(new InetSocketAddress("127.0.0.1", 0), 10);
        Tls tls = Tls.read(new TlsFiles(at("ca.pem"), Optional.of(new TlsFiles.Own(at("own.pem"), at("own.key")))));
        server.setHttpsConfigurator(new HttpsConfigurator(tls.server()));
        AtomicInteger asked = new AtomicInteger();
        server.createContext("/api/v1/join", exchange -> {
            Reply reply = answers.to(asked.incrementAndGet());
            byte[] body = Json.LENIENT.writeValueAsString(reply.body()).getBytes(StandardCharsets.UTF_8);
            reply.leader().ifPresent(url -> exchange.getResponseHeaders().set("Farpage-Leader", url));
            exchange.sendResponseHeaders(reply.status(), body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.start();
        servers.add(server);
        return URI.create("https://127.0.0.1:" + server.getAddress().getPort());
    }

    private IssuedCertificate ask(Duration timeout, URI... coordinators) throws InterruptedException {
        return new JoinExchange(pin, Optional.empty(), timeout).ask(List.of(coordinators), REQUEST);
    }

    private String refusal(Duration timeout, URI... coordinators) {
        return String.valueOf(assertThrows(TlsException.class, () -> ask(timeout, coordinators))
                .getMessage());
    }

    @Test
    void shouldAskTheLeaderThatAFollowerNames() throws Exception {
        URI leader = coordinator(_ -> issued());
        URI follower = coordinator(_ -> refused(503, Optional.of(leader.toString()), "it does not lead"));
        assertEquals("certificate", ask(PATIENCE, follower).certificate());
    }

    @Test
    void shouldAskAgainWhileNoneLeads() throws Exception {
        URI elected = coordinator(n -> n < 3 ? refused(503, Optional.of("none"), "it does not lead") : issued());
        assertEquals("certificate", ask(PATIENCE, elected).certificate());
    }

    @Test
    void shouldAskTheOthersWhenOneHangsOrIsGone() throws Exception {
        URI leader = coordinator(_ -> issued());
        URI other;
        try (ServerSocket silent = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"))) {
            other = URI.create("https://127.0.0.1:" + silent.getLocalPort());
            assertEquals(
                    "certificate", ask(Duration.ofSeconds(4), other, leader).certificate());
        }
        assertEquals("certificate", ask(PATIENCE, other, leader).certificate());
    }

    @Test
    void shouldTakeARefusalOfTheLeaderAsFinal() throws Exception {
        AtomicInteger askedAfter = new AtomicInteger();
        URI other = coordinator(_ -> {
            askedAfter.incrementAndGet();
            return issued();
        });
        URI leader = coordinator(_ -> refused(403, Optional.empty(), "the join token was used"));
        String reason = refusal(PATIENCE, leader, other);
        assertTrue(reason.contains("the join token was used"), reason);
        assertEquals(0, askedAfter.get());
    }

    @Test
    void shouldNameEachCoordinatorWhenNoneLeadsUntilTheTimeout() throws Exception {
        URI one = coordinator(_ -> refused(503, Optional.of("none"), "it does not lead"));
        URI two = coordinator(_ -> refused(503, Optional.of("%%"), "it does not lead"));
        String reason = refusal(Duration.ofSeconds(2), one, two);
        assertTrue(reason.contains(one.toString()), reason);
        assertTrue(reason.contains(two.toString()), reason);
    }
}
