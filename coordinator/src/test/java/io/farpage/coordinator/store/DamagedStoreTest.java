package io.farpage.coordinator.store;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A store whose files were cut, zeroed, swapped or taken away. It opens with every row of the last commit or is
 * refused.
 */
@Tag("portable")
class DamagedStoreTest {

    private static final int COMMITS = 300;
    private static final int DAMAGES = 400;

    private final Path directory;
    private final Path file;
    private final Path seals;
    private Map<Table, Map<String, String>> rows = Map.of();

    DamagedStoreTest(@TempDir Path directory) {
        this.directory = directory.resolve("store");
        this.file = this.directory.resolve(MvStore.FILE);
        this.seals = this.directory.resolve(MvStore.SEALS);
    }

    @BeforeEach
    void fill() {
        try (Store store = MvStore.open(directory)) {
            commit(store, COMMITS);
            rows = allRows(store);
        }
    }

    private static void commit(Store store, int count) {
        for (int i = 0; i < count; i++) {
            String row = "{\"number\":%d,\"text\":\"%s\"}".formatted(i, "x".repeat(i % 200));
            store.commit(List.of(
                    new Change(Table.NODES, "node" + i % 40, Optional.of(row)),
                    new Change(Table.COUNTERS, "index", Optional.of(Integer.toString(i)))));
        }
    }

    private static Map<Table, Map<String, String>> allRows(Store store) {
        Map<Table, Map<String, String>> all = new TreeMap<>();
        for (Table table : Table.values()) {
            all.put(table, store.rows(table));
        }
        return all;
    }

    private String refusal() {
        return String.valueOf(
                assertThrows(StoreException.class, () -> MvStore.open(directory).close())
                        .getMessage());
    }

    private void openOrRefuse(String damage, byte[] damaged) throws IOException {
        try (Store store = MvStore.open(directory)) {
            assertEquals(rows, allRows(store), damage);
        } catch (StoreException e) {
            String message = String.valueOf(e.getMessage());
            assertTrue(message.contains(MvStore.FILE) && message.contains("--rebuild"), damage + ": " + message);
            assertArrayEquals(damaged, Files.readAllBytes(file), damage + ": a refused file is left as it is");
        }
    }

    @Test
    void shouldOpenWithEveryRowOrRefuseFileThatIsCutOrZeroed() throws IOException {
        long seed = Long.getLong("farpage.seed", System.nanoTime());
        System.out.println("seed " + seed);
        Random random = new Random(seed);
        byte[] whole = Files.readAllBytes(file);
        byte[] seal = Files.readAllBytes(seals);
        for (int i = 0; i < DAMAGES; i++) {
            int at = random.nextInt(whole.length);
            byte[] damaged = Arrays.copyOf(whole, i % 2 == 0 ? at : whole.length);
            Arrays.fill(damaged, Math.min(at, damaged.length), damaged.length, (byte) 0);
            Files.write(file, damaged);
            Files.write(seals, seal);
            openOrRefuse("seed %d, damage %d, %s at %d".formatted(seed, i, i % 2 == 0 ? "cut" : "zeroed", at), damaged);
        }
    }

    @Test
    void shouldOpenWithEveryRowOrRefuseAFileWithABitFlipped() throws IOException {
        long seed = Long.getLong("farpage.seed", System.nanoTime());
        System.out.println("seed " + seed);
        Random random = new Random(seed);
        byte[] whole = Files.readAllBytes(file);
        byte[] seal = Files.readAllBytes(seals);
        for (int i = 0; i < DAMAGES; i++) {
            byte[] damaged = whole.clone();
            int at = random.nextInt(whole.length);
            damaged[at] ^= (byte) (1 << random.nextInt(8));
            Files.write(file, damaged);
            Files.write(seals, seal);
            openOrRefuse("seed %d, bit in byte %d".formatted(seed, at), damaged);
        }
    }

    @Test
    void shouldRefuseAnOlderFileBesideNewerSeals() throws IOException {
        byte[] older = Files.readAllBytes(file);
        try (Store store = MvStore.open(directory)) {
            commit(store, 1);
        }
        Files.write(file, older);
        assertTrue(refusal().contains("was acknowledged"), this::refusal);
    }

    @Test
    void shouldRefuseOlderSealsBesideANewerFile() throws IOException {
        byte[] older = Files.readAllBytes(seals);
        try (Store store = MvStore.open(directory)) {
            commit(store, 2);
        }
        Files.write(seals, older);
        assertTrue(refusal().contains("not of one copy"), this::refusal);
    }

    @Test
    void shouldRefuseAFileThatWasTakenAwayOrWhoseSealsWere() throws IOException {
        byte[] whole = Files.readAllBytes(file);
        Files.delete(file);
        assertTrue(refusal().contains("it is empty"), this::refusal);
        Files.write(file, whole);
        byte[] both = Files.readAllBytes(seals);
        Files.delete(seals);
        assertTrue(refusal().contains("is damaged"), this::refusal);
        Files.write(seals, new byte[both.length]);
        assertTrue(refusal().contains("neither of its two seals"), this::refusal);
        Files.write(seals, both);
        MvStore.open(directory).close();
    }

    /**
     * What a process leaves that is killed after its commit and before the seal is written, or in the middle of writing
     * it.
     */
    @Test
    void shouldOpenAFileThatIsOneCommitAheadOfItsSeals() throws IOException {
        byte[] before = Files.readAllBytes(seals);
        try (Store store = MvStore.open(directory)) {
            store.commit(List.of(new Change(Table.NODES, "last", Optional.of("1"))));
        }
        byte[] after = Files.readAllBytes(seals);
        byte[] torn = before.clone();
        for (int i = 0; i < torn.length; i++) {
            if (before[i] != after[i]) {
                torn[i] = 0;
            }
        }
        for (byte[] left : List.of(before, torn)) {
            Files.write(seals, left);
            try (Store store = MvStore.open(directory)) {
                assertEquals("1", store.rows(Table.NODES).get("last"));
            }
            assertArrayEquals(after, Files.readAllBytes(seals));
        }
    }

    @Test
    void shouldKeepTheStoreFromOtherUsers() throws IOException {
        assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(directory)));
        for (Path each : List.of(file, seals)) {
            assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(each)));
        }
    }
}
