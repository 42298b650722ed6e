package io.farpage.agent.control;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.farpage.certs.CertificateAuthority;
import io.farpage.certs.Keys;
import io.farpage.certs.Subject;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.LinkKey;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.PoolInfo;
import io.farpage.coordinator.model.Registration;
import io.farpage.coordinator.model.TransportKind;
import io.farpage.tls.Pem;
import io.farpage.tls.Tls;
import io.farpage.tls.TlsFiles;
import io.farpage.verbs.VerbsException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.spec.X509EncodedKeySpec;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import javax.crypto.KeyAgreement;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Two agents derive one secret for their link, and no other agent derives it. */
final class LinkKeysTest {
    @TempDir
    Path directory;

    private static final Incarnation ONE = new Incarnation(1);
    private static final Incarnation TWO = new Incarnation(2);

    private static Node node(String id, Incarnation incarnation, Optional<LinkKey> key) {
        Registration registration = new Registration(
                incarnation,
                id,
                "127.0.0.1:1",
                1,
                1 << 20,
                List.of(),
                new PoolInfo(1 << 20, 4096, Optional.empty()),
                List.of(TransportKind.TCP),
                key,
                Optional.empty(),
                Optional.empty(),
                Optional.empty());
        return Node.of(id, registration, Instant.EPOCH);
    }

    private static Node node(String id, Incarnation incarnation, LinkKeys keys) {
        return node(id, incarnation, Optional.of(keys.published()));
    }

    @Test
    void shouldDeriveTheSameSecretOnBothSides() {
        LinkKeys a = LinkKeys.generate("a", ONE, Optional.empty());
        LinkKeys b = LinkKeys.generate("b", TWO, Optional.empty());
        assertEquals(a.with(node("b", TWO, b)), b.with(node("a", ONE, a)));
    }

    @Test
    void shouldDeriveAnotherSecretForAnotherIncarnationOrNode() {
        LinkKeys a = LinkKeys.generate("a", ONE, Optional.empty());
        LinkKeys b = LinkKeys.generate("b", TWO, Optional.empty());
        assertNotEquals(a.with(node("b", TWO, b)), a.with(node("b", ONE, b)));
        assertNotEquals(a.with(node("b", TWO, b)), a.with(node("c", TWO, b)));
    }

    /** The derivation as docs/security.md states it, with a MAC instead of the JDK's key derivation function. */
    @Test
    void shouldDeriveByHkdfFromX25519() throws GeneralSecurityException {
        LinkKeys a = LinkKeys.generate("a", ONE, Optional.empty());
        KeyPair b = KeyPairGenerator.getInstance("X25519").generateKeyPair();
        byte[] shared = agree(b.getPrivate(), a.published());
        byte[] pseudorandom = hmac(new byte[32], shared);
        byte[] context = ("farpage link 1 a/" + ONE + " b/" + TWO).getBytes(StandardCharsets.US_ASCII);
        byte[] block = Arrays.copyOf(context, context.length + 1);
        block[context.length] = 1;
        assertArrayEquals(
                hmac(pseudorandom, block),
                a.with(node("b", TWO, Optional.of(new LinkKey(b.getPublic().getEncoded()))))
                        .bytes());
    }

    private static byte[] agree(PrivateKey own, LinkKey theirs) throws GeneralSecurityException {
        PublicKey key = KeyFactory.getInstance("X25519").generatePublic(new X509EncodedKeySpec(theirs.encoded()));
        KeyAgreement agreement = KeyAgreement.getInstance("X25519");
        agreement.init(own);
        agreement.doPhase(key, true);
        return agreement.generateSecret();
    }

    private static byte[] hmac(byte[] key, byte[] data) throws GeneralSecurityException {
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(key, "HmacSHA256"));
        return mac.doFinal(data);
    }

    @Test
    void shouldRefuseAPeerThatRegisteredNoKey() {
        LinkKeys a = LinkKeys.generate("a", ONE, Optional.empty());
        assertEquals(
                "link to b: it registered no link key, so it cannot prove who it is; its agent is older than this one:"
                        + " update it",
                assertThrows(VerbsException.class, () -> a.with(node("b", TWO, Optional.empty())))
                        .getMessage());
    }

    /** A point of small order makes a secret that everyone knows. */
    @Test
    void shouldRefuseAPointOfSmallOrder() {
        LinkKeys a = LinkKeys.generate("a", ONE, Optional.empty());
        byte[] zero = a.published().encoded();
        Arrays.fill(zero, LinkKey.SIZE - 32, LinkKey.SIZE, (byte) 0);
        VerbsException refused =
                assertThrows(VerbsException.class, () -> a.with(node("b", TWO, Optional.of(new LinkKey(zero)))));
        assertEquals(
                "link to b: its link key is not an X25519 public key: Point has small order; its agent is faulty, or"
                        + " what it registered was altered",
                refused.getMessage());
    }

    @Test
    void shouldRefuseAKeyOfAnotherKind() throws GeneralSecurityException {
        LinkKeys a = LinkKeys.generate("a", ONE, Optional.empty());
        LinkKey other = new LinkKey(KeyPairGenerator.getInstance("Ed25519")
                .generateKeyPair()
                .getPublic()
                .getEncoded());
        assertThrows(VerbsException.class, () -> a.with(node("b", TWO, Optional.of(other))));
    }

    /** A program with a certificate of its own. */
    private Tls certified(CertificateAuthority ca, String id) throws IOException {
        KeyPair pair = Keys.generate();
        Path trusted = Files.writeString(directory.resolve(id + "-ca.pem"), Pem.encode(ca.certificate()));
        Path certificate = Files.writeString(
                directory.resolve(id + ".pem"),
                Pem.encode(ca.issue(pair.getPublic(), Subject.node(id, List.of()), Duration.ofDays(1))));
        Path key = Files.writeString(directory.resolve(id + "-key.pem"), Pem.encode(pair.getPrivate()));
        return Tls.read(new TlsFiles(trusted, Optional.of(new TlsFiles.Own(certificate, key))));
    }

    @Test
    void shouldDeriveTheSameSecretFromSignedKeys() throws IOException {
        CertificateAuthority ca = CertificateAuthority.make().authority();
        LinkKeys a = LinkKeys.generate("a", ONE, Optional.of(certified(ca, "a")));
        LinkKeys b = LinkKeys.generate("b", TWO, Optional.of(certified(ca, "b")));
        assertEquals(a.with(node("b", TWO, b)), b.with(node("a", ONE, a)));
    }

    @Test
    void shouldRefuseAKeyThatIsNotSignedInAClusterWithCertificates() throws IOException {
        CertificateAuthority ca = CertificateAuthority.make().authority();
        LinkKeys a = LinkKeys.generate("a", ONE, Optional.of(certified(ca, "a")));
        LinkKeys b = LinkKeys.generate("b", TWO, Optional.empty());
        assertEquals(
                "link to b: its link key is not that of node 'b': it is not signed; the coordinator was handed another"
                        + " key, or the node's certificate is not valid",
                assertThrows(VerbsException.class, () -> a.with(node("b", TWO, b)))
                        .getMessage());
    }

    /**
     * What a forged coordinator would do to put itself between two agents, and one that runs on an old copy of its
     * store.
     */
    @Test
    void shouldRefuseAnotherKeyUnderTheNodesSignature() throws IOException {
        CertificateAuthority ca = CertificateAuthority.make().authority();
        LinkKeys a = LinkKeys.generate("a", ONE, Optional.of(certified(ca, "a")));
        Tls ofB = certified(ca, "b");
        LinkKey honest = LinkKeys.generate("b", TWO, Optional.of(ofB)).published();
        LinkKey substituted = new LinkKey(
                LinkKeys.generate("b", TWO, Optional.empty()).published().x25519(),
                honest.certificate(),
                honest.signature());
        assertThrows(VerbsException.class, () -> a.with(node("b", TWO, Optional.of(substituted))));
        assertThrows(VerbsException.class, () -> a.with(node("b", ONE, Optional.of(honest))), "of another incarnation");
        LinkKey ofC =
                LinkKeys.generate("b", TWO, Optional.of(certified(ca, "c"))).published();
        assertThrows(VerbsException.class, () -> a.with(node("b", TWO, Optional.of(ofC))), "signed by another node");
        a.with(node("b", TWO, Optional.of(honest)));
    }
}
