package io.farpage.coordinator.access;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.certs.CertificateAuthority;
import io.farpage.certs.Keys;
import io.farpage.certs.PrivateFiles;
import io.farpage.certs.SigningRequest;
import io.farpage.certs.Subject;
import io.farpage.coordinator.model.CertificateRequest;
import io.farpage.coordinator.model.JoinRequest;
import io.farpage.rest.ProblemException;
import io.farpage.tls.Pem;
import io.farpage.tls.Tls;
import io.farpage.tls.TlsFiles;
import java.nio.file.Path;
import java.security.KeyPair;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is in the certificates that nodes get. */
@Tag("portable")
class IssuerTest {

    private final Path directory;
    private final JoinTokens tokens;
    private final NodeKeys keys;
    private final Issuer issuer;
    private KeyPair pair = Keys.generate();

    IssuerTest(@TempDir Path directory) {
        this.directory = directory;
        tokens = new JoinTokens(AccessRecords.in(directory));
        CertificateAuthority.Made ca = CertificateAuthority.make();
        KeyPair own = Keys.generate();
        PrivateFiles.create(at("ca.pem"), Pem.encode(ca.authority().certificate()));
        PrivateFiles.create(at("ca.key"), Pem.encode(ca.key()));
        PrivateFiles.create(at("own.key"), Pem.encode(own.getPrivate()));
        PrivateFiles.create(
                at("own.pem"),
                Pem.encode(ca.authority().issue(own.getPublic(), Subject.coordinator(List.of()), Duration.ofHours(1))));
        Tls tls = Tls.read(new TlsFiles(at("ca.pem"), Optional.of(new TlsFiles.Own(at("own.pem"), at("own.key")))));
        keys = new NodeKeys(AccessRecords.in(directory), System::nanoTime);
        issuer = new Issuer(Optional.of(tls), Optional.of(at("ca.key")), Duration.ofHours(1), tokens, keys);
    }

    private Path at(String name) {
        return directory.resolve(name);
    }

    /** Joins as node a; the signing request asks to be another. */
    private X509Certificate join(String token, String from, String... addresses) throws Exception {
        String request = SigningRequest.make("coordinator", pair.getPublic(), pair.getPrivate());
        Optional<List<String>> asked = addresses.length == 0 ? Optional.empty() : Optional.of(List.of(addresses));
        return Pem.certificates(
                        issuer.join(new JoinRequest("a", token, request, asked), from)
                                .certificate(),
                        "answer")
                .getFirst();
    }

    private String token(String... addresses) {
        return tokens.create("a", List.of(addresses), Duration.ofMinutes(1));
    }

    @Test
    void shouldNameTheNodeOfTheTokenAndTheAddressOfTheRequest() throws Exception {
        assertEquals(Subject.node("a", List.of("10.0.0.2")), Subject.of(join(token(), "10.0.0.2")));
        assertEquals(
                Subject.node("a", List.of("fd00:0:0:0:0:0:0:2")),
                Subject.of(join(token(), "[fd00::2]", "fd00:0:0::2")));
        assertEquals(
                Subject.node("a", List.of("10.0.0.2", "192.0.2.7", "host-a")),
                Subject.of(join(token("192.0.2.7", "host-a"), "10.0.0.2", "10.0.0.2")));
    }

    @Test
    void shouldRefuseAnAddressThatIsNotTheNodes() {
        ProblemException refused =
                assertThrows(ProblemException.class, () -> join(token("192.0.2.7"), "10.0.0.2", "10.0.0.1"));
        assertEquals(403, refused.problem("").status());
        assertTrue(
                refused.problem("").detail().contains("coordinator join-token create a --address 10.0.0.1"),
                refused.problem("").detail());
    }

    private X509Certificate renew(X509Certificate present, KeyPair asked) {
        String request = SigningRequest.make("b", asked.getPublic(), asked.getPrivate());
        return Pem.certificates(
                        issuer.renew(new CertificateRequest(request), present).certificate(), "answer")
                .getFirst();
    }

    private int refused(X509Certificate present, KeyPair asked) {
        return assertThrows(ProblemException.class, () -> renew(present, asked))
                .problem("")
                .status();
    }

    @Test
    void shouldRenewForTheSameNamesAndTheSameKey() throws Exception {
        X509Certificate first = join(token(), "10.0.0.2");
        X509Certificate second = renew(first, pair);
        assertEquals(Subject.of(first), Subject.of(second));
        assertEquals(pair.getPublic(), second.getPublicKey());
        assertEquals(pair.getPublic(), renew(second, pair).getPublicKey());
    }

    @Test
    void shouldRefuseToRenewForAnotherKeyThanThePresentOne() throws Exception {
        X509Certificate present = join(token(), "10.0.0.2");
        assertEquals(403, refused(present, Keys.generate()));
        keys.revoke("a");
        assertEquals(403, refused(present, Keys.generate()), "no key of the node is known");
    }

    @Test
    void shouldRefuseToRenewForTheKeyThatTheNodeHadBeforeItJoinedAnew() throws Exception {
        X509Certificate stolen = join(token(), "10.0.0.2");
        KeyPair stolenKey = pair;
        pair = Keys.generate();
        join(token(), "10.0.0.2");
        assertEquals(403, refused(stolen, stolenKey));
    }

    @Test
    void shouldRenewForAKeyThatIsNotKnown() throws Exception {
        X509Certificate present = join(token(), "10.0.0.2");
        keys.revoke("a");
        assertEquals(pair.getPublic(), renew(present, pair).getPublicKey(), "requests are refused elsewhere");
    }
}
