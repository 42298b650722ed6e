package io.farpage.coordinator.etcd;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.etcd.jetcd.Auth;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.auth.Permission;
import io.farpage.certs.PrivateFiles;
import io.farpage.config.Config;
import io.farpage.coordinator.config.Settings;
import io.farpage.coordinator.lead.Candidacy;
import io.farpage.coordinator.lead.Term;
import io.farpage.coordinator.store.Change;
import io.farpage.coordinator.store.StoreException;
import io.farpage.coordinator.store.Table;
import io.farpage.it.deadlines.Deadlines;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/**
 * A member of etcd with authentication, and a user with access to one prefix alone. etcd forgets a login after a second
 * without a call.
 */
@Tag("portable")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Tag("processes")
class EtcdUserTest {

    private static final String PASSWORD = "a password with spaces";
    private static final Duration LOGIN = Duration.ofSeconds(1);

    private Path directory = Path.of("");
    private Optional<EtcdMember> member = Optional.empty();

    @BeforeAll
    void startEtcd(@TempDir Path own) throws Exception {
        directory = own;
        PrivateFiles.create(directory.resolve("right"), PASSWORD + "\n");
        PrivateFiles.create(directory.resolve("wrong"), "another\n");
        PrivateFiles.create(directory.resolve("empty"), "\n");
        EtcdMember started = EtcdMember.start(directory, List.of("--auth-token-ttl=" + LOGIN.toSeconds()));
        member = Optional.of(started);
        try (Client client = Client.builder().endpoints(started.url()).build()) {
            Auth auth = client.getAuthClient();
            ByteSequence user = Etcd.bytes("coordinator");
            ByteSequence keys = Etcd.bytes("/farpage/");
            done(auth.userAdd(Etcd.bytes("root"), Etcd.bytes("root")));
            done(auth.roleAdd(Etcd.bytes("root")));
            done(auth.userGrantRole(Etcd.bytes("root"), Etcd.bytes("root")));
            done(auth.userAdd(user, Etcd.bytes(PASSWORD)));
            done(auth.roleAdd(user));
            done(auth.roleGrantPermission(user, keys, Etcd.prefixEnd(keys), Permission.Type.READWRITE));
            done(auth.userGrantRole(user, user));
            done(auth.authEnable());
        }
    }

    private static void done(CompletableFuture<?> call) throws Exception {
        Deadlines.get("the call", Deadlines.LONG, call);
    }

    @AfterAll
    void endEtcd() {
        member.ifPresent(EtcdMember::close);
    }

    private Config config(String user, String file, Map<String, String> more) {
        Map<String, String> flags = new HashMap<>(more);
        flags.put("store.kind", "etcd");
        flags.put("store.etcd.endpoints", member.orElseThrow().url());
        flags.put("store.etcd.deadline", "5s");
        if (!user.isEmpty()) {
            flags.put("store.etcd.user", user);
        }
        if (!file.isEmpty()) {
            flags.put("store.etcd.password_file", directory.resolve(file).toString());
        }
        return Settings.SCHEMA.load(Optional.empty(), Map.of(), flags);
    }

    private static List<Change> node(String id) {
        return List.of(new Change(Table.NODES, id, Optional.of("{}")));
    }

    private static String refusal(Config config) {
        return String.valueOf(assertThrows(StoreException.class, () -> {
                    try (Members members = Connections.open(config)) {
                        new Etcd(members, config.get(Settings.ETCD_PREFIX), Duration.ofSeconds(5)).get("any");
                    }
                })
                .getMessage());
    }

    @Test
    void shouldLeadAndCommitAsUserAfterEtcdHasForgottenTheLogin() throws InterruptedException {
        Config config = config("coordinator", "right", Map.of());
        try (Members members = Connections.open(config);
                Candidacy candidacy = new EtcdElections().open(config, URI.create("http://first:1"));
                Term term = candidacy.campaign()) {
            Etcd other = new Etcd(members, "/farpage", Duration.ofSeconds(5));
            term.store().commit(node("a"));
            assertEquals(Optional.of("{}"), other.get("rows/nodes/a"));
            Deadlines.pass(LOGIN.multipliedBy(3)); // etcd forgets the login
            assertEquals(Optional.of("{}"), other.get("rows/nodes/a"), "the other client has made no call meanwhile");
            term.store().commit(node("b"));
            assertEquals(Map.of("a", "{}", "b", "{}"), term.store().rows(Table.NODES));
            assertTrue(term.holds(), "the lease was renewed all the time");
        }
    }

    @Test
    void shouldSayWhyEtcdRefuses() {
        String withoutUser = refusal(config("", "", Map.of()));
        assertTrue(withoutUser.contains("user name is empty"), withoutUser);
        String wrong = refusal(config("coordinator", "wrong", Map.of()));
        assertTrue(wrong.contains("etcd refuses store.etcd.user with the password"), wrong);
        String prefix = refusal(config("coordinator", "right", Map.of("store.etcd.prefix", "/other")));
        assertTrue(prefix.contains("permission denied"), prefix);
    }

    @Test
    void shouldRefuseSettingsThatDoNotFit() {
        assertEquals(
                "store.etcd.password_file is not set: store.etcd.user and store.etcd.password_file go together",
                refusal(config("coordinator", "", Map.of())));
        assertEquals(
                "store.etcd.user is not set: store.etcd.user and store.etcd.password_file go together",
                refusal(config("", "right", Map.of())));
        assertTrue(refusal(config("coordinator", "empty", Map.of())).endsWith("empty is empty"));
        assertTrue(refusal(config("coordinator", "none", Map.of())).contains("none cannot be read: "));
    }
}
