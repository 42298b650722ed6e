package io.farpage.coordinator.etcd;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.PutOption;
import io.farpage.access.Identity;
import io.farpage.access.Role;
import io.farpage.access.TokenRefusedException;
import io.farpage.coordinator.access.AccessRecords;
import io.farpage.coordinator.access.JoinRace;
import io.farpage.coordinator.access.JoinTokens;
import io.farpage.coordinator.access.SharedRecords;
import io.farpage.coordinator.access.Tokens;
import io.farpage.coordinator.store.StoreException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tokens in a real etcd as two coordinators and the commands on their hosts see them: each has connections of its own.
 */
@Tag("portable")
@Tag("processes")
class EtcdTokensTest {

    private static final Duration HOUR = Duration.ofHours(1);

    @TempDir
    private Path directory = Path.of("");

    private Optional<EtcdMember> member = Optional.empty();
    private final List<AccessRecords> open = new ArrayList<>();

    @BeforeEach
    void startEtcd() {
        member = Optional.of(EtcdMember.start(directory));
    }

    @AfterEach
    void endEtcd() {
        open.forEach(AccessRecords::close);
        member.ifPresent(EtcdMember::close);
    }

    private AccessRecords records() {
        AccessRecords records = new EtcdAccess(etcd(Duration.ofSeconds(10)));
        open.add(records);
        return records;
    }

    private Etcd etcd(Duration deadline) {
        return new Etcd(member.orElseThrow().members(), "/farpage", deadline);
    }

    private static String reason(Callable<?> attempt) {
        return assertThrows(TokenRefusedException.class, attempt::call).reason();
    }

    @Test
    void shouldAcceptTokenAtEachCoordinatorFromCreationToRevocation() throws TokenRefusedException {
        Tokens first = new Tokens(records());
        Tokens second = new Tokens(records());
        Tokens command = new Tokens(records());
        assertEquals("the token is unknown", reason(() -> first.verify("farpage_x")));
        String token = command.create("ann", Role.VIEWER, Optional.empty());
        assertEquals(new Identity.Principal("ann", Role.VIEWER, "token"), first.verify(token));
        assertEquals(new Identity.Principal("ann", Role.VIEWER, "token"), second.verify(token));
        assertThrows(IllegalArgumentException.class, () -> second.create("ann", Role.ADMIN, Optional.empty()));
        first.revoke("ann");
        assertTrue(reason(() -> second.verify(token)).startsWith("token 'ann' was revoked at "));
    }

    @Test
    void shouldKeepEachOfManyTokensThatAreMadeAtOnce() throws Exception {
        List<Future<String>> made = new ArrayList<>();
        try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < 12; i++) {
                Tokens own = i % 4 == 0 ? new Tokens(records()) : new Tokens(open.getLast());
                String name = "job-" + i;
                made.add(threads.submit(() -> own.create(name, Role.METRICS, Optional.empty())));
            }
        }
        Tokens after = new Tokens(records());
        for (Future<String> token : made) {
            assertEquals(Role.METRICS, after.verify(token.get()).role());
        }
        assertEquals(12, after.all().size());
    }

    @Test
    void shouldAcceptJoinTokenOnceWhenItIsUsedAtTwoCoordinators() throws Exception {
        String token = new JoinTokens(records()).create("a", List.of(), HOUR);
        List<JoinTokens> coordinators = List.of(new JoinTokens(records()), new JoinTokens(records()));
        assertEquals(1, JoinRace.winners(token, "a", coordinators));
    }

    @Test
    void shouldRepeatWhatWasReadForAMinuteWhenEtcdDoesNotAnswer() {
        AtomicLong now = new AtomicLong();
        Etcd etcd = etcd(Duration.ofMillis(200));
        try (AccessRecords _ = new EtcdAccess(etcd)) {
            SharedRecords<String> records =
                    new EtcdRecords<>(etcd, "access/words", String[].class, now::incrementAndGet);
            records.change(before -> new SharedRecords.Change<>(List.of("one"), before.size()));
            assertEquals(List.of("one"), records.read());
            member.ifPresent(EtcdMember::close);
            assertEquals(List.of("one"), records.read());
            now.addAndGet(EtcdRecords.STALE.toNanos() - EtcdRecords.PAUSE.toNanos());
            assertEquals(List.of("one"), records.read());
            now.addAndGet(EtcdRecords.PAUSE.toNanos());
            assertTrue(message(records::read).startsWith("etcd, get access/words under /farpage: "));
            assertTrue(message(() -> records.change(all -> new SharedRecords.Change<>(List.of(), 0)))
                    .startsWith("etcd, get access/words under /farpage: "));
        }
    }

    private static String message(Callable<?> attempt) {
        return String.valueOf(assertThrows(StoreException.class, attempt::call).getMessage());
    }

    @Test
    void shouldNameTheKeyWhenItsTextIsNoList() {
        Etcd etcd = etcd(Duration.ofSeconds(10));
        try (AccessRecords records = new EtcdAccess(etcd)) {
            etcd.commit(
                    "damage",
                    List.of(),
                    List.of(Op.put(etcd.key("access/tokens"), Etcd.bytes("{"), PutOption.DEFAULT)));
            assertTrue(
                    message(() -> new Tokens(records).all()).startsWith("etcd, /farpage/access/tokens cannot be read"));
        }
    }
}
