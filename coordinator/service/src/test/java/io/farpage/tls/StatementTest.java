package io.farpage.tls;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.access.Identity;
import io.farpage.certs.CertificateAuthority;
import io.farpage.certs.Keys;
import io.farpage.certs.Subject;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a node says through the coordinator is checked by the reader: whose certificate, which CA, which bytes. */
final class StatementTest {
    private static final byte[] SAID = "the link key of node a".getBytes(StandardCharsets.US_ASCII);
    private static final Identity A = new Identity.Node("a");

    @TempDir
    Path directory;

    /** A program with a certificate of its own. */
    private Tls program(CertificateAuthority ca, String name, Subject subject, Duration lifetime) throws IOException {
        KeyPair pair = Keys.generate();
        Path trusted = Files.writeString(directory.resolve(name + "-ca.pem"), Pem.encode(ca.certificate()));
        Path certificate = Files.writeString(
                directory.resolve(name + ".pem"), Pem.encode(ca.issue(pair.getPublic(), subject, lifetime)));
        Path key = Files.writeString(directory.resolve(name + "-key.pem"), Pem.encode(pair.getPrivate()));
        return Tls.read(new TlsFiles(trusted, Optional.of(new TlsFiles.Own(certificate, key))));
    }

    private Tls node(CertificateAuthority ca, String id) throws IOException {
        return program(ca, id, Subject.node(id, List.of()), Duration.ofDays(1));
    }

    @Test
    void shouldTakeWhatTheNodeSigned() throws IOException {
        CertificateAuthority ca = CertificateAuthority.make().authority();
        Statement statement = Statement.sign(node(ca, "a"), SAID);
        assertEquals(Optional.empty(), statement.refuse(node(ca, "b"), A, SAID));
    }

    @Test
    void shouldRefuseOtherBytes() throws IOException {
        CertificateAuthority ca = CertificateAuthority.make().authority();
        Statement statement = Statement.sign(node(ca, "a"), SAID);
        byte[] altered = SAID.clone();
        altered[0] ^= 1;
        assertEquals(
                Optional.of("the signature is not that of certificate 'CN=a'"),
                statement.refuse(node(ca, "b"), A, altered));
    }

    @Test
    void shouldRefuseAnotherNodesCertificate() throws IOException {
        CertificateAuthority ca = CertificateAuthority.make().authority();
        Statement statement = Statement.sign(node(ca, "c"), SAID);
        assertEquals(
                Optional.of("certificate 'CN=c' is not that of node 'a'"), statement.refuse(node(ca, "b"), A, SAID));
    }

    @Test
    void shouldRefuseTheCoordinatorsCertificate() throws IOException {
        CertificateAuthority ca = CertificateAuthority.make().authority();
        Tls coordinator = program(ca, "coordinator", Subject.coordinator(List.of()), Duration.ofDays(1));
        Statement statement = Statement.sign(coordinator, SAID);
        assertTrue(statement.refuse(node(ca, "b"), A, SAID).orElseThrow().endsWith("is not that of node 'a'"));
    }

    @Test
    void shouldRefuseACertificateOfAForeignCa() throws IOException {
        CertificateAuthority ca = CertificateAuthority.make().authority();
        CertificateAuthority foreign = CertificateAuthority.make().authority();
        Statement statement = Statement.sign(node(foreign, "a"), SAID);
        assertTrue(statement.refuse(node(ca, "b"), A, SAID).isPresent());
    }

    @Test
    void shouldRefuseASignatureOfAKeyThatIsNotTheCertificates() throws IOException {
        CertificateAuthority ca = CertificateAuthority.make().authority();
        Statement honest = Statement.sign(node(ca, "a"), SAID);
        Statement forged = new Statement(
                honest.certificates(), Statement.sign(node(ca, "c"), SAID).signature());
        assertEquals(
                Optional.of("the signature is not that of certificate 'CN=a'"), forged.refuse(node(ca, "b"), A, SAID));
    }

    @Test
    void shouldRefuseACertificateThatHasExpired() throws IOException {
        CertificateAuthority ca = CertificateAuthority.make().authority();
        Tls reader = node(ca, "b");
        KeyPair pair = Keys.generate();
        String expired = Pem.encode(ca.issue(pair.getPublic(), Subject.node("a", List.of()), Duration.ofDays(-1)));
        assertTrue(new Statement(expired, "AAAA").refuse(reader, A, SAID).isPresent());
    }

    @Test
    void shouldRefuseWhatIsNoCertificateOrNoSignature() throws IOException {
        CertificateAuthority ca = CertificateAuthority.make().authority();
        Tls reader = node(ca, "b");
        assertEquals(
                Optional.of("the certificate chain has no certificate (-----BEGIN CERTIFICATE-----)"),
                new Statement("nonsense", "AAAA").refuse(reader, A, SAID));
        String chain = Statement.sign(node(ca, "a"), SAID).certificates();
        assertTrue(new Statement(chain, "no base64").refuse(reader, A, SAID).isPresent());
        assertTrue(new Statement(chain.repeat(9), "no base64")
                .refuse(reader, A, SAID)
                .orElseThrow()
                .contains("8 are read"));
    }

    @Test
    void shouldNotSignWithoutACertificate() throws IOException {
        CertificateAuthority ca = CertificateAuthority.make().authority();
        Path trusted = Files.writeString(directory.resolve("ca.pem"), Pem.encode(ca.certificate()));
        Tls without = Tls.read(new TlsFiles(trusted, Optional.empty()));
        assertEquals(
                "this program has no private key",
                assertThrows(TlsException.class, () -> Statement.sign(without, SAID))
                        .getMessage());
    }
}
