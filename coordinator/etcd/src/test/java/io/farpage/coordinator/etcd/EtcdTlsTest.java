package io.farpage.coordinator.etcd;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.certs.CertificateAuthority;
import io.farpage.certs.Keys;
import io.farpage.certs.PrivateFiles;
import io.farpage.certs.Subject;
import io.farpage.config.Config;
import io.farpage.coordinator.config.Settings;
import io.farpage.coordinator.lead.Candidacy;
import io.farpage.coordinator.lead.Term;
import io.farpage.coordinator.store.Change;
import io.farpage.coordinator.store.StoreException;
import io.farpage.coordinator.store.Table;
import io.farpage.tls.Pem;
import java.net.URI;
import java.nio.file.Path;
import java.security.KeyPair;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/**
 * A member of etcd that takes only clients with a certificate, on an address that its certificate names and on one that
 * it does not.
 */
@Tag("portable")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Tag("processes")
class EtcdTlsTest {

    private static final Duration HOUR = Duration.ofHours(1);
    private static final String UNNAMED = "127.0.0.2";

    private Path directory = Path.of("");
    private Optional<EtcdMember> member = Optional.empty();

    @BeforeAll
    void startEtcd(@TempDir Path own) {
        directory = own;
        CertificateAuthority.Made ca = authority("ca");
        issue(ca, "etcd");
        issue(ca, "coordinator");
        issue(authority("other-ca"), "stranger");
        member = Optional.of(EtcdMember.secured(
                directory,
                List.of(
                        "--cert-file=" + at("etcd.pem"),
                        "--key-file=" + at("etcd.key"),
                        "--trusted-ca-file=" + at("ca.pem"),
                        "--client-cert-auth"),
                UNNAMED));
        member().awaitAnswer(() -> {
            try (Members members = Connections.open(config(member().url(), shown("coordinator")))) {
                etcd(members).get("any");
            }
        });
    }

    @AfterAll
    void endEtcd() {
        member.ifPresent(EtcdMember::close);
    }

    private EtcdMember member() {
        return member.orElseThrow();
    }

    private Path at(String name) {
        return directory.resolve(name);
    }

    private CertificateAuthority.Made authority(String name) {
        CertificateAuthority.Made made = CertificateAuthority.make();
        PrivateFiles.create(at(name + ".pem"), Pem.encode(made.authority().certificate()));
        return made;
    }

    private void issue(CertificateAuthority.Made ca, String name) {
        KeyPair pair = Keys.generate();
        PrivateFiles.create(at(name + ".key"), Pem.encode(pair.getPrivate()));
        PrivateFiles.create(
                at(name + ".pem"),
                Pem.encode(ca.authority().issue(pair.getPublic(), Subject.coordinator(List.of()), HOUR)));
    }

    private Map<String, String> shown(String name) {
        return Map.of(
                "store.etcd.ca", at("ca.pem").toString(),
                "store.etcd.certificate", at(name + ".pem").toString(),
                "store.etcd.key", at(name + ".key").toString());
    }

    private static Config config(String endpoint, Map<String, String> tls) {
        Map<String, String> flags = new HashMap<>(tls);
        flags.put("store.kind", "etcd");
        flags.put("store.etcd.endpoints", endpoint);
        flags.put("store.etcd.deadline", "5s");
        return Settings.SCHEMA.load(Optional.empty(), Map.of(), flags);
    }

    private static Etcd etcd(Members members) {
        return new Etcd(members, "/tls", Duration.ofSeconds(5));
    }

    private static void assertNotConnected(Config config) {
        try (Members members = Connections.open(config)) {
            assertThrows(StoreException.class, () -> etcd(members).get("any"));
        }
    }

    private static String refusal(Config config) {
        return String.valueOf(assertThrows(
                        StoreException.class, () -> Connections.open(config).close())
                .getMessage());
    }

    @Test
    void shouldLeadAndCommitWhenBothSidesShowCertificates() throws InterruptedException {
        try (Candidacy candidacy = new EtcdElections()
                        .open(config(member().url(), shown("coordinator")), URI.create("https://first:1"));
                Term term = candidacy.campaign()) {
            term.store().commit(List.of(new Change(Table.NODES, "a", Optional.of("{}"))));
            assertEquals(Map.of("a", "{}"), term.store().rows(Table.NODES));
        }
    }

    @Test
    void shouldNotConnectWithoutACertificate() {
        assertNotConnected(
                config(member().url(), Map.of("store.etcd.ca", at("ca.pem").toString())));
    }

    @Test
    void shouldNotConnectToAMemberOfAnotherCa() {
        assertNotConnected(config(
                member().url(), Map.of("store.etcd.ca", at("other-ca.pem").toString())));
    }

    @Test
    void shouldNotConnectToAMemberWhoseCertificateNamesAnotherHost() {
        String unnamed = member().url().replace("127.0.0.1", UNNAMED);
        assertNotConnected(config(unnamed, shown("coordinator")));
    }

    @Test
    void shouldRefuseSettingsThatDoNotFit() {
        String url = member().url();
        assertTrue(refusal(config(url, Map.of())).contains("must be http://host:port, since store.etcd.ca is not set"));
        assertTrue(refusal(config(url.replace("https", "http"), shown("coordinator")))
                .contains("must be https://host:port, since store.etcd.ca is set"));
        Map<String, String> part = new HashMap<>(shown("coordinator"));
        part.remove("store.etcd.key");
        assertTrue(refusal(config(url, part)).startsWith("store.etcd.key is not set"));
        assertTrue(refusal(config(url, shown("stranger"))).contains("is not issued by a CA in " + at("ca.pem")));
    }
}
