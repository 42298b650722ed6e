package io.farpage.coordinator.access;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.access.Identity;
import io.farpage.certs.CertificateAuthority;
import io.farpage.certs.Keys;
import io.farpage.certs.Subject;
import java.nio.file.Path;
import java.security.PublicKey;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The keys as a coordinator and a command beside it see them. */
class NodeKeysTest {

    private static final Identity.Node A = new Identity.Node("a");

    private final CertificateAuthority ca = CertificateAuthority.make().authority();
    private final AtomicLong clock = new AtomicLong();
    private final NodeKeys running;
    private final NodeKeys command;

    NodeKeysTest(@TempDir Path directory) {
        running = new NodeKeys(AccessRecords.in(directory), clock::get);
        command = new NodeKeys(AccessRecords.in(directory), System::nanoTime);
    }

    private static PublicKey key() {
        return Keys.generate().getPublic();
    }

    private X509Certificate certificate(PublicKey key) {
        return ca.issue(key, Subject.node("a", List.of()), Duration.ofHours(1));
    }

    private void passes(Duration time) {
        clock.addAndGet(time.toNanos());
    }

    @Test
    void shouldKeepTheFirstKeyThatANodeShows() {
        PublicKey first = key();
        PublicKey second = key();
        assertFalse(running.isForeign("a", first), "no key is known");
        running.learn("a", first);
        running.learn("a", second);
        assertFalse(running.isForeign("a", first));
        assertTrue(running.isForeign("a", second));
        assertFalse(running.isForeign("b", second), "another node");
        running.replace("a", second);
        assertTrue(running.isForeign("a", first));
        assertFalse(running.isForeign("a", second));
    }

    @Test
    void shouldKeepTheKeyThatWasStoredSinceItLastRead() {
        PublicKey joined = key();
        assertFalse(running.isForeign("a", joined));
        command.replace("a", joined);
        running.learn("a", key());
        assertFalse(running.isForeign("a", joined));
    }

    @Test
    void shouldRefuseWhatWasRevokedWithinTwoSeconds() {
        X509Certificate known = certificate(key());
        running.learn("a", known.getPublicKey());
        assertEquals(Optional.empty(), running.refusal(A, known));
        command.revoke("a");
        passes(NodeKeys.FRESH);
        assertTrue(running.refusal(A, known).orElse("").contains("were revoked at"));
        assertTrue(running.refusal(A, certificate(key())).isPresent(), "a key that nothing is known of");
        assertEquals(Optional.empty(), running.refusal(new Identity.Node("b"), known));
    }

    @Test
    void shouldNotReadForEachRequest() {
        X509Certificate known = certificate(key());
        assertEquals(Optional.empty(), running.refusal(A, known));
        command.revoke("a");
        passes(NodeKeys.FRESH.minusNanos(1));
        assertEquals(Optional.empty(), running.refusal(A, known));
    }

    @Test
    void shouldAcceptTheKeyWithWhichARevokedNodeJoinsAnew() {
        X509Certificate stolen = certificate(key());
        X509Certificate next = certificate(key());
        running.learn("a", stolen.getPublicKey());
        command.revoke("a");
        command.replace("a", next.getPublicKey());
        passes(NodeKeys.FRESH);
        assertEquals(Optional.empty(), running.refusal(A, next));
        assertTrue(running.refusal(A, stolen).isPresent());
    }

    @Test
    void shouldRefuseToRevokeWhatIsNoNode() {
        assertThrows(IllegalArgumentException.class, () -> command.revoke("A/b"));
    }
}
