package io.farpage.tls;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.access.Identity;
import io.farpage.access.Role;
import io.farpage.certs.CertificateAuthority;
import io.farpage.certs.Keys;
import io.farpage.certs.PrivateFiles;
import io.farpage.certs.RenewalTime;
import io.farpage.certs.SigningRequest;
import io.farpage.certs.Subject;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.KeyPair;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Certificates as they are made, read, checked and read again. */
class TlsTest {

    private static final Duration HOUR = Duration.ofHours(1);

    @TempDir
    Path directory;

    private final CertificateAuthority.Made ca = CertificateAuthority.make();

    private TlsFiles files() {
        return new TlsFiles(
                directory.resolve("ca.pem"),
                Optional.of(new TlsFiles.Own(directory.resolve("own.pem"), directory.resolve("own.key"))));
    }

    private X509Certificate write(CertificateAuthority authority, Subject subject, Duration lifetime) {
        KeyPair pair = Keys.generate();
        X509Certificate certificate = authority.issue(pair.getPublic(), subject, lifetime);
        PrivateFiles.replace(
                directory.resolve("ca.pem"), Pem.encode(ca.authority().certificate()));
        PrivateFiles.replace(directory.resolve("own.key"), Pem.encode(pair.getPrivate()));
        PrivateFiles.replace(directory.resolve("own.pem"), Pem.encode(certificate));
        return certificate;
    }

    private String refused() {
        return String.valueOf(
                assertThrows(TlsException.class, () -> Tls.read(files())).getMessage());
    }

    @Test
    void shouldGiveTheIdentityInTheCertificate() {
        write(ca.authority(), Subject.node("rack1.host-a", List.of("10.0.0.1", "host-a")), HOUR);
        assertEquals(
                Optional.of(new Identity.Node("rack1.host-a")),
                Tls.read(files()).identity());
        write(ca.authority(), Subject.role("Ann B.", Role.OPERATOR), HOUR);
        assertEquals(
                Optional.of(new Identity.Principal("Ann B.", Role.OPERATOR, "certificate")),
                Tls.read(files()).identity());
        write(ca.authority(), Subject.coordinator(List.of()), HOUR);
        assertEquals(Optional.of(new Identity.Coordinator()), Tls.read(files()).identity());
    }

    @Test
    void shouldShowTheCaAfterTheCertificateAndNameIt() throws Exception {
        X509Certificate certificate = write(ca.authority(), Subject.node("a", List.of("10.0.0.1")), HOUR);
        assertEquals(Subject.node("a", List.of("10.0.0.1")), Subject.of(certificate), "names survive a renewal");
        certificate.verify(ca.authority().certificate().getPublicKey());
        assertTrue(RenewalTime.of(certificate).isAfter(Instant.now().plus(Duration.ofMinutes(35))));
        assertTrue(RenewalTime.of(certificate).isBefore(Instant.now().plus(Duration.ofMinutes(45))));
    }

    @Test
    void shouldRefuseFilesThatDoNotFitAndNameThem() throws Exception {
        write(CertificateAuthority.make().authority(), Subject.node("a", List.of()), HOUR);
        assertTrue(refused().contains("own.pem is not issued by a CA in"), refused());

        write(ca.authority(), Subject.node("a", List.of()), Duration.ofMillis(1));
        Thread.sleep(1_100); // certificates count seconds
        assertTrue(refused().contains("expired at"), refused());

        write(ca.authority(), Subject.node("a", List.of()), HOUR);
        PrivateFiles.replace(
                directory.resolve("own.key"), Pem.encode(Keys.generate().getPrivate()));
        assertTrue(refused().contains("is not the one of the certificate"), refused());

        Files.writeString(
                directory.resolve("own.key"), "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n");
        assertTrue(refused().contains("openssl pkcs8 -topk8"), refused());

        Files.delete(directory.resolve("own.key"));
        assertTrue(refused().contains("own.key does not exist"), refused());
    }

    @Test
    void shouldUseChangedFilesAndKeepTheEarlierOnesIfTheNewOnesAreBad() throws Exception {
        X509Certificate first = write(ca.authority(), Subject.node("a", List.of()), HOUR);
        try (Tls tls = Tls.open(files(), Duration.ofDays(1))) {
            SSLContext context = tls.client(Peer.COORDINATOR);
            assertFalse(tls.reload());
            assertSame(context, tls.client(Peer.COORDINATOR), "unchanged files leave connections as they are");

            Files.writeString(directory.resolve("own.pem"), "half a file");
            assertFalse(tls.reload());
            assertEquals(Optional.of(first), tls.certificate());

            X509Certificate second = write(ca.authority(), Subject.node("a", List.of()), HOUR);
            int[] told = {0};
            tls.onChange(() -> told[0]++);
            assertTrue(tls.reload());
            assertEquals(Optional.of(second), tls.certificate());
            assertNotSame(context, tls.client(Peer.COORDINATOR));
            assertEquals(1, told[0]);
        }
    }

    @Test
    void shouldWriteFilesForTheirOwnerAloneAndOverwriteNone() throws Exception {
        Path file = directory.resolve("secret");
        PrivateFiles.create(file, "one");
        assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(file)));
        String said = String.valueOf(assertThrows(TlsException.class, () -> PrivateFiles.create(file, "two"))
                .getMessage());
        assertTrue(said.contains("is not overwritten"), said);
        assertEquals("one", Files.readString(file));
    }

    @Test
    void shouldSignOnlyRequestsThatProveTheirKey() {
        KeyPair pair = Keys.generate();
        String request = SigningRequest.make("a", pair.getPublic(), pair.getPrivate());
        assertEquals(pair.getPublic(), SigningRequest.publicKey(request));
        String stolen =
                SigningRequest.make("a", pair.getPublic(), Keys.generate().getPrivate());
        for (String bad : List.of("", "no PEM", stolen)) {
            assertThrows(IllegalArgumentException.class, () -> SigningRequest.publicKey(bad), bad);
        }
    }

    @Test
    void shouldExpectACoordinatorNotANodeOfTheSameCa() {
        X509Certificate node = ca.authority().issue(Keys.generate().getPublic(), Subject.node("a", List.of()), HOUR);
        X509Certificate coordinator =
                ca.authority().issue(Keys.generate().getPublic(), Subject.coordinator(List.of()), HOUR);
        assertEquals(Optional.empty(), Peer.COORDINATOR.refuse(coordinator));
        assertTrue(Peer.COORDINATOR.refuse(node).orElseThrow().contains("is that of node 'a'"));
        assertEquals(Optional.empty(), Peer.AGENT.refuse(node));
        assertTrue(Peer.AGENT.refuse(coordinator).isPresent());
    }
}
