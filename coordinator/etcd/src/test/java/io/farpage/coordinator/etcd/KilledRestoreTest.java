package io.farpage.coordinator.etcd;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.backup.BackupFile;
import io.farpage.coordinator.backup.Rows;
import io.farpage.coordinator.command.Commands;
import io.farpage.coordinator.model.StoreCopy;
import io.farpage.coordinator.store.MvStore;
import io.farpage.it.deadlines.Deadlines;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * {@code coordinator restore} as a process that is killed while it restores, at a moment that a seed decides. The store
 * is empty or whole afterwards, and can be restored again. {@code -Dfarpage.seed=N} repeats it.
 */
@Tag("soak")
class KilledRestoreTest {

    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final int ROUNDS = Math.ceilDiv(20 * Integer.getInteger("farpage.soak.percent", 100), 100);
    private static final int ROWS = 4_000;

    private final long seed = Long.getLong("farpage.seed", System.nanoTime());
    private final SplittableRandom random = new SplittableRandom(seed);
    private final StoreCopy copy = copy();

    @TempDir
    private Path directory = Path.of("");

    private Path file = Path.of("");

    private static StoreCopy copy() {
        SortedMap<String, SortedMap<String, String>> tables = new TreeMap<>();
        SortedMap<String, String> nodes = new TreeMap<>();
        for (int i = 0; i < ROWS; i++) {
            nodes.put("n%05d".formatted(i), "x".repeat(500) + i);
        }
        tables.put("nodes", nodes);
        tables.put("counters", new TreeMap<>());
        return new StoreCopy(12_345, tables);
    }

    private void writeBackup() throws IOException {
        System.out.println("seed " + seed + " (repeat with -Dfarpage.seed=" + seed + ")");
        file = Files.writeString(directory.resolve("cluster.backup"), BackupFile.text(copy));
    }

    private Program restore(List<String> keys) {
        List<String> arguments = new ArrayList<>(List.of("restore", file.toString()));
        arguments.addAll(keys);
        return Program.start(directory.resolve("restore.log"), arguments);
    }

    private void restoreAgain(List<String> keys) {
        List<String> arguments = new ArrayList<>(List.of("restore", file.toString(), "--force"));
        arguments.addAll(keys);
        Commands.Outcome outcome = Commands.run(arguments.toArray(String[]::new));
        assertEquals(0, outcome.code(), outcome.err());
    }

    /** Whether all is restored; fails if it is only a part. */
    private boolean isWhole(StoreCopy found) {
        if (found.rows() == 0) {
            return false;
        }
        assertEquals(copy.tables().get("nodes"), found.tables().get("nodes"));
        assertEquals(copy.revision(), found.revision());
        return true;
    }

    private void killAfter(Program program, int micros) throws InterruptedException {
        TimeUnit.MICROSECONDS.sleep(micros);
        program.kill();
    }

    @Test
    void shouldLeaveAnEmbeddedStoreEmptyOrWholeWhenRestoreIsKilled() throws Exception {
        writeBackup();
        int whole = 0;
        for (int round = 0; round < ROUNDS; round++) {
            Path store = directory.resolve("store-" + round);
            List<String> keys = List.of("-D", "store.directory=" + store);
            Program program = restore(keys);
            Deadlines.await("the restore has begun", PATIENCE)
                    .pollInterval(Duration.ofMillis(1))
                    .until(() -> Files.exists(store.resolve(MvStore.FILE)) || !program.isAlive());
            killAfter(program, random.nextInt(400_000));
            whole += isWhole(embedded(store)) ? 1 : 0;
            restoreAgain(keys);
            assertTrue(isWhole(embedded(store)));
        }
        System.out.printf(
                "%d restores into embedded stores killed: %d whole, %d empty%n", ROUNDS, whole, ROUNDS - whole);
    }

    private static StoreCopy embedded(Path store) {
        try (MvStore opened = MvStore.open(store)) {
            return Rows.of(opened);
        }
    }

    @Test
    void shouldLeaveEtcdEmptyOrWholeWhenRestoreIsKilled() throws Exception {
        writeBackup();
        int whole = 0;
        int staged = 0;
        try (EtcdMember member = EtcdMember.start(directory);
                Members members = member.members()) {
            for (int round = 0; round < ROUNDS; round++) {
                Etcd etcd = new Etcd(members, "/round-" + round, Duration.ofSeconds(20));
                List<String> keys = List.of(
                        "-D",
                        "store.kind=etcd",
                        "-D",
                        "store.etcd.endpoints=" + member.url(),
                        "-D",
                        "store.etcd.prefix=" + etcd.prefix(),
                        "-D",
                        "store.etcd.lease=2s",
                        "-D",
                        "store.directory=" + directory.resolve("coordinator"));
                Program program = restore(keys);
                Deadlines.await("the restore has begun", PATIENCE)
                        .pollInterval(Duration.ofMillis(1))
                        .until(() -> !etcd.under("staged/").isEmpty() || !program.isAlive());
                killAfter(program, random.nextInt(400_000));
                staged += etcd.under("staged/").isEmpty() ? 0 : 1;
                whole += isWhole(read(keys, "round-" + round)) ? 1 : 0;
                assertEquals(List.of(), etcd.under("staged/"), "what was staged does not stay");
                restoreAgain(keys);
                assertTrue(isWhole(read(keys, "again-" + round)));
            }
        }
        System.out.printf(
                "%d restores into etcd killed, %d of them with a part staged: %d whole, %d empty%n",
                ROUNDS, staged, whole, ROUNDS - whole);
    }

    /** What the store has once the lease of the killed command is over. */
    private StoreCopy read(List<String> keys, String name) {
        Path to = directory.resolve(name);
        List<String> arguments = new ArrayList<>(List.of("backup", to.toString(), "--offline"));
        arguments.addAll(keys);
        Deadlines.await("the lease of the killed command is over", PATIENCE).until(() -> {
            Commands.Outcome outcome = Commands.run(arguments.toArray(String[]::new));
            assertTrue(
                    outcome.code() == 0
                            || outcome.err().contains("leads on this store, or was killed within its lease"),
                    outcome.err());
            return outcome.code() == 0;
        });
        return BackupFile.read(to);
    }
}
