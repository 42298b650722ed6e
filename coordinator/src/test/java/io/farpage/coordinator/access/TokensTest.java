package io.farpage.coordinator.access;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.access.Identity;
import io.farpage.access.Role;
import io.farpage.access.TokenRefusedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tokens and join tokens as two processes see them: each has an object of its own on the same files. */
class TokensTest {

    private static final Duration HOUR = Duration.ofHours(1);

    @TempDir
    Path directory;

    private static String reason(Callable<?> attempt) {
        return assertThrows(TokenRefusedException.class, attempt::call).reason();
    }

    @Test
    void shouldStoreOnlyTheHashForItsOwnerAlone() throws Exception {
        String token = new Tokens(AccessRecords.in(directory)).create("ann", Role.OPERATOR, Optional.empty());
        Path file = directory.resolve("tokens.json");
        assertFalse(Files.readString(file).contains(token));
        assertTrue(Files.readString(file).contains(Secrets.hash(token)));
        assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(file)));
        assertEquals(43, token.length() - "farpage_".length(), "256 bits as base64");
    }

    @Test
    void shouldKnowATokenFromItsCreationToItsRevocation() throws Exception {
        Tokens running = new Tokens(AccessRecords.in(directory));
        Tokens command = new Tokens(AccessRecords.in(directory));
        assertEquals("the token is unknown", reason(() -> running.verify("farpage_x")));
        String token = command.create("ann", Role.VIEWER, Optional.empty());
        assertEquals(new Identity.Principal("ann", Role.VIEWER, "token"), running.verify(token));
        assertThrows(IllegalArgumentException.class, () -> command.create("ann", Role.ADMIN, Optional.empty()));
        command.revoke("ann");
        assertTrue(reason(() -> running.verify(token)).startsWith("token 'ann' was revoked at "));
        String other = command.create("ann", Role.ADMIN, Optional.empty());
        assertNotEquals(token, other);
        assertEquals("the token is unknown", reason(() -> running.verify(token)), "the name was given again");
        assertEquals(Role.ADMIN, running.verify(other).role());
        assertThrows(IllegalArgumentException.class, () -> command.revoke("bob"));
    }

    @Test
    void shouldRefuseATokenAfterItsEnd() throws Exception {
        Tokens tokens = new Tokens(AccessRecords.in(directory));
        String token = tokens.create("job", Role.METRICS, Optional.of(Duration.ofMillis(50)));
        Thread.sleep(60);
        assertTrue(reason(() -> tokens.verify(token)).startsWith("token 'job' expired at "));
    }

    @Test
    void shouldGiveOneOfManyThatUseAJoinTokenAtOnceTheCertificate() throws Exception {
        String token = new JoinTokens(AccessRecords.in(directory)).create("a", List.of(), HOUR);
        assertEquals(1, JoinRace.winners(token, "a", List.of(new JoinTokens(AccessRecords.in(directory)))));
    }

    @Test
    void shouldRefuseUsedExpiredReplacedAndForeignJoinTokens() throws Exception {
        JoinTokens tokens = new JoinTokens(AccessRecords.in(directory));
        assertTrue(reason(() -> tokens.use("farpage_join_x", "a")).startsWith("the join token is unknown"));

        String token = tokens.create("a", List.of("10.0.0.1"), HOUR);
        assertEquals("the join token is for node 'a', not 'b'", reason(() -> tokens.use(token, "b")));
        assertEquals(List.of("10.0.0.1"), tokens.use(token, "a").addresses());
        assertTrue(reason(() -> tokens.use(token, "a")).startsWith("the join token of node 'a' was used at "));

        String early = tokens.create("c", List.of(), HOUR);
        String late = tokens.create("c", List.of(), HOUR);
        assertTrue(reason(() -> tokens.use(early, "c")).startsWith("the join token is unknown"));
        tokens.use(late, "c");

        String brief = tokens.create("d", List.of(), Duration.ofMillis(20));
        Thread.sleep(30);
        assertTrue(reason(() -> tokens.use(brief, "d")).startsWith("the join token of node 'd' expired at "));
        assertFalse(Files.readString(directory.resolve("join-tokens.json")).contains(token));
    }
}
