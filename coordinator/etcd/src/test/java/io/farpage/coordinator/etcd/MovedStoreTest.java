package io.farpage.coordinator.etcd;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.backup.BackupFile;
import io.farpage.coordinator.client.Allegiance;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.cluster.Fixture;
import io.farpage.coordinator.command.Commands;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.coordinator.server.Running;
import io.farpage.coordinator.server.StoreCopies;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.tls.Credentials;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A cluster that moves from the embedded store to etcd and back with {@code backup} and {@code restore}, and an agent
 * that goes with it.
 */
@Tag("soak")
class MovedStoreTest {

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    /** Each has two rows, so that a restore takes more than one transaction of etcd. */
    private static final int SPACES = 60;

    @TempDir
    private Path directory = Path.of("");

    private final Allegiance agent = new Allegiance();

    private String etcd = "";

    private List<String> etcdKeys() {
        return List.of(
                "-D",
                "store.kind=etcd",
                "-D",
                "store.etcd.endpoints=" + etcd,
                "-D",
                "store.directory=" + directory.resolve("coordinator"));
    }

    private List<String> embeddedKeys(String store) {
        return List.of("-D", "store.directory=" + directory.resolve(store));
    }

    private static Commands.Outcome run(List<String> first, List<String> keys) {
        List<String> all = new ArrayList<>(first);
        all.addAll(keys);
        return Commands.run(all.toArray(String[]::new));
    }

    private Path done(String command, String name, List<String> keys) {
        Path file = directory.resolve(name);
        Commands.Outcome outcome = run(
                command.equals("backup")
                        ? List.of(command, file.toString(), "--offline")
                        : List.of(command, file.toString()),
                keys);
        assertEquals(0, outcome.code(), outcome.err());
        return file;
    }

    private static void assertRefused(Commands.Outcome outcome, String why) {
        assertEquals(1, outcome.code(), outcome.out());
        assertTrue(outcome.err().contains(why), outcome.err());
    }

    private CoordinatorClient client(URI url) {
        return new CoordinatorClient(url, Duration.ofSeconds(20), agent, Credentials.NONE);
    }

    @Test
    void shouldCarryRowsAndHistoryWhenAClusterMovesToEtcdAndBack() throws Exception {
        try (Running running = Running.on(directory.resolve("first"));
                CoordinatorClient client = client(running.url())) {
            client.register("a", Fixture.node(1, 64 << 20));
            agent.join();
            for (int i = 0; i < SPACES; i++) {
                client.createSpace(SpaceRequest.of("s" + i, 4096));
            }
        }
        Path first = done("backup", "first.backup", embeddedKeys("first"));
        try (EtcdMember member = EtcdMember.start(directory)) {
            etcd = member.url();
            done("restore", "first.backup", etcdKeys());
            Path copied = done("backup", "copied.backup", etcdKeys());
            assertEquals(
                    StoreCopies.withoutBase(BackupFile.read(first)), StoreCopies.withoutBase(BackupFile.read(copied)));
            assertEquals(
                    BackupFile.read(first).revision(), BackupFile.read(copied).revision());
            assertRefused(
                    run(List.of("restore", first.toString()), etcdKeys()),
                    "the store in etcd under /farpage is not empty");

            lead();

            Path second = done("backup", "second.backup", etcdKeys());
            assertEquals(
                    SPACES + 1,
                    Optional.ofNullable(BackupFile.read(second).tables().get("spaces"))
                            .orElseThrow()
                            .size());
            done("restore", "second.backup", embeddedKeys("second"));
        }
        try (Running running = Running.on(directory.resolve("second"));
                CoordinatorClient client = client(running.url())) {
            assertEquals(SPACES + 1, client.spaces().size());
            client.deleteSpace("in-etcd");
            assertEquals(Optional.empty(), agent.status().refusal());
        }
    }

    /**
     * A coordinator leads on the restored store: the agent obeys it, and commands that take a store without one are
     * refused.
     */
    private void lead() throws CoordinatorException {
        URI url = EtcdMember.freeUrl();
        List<String> arguments = new ArrayList<>(List.of("run", "-D", "server.listen=" + url.getAuthority()));
        arguments.addAll(etcdKeys());
        try (Program coordinator = Program.start(directory.resolve("coordinator.log"), arguments);
                CoordinatorClient client = client(url)) {
            Deadlines.await("the coordinator leads", PATIENCE).until(() -> leads(client, coordinator));
            client.createSpace(SpaceRequest.of("in-etcd", 4096));
            assertEquals(Optional.empty(), agent.status().refusal());

            Path online = directory.resolve("online.backup");
            Commands.Outcome asked = Commands.run("backup", online.toString(), "--coordinator", url.toString());
            assertEquals(0, asked.code(), asked.err());
            assertTrue(BackupFile.read(online).tables().toString().contains("in-etcd"));

            String leads = "the coordinator at " + url + " leads on this store";
            assertRefused(run(List.of("restore", online.toString(), "--force"), etcdKeys()), leads);
            Path refused = directory.resolve("refused.backup");
            assertRefused(run(List.of("backup", refused.toString(), "--offline"), etcdKeys()), leads);
            assertFalse(Files.exists(refused));
            assertTrue(
                    client.spaces().stream().map(Space::name).anyMatch("in-etcd"::equals),
                    "what was refused has changed nothing");
        }
    }

    private static boolean leads(CoordinatorClient client, Program coordinator) {
        assertTrue(coordinator.isAlive(), "the coordinator has ended");
        try {
            return client.spaces().size() == SPACES;
        } catch (CoordinatorException e) {
            return false;
        }
    }
}
