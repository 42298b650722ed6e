package io.farpage.coordinator.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.h2.mvstore.MVStore;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("portable")
class MvStoreTest {

    @TempDir
    private Path directory = Path.of("");

    private Path file() {
        return directory.resolve(MvStore.FILE);
    }

    private String refusal() {
        return String.valueOf(
                assertThrows(StoreException.class, () -> MvStore.open(directory).close())
                        .getMessage());
    }

    private static Change put(Table table, String key, String row) {
        return new Change(table, key, Optional.of(row));
    }

    @Test
    void shouldKeepRowsWhenTheFileIsOpenedAgain() {
        try (Store store = MvStore.open(directory)) {
            store.commit(List.of(put(Table.NODES, "a", "1"), put(Table.NODES, "b", "2"), put(Table.SPACES, "a", "3")));
            store.commit(List.of(new Change(Table.NODES, "a", Optional.empty())));
        }
        try (Store store = MvStore.open(directory)) {
            assertEquals(Map.of("b", "2"), store.rows(Table.NODES));
            assertEquals(Map.of("a", "3"), store.rows(Table.SPACES));
        }
    }

    @Test
    void shouldSayThatAnotherProcessHasTheFile() throws Exception {
        Process other = startWriter();
        try (BufferedReader out = other.inputReader(StandardCharsets.UTF_8)) {
            assertEquals("1", out.readLine());
            assertTrue(refusal().contains("in use by another process"));
        } finally {
            other.destroyForcibly().waitFor();
        }
    }

    @Test
    void shouldSayThatAFileIsDamaged() throws IOException {
        byte[] garbage = new byte[20_000];
        new Random(1).nextBytes(garbage);
        Files.write(file(), garbage);
        assertTrue(refusal().contains("is damaged"), this::refusal);
    }

    @Test
    void shouldSayThatAFileWithBothHeadersOverwrittenIsDamaged() throws IOException {
        try (Store store = MvStore.open(directory)) {
            store.commit(List.of(put(Table.NODES, "a", "1")));
        }
        byte[] bytes = Files.readAllBytes(file());
        java.util.Arrays.fill(bytes, 0, 8192, (byte) 'x');
        Files.write(file(), bytes);
        assertTrue(refusal().contains("is damaged"), this::refusal);
    }

    @Test
    void shouldRefuseAnotherFormatVersionAndAForeignFile() {
        try (MVStore other = MVStore.open(file().toString())) {
            other.openMap(MvFile.FORMAT_MAP).put(MvFile.FORMAT_KEY, "99");
        }
        assertTrue(refusal().contains("format version 99"));
        try (MVStore other = MVStore.open(file().toString())) {
            other.removeMap(MvFile.FORMAT_MAP);
            other.openMap("something-else").put("k", "v");
        }
        assertTrue(refusal().contains("format version (none)"));
    }

    @Test
    void shouldSayThatTheDirectoryCannotBeMade() throws IOException {
        Path notDirectory = Files.writeString(directory.resolve("plain"), "x");
        StoreException refused = assertThrows(
                StoreException.class,
                () -> MvStore.open(notDirectory.resolve("data")).close());
        assertTrue(String.valueOf(refused.getMessage()).contains("store.directory"));
    }

    @Test
    void shouldFinishACommitWhoseCallerIsInterruptedAndStayUsable() {
        try (Store store = MvStore.open(directory)) {
            Thread.currentThread().interrupt();
            store.commit(List.of(put(Table.NODES, "a", "1")));
            assertTrue(Thread.interrupted());
            store.commit(List.of(put(Table.NODES, "b", "2")));
            assertEquals(Map.of("a", "1", "b", "2"), store.rows(Table.NODES));
        }
    }

    /**
     * Each commit of {@link StoreWriter} puts its number into three tables, so a half commit would show as a
     * difference.
     */
    @Test
    @Tag("processes")
    void shouldHaveEveryAcknowledgedCommitAfterKillsAtAnyMoment() throws Exception {
        long seed = Long.getLong("farpage.seed", System.nanoTime());
        System.out.println("seed " + seed);
        Random random = new Random(seed);
        long acknowledged = 0;
        for (int round = 0; round < 6; round++) {
            Process writer = startWriter();
            try (BufferedReader out = writer.inputReader(StandardCharsets.UTF_8)) {
                int enough = 1 + random.nextInt(200);
                for (int i = 0; i < enough; i++) {
                    acknowledged = Long.parseLong(String.valueOf(out.readLine()));
                }
                assertTrue(writer.toHandle()
                        .destroyForcibly()); // Process.destroyForcibly would close our end of its output too
                for (String line = out.readLine(); line != null && !line.isEmpty(); line = out.readLine()) {
                    acknowledged = Math.max(acknowledged, Long.parseLong(line));
                }
            } finally {
                writer.destroyForcibly().waitFor();
            }
            try (Store store = MvStore.open(directory)) {
                long found = StoreWriter.last(store);
                assertTrue(
                        found == acknowledged || found == acknowledged + 1,
                        "seed %d: acknowledged %d, found %d".formatted(seed, acknowledged, found));
                assertEquals(store.rows(Table.NODES), store.rows(Table.SPACES), "seed " + seed);
                assertEquals(
                        Math.min(found, StoreWriter.KEYS),
                        store.rows(Table.NODES).size());
                acknowledged = found;
            }
        }
    }

    /**
     * As several coordinators on one host may have the same working directory, none writes anything there; /proc takes
     * no files.
     */
    @Test
    void shouldOpenWhenTheWorkingDirectoryTakesNoFiles() throws Exception {
        for (int round = 1; round <= 2; round++) {
            Process writer = startWriter(new File("/proc"));
            try (BufferedReader out = writer.inputReader(StandardCharsets.UTF_8)) {
                assertTrue(Long.parseLong(String.valueOf(out.readLine())) >= round);
            } finally {
                writer.destroyForcibly().waitFor();
            }
        }
    }

    private Process startWriter() throws IOException {
        return startWriter(new File(""));
    }

    private Process startWriter(File workingDirectory) throws IOException {
        return new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "@" + Path.of(System.getProperty("farpage.root"), "bin", "java-flags"),
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        System.getProperty("java.class.path"),
                        StoreWriter.class.getName(),
                        directory.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .directory(workingDirectory.getAbsoluteFile())
                .start();
    }
}
