package io.farpage.coordinator.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.cluster.Ledger;
import io.farpage.coordinator.cluster.State;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.Release;
import io.farpage.coordinator.model.Space;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.h2.mvstore.MVStore;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A store of format 1, as the programs before seals wrote it: one map for each table, the map of the format, and no
 * file of seals.
 */
class UnsealedStoreTest {
    private static final Map<Table, Map<String, String>> ROWS = rows();

    @TempDir
    private Path directory = Path.of("");

    private static Map<Table, Map<String, String>> rows() {
        String id = "%019d".formatted(7);
        Map<Table, Map<String, String>> rows = new LinkedHashMap<>();
        rows.put(Table.COUNTERS, Map.of("index", "41", "next-id", "9"));
        rows.put(Table.CLUSTER, Map.of());
        rows.put(Table.NODES, Map.of("b", """
                        {"id":"b","incarnation":"0000000000000002","hostname":"host","address":"127.0.0.1:7410","cpus":2,\
                        "memoryBytes":8589934592,"devices":[],"pool":{"exportedBytes":1048576,"pageSize":4096},\
                        "transports":["tcp"],"status":"active","registeredAt":"2026-01-01T00:00:00Z"}"""));
        rows.put(Table.RETIRED, Map.of("b", "{\"incarnations\":[\"0000000000000001\"]}"));
        rows.put(Table.SPACES, Map.of(id, """
                        {"id":7,"name":"vm","sizeBytes":65536,"pageSize":4096,"state":"ok",\
                        "createdAt":"2026-01-01T00:00:00Z","deleting":false}"""));
        rows.put(Table.EXTENTS, Map.of(id, """
                        {"list":[{"firstPage":0,"count":16,"homes":[{"node":"b","incarnation":"0000000000000002",\
                        "offset":0}],"state":"ok"}]}"""));
        rows.put(Table.RELEASES, Map.of("b/%019d".formatted(8), """
                        {"id":8,"space":6,"incarnation":"0000000000000002","offset":65536,"length":4096}"""));
        rows.put(Table.ATTACHMENTS, Map.of(id + "/b", """
                        {"space":7,"node":"b","incarnation":"0000000000000002","mode":"exclusive"}"""));
        return rows;
    }

    @BeforeEach
    void writeUnsealed() {
        try (MVStore old = MVStore.open(file().toString())) {
            old.openMap("format").put("version", "1");
            ROWS.forEach((table, rows) ->
                    old.<String, String>openMap(table.mapName()).putAll(rows));
            old.commit();
        }
    }

    private Path file() {
        return directory.resolve(MvStore.FILE);
    }

    private Path seals() {
        return directory.resolve(MvStore.SEALS);
    }

    private static void assertAllRows(Store store) {
        for (Table table : Table.values()) {
            assertEquals(
                    new TreeMap<>(Optional.ofNullable(ROWS.get(table)).orElse(Map.of())),
                    store.rows(table),
                    table.toString());
        }
    }

    @Test
    void shouldKeepAllRowsAndSealThemWhenTheFileHasFormat1() throws IOException {
        try (Store store = MvStore.open(directory)) {
            assertAllRows(store);
        }
        try (MVStore raw =
                new MVStore.Builder().fileName(file().toString()).readOnly().open()) {
            assertEquals("2", raw.openMap("format").get("version"));
            assertEquals("1", raw.openMap("integrity").get("revision"));
        }
        try (Store store = MvStore.open(directory)) {
            assertAllRows(store);
            store.commit(List.of(new Change(Table.SPACES, "new", Optional.of("{}"))));
            assertEquals(2, store.revision());
        }
        Files.delete(file());
        StoreException refused =
                assertThrows(StoreException.class, () -> MvStore.open(directory).close());
        assertTrue(String.valueOf(refused.getMessage()).contains("is damaged"), "the commits are sealed");
    }

    @Test
    void shouldReadNodesSpacesAndAttachmentsOfFormat1() {
        try (Store store = MvStore.open(directory)) {
            State state = new Ledger(store, 10, nanos -> {}).state();
            assertEquals(41, state.index());
            assertEquals(9, state.nextId());
            assertEquals(
                    List.of(NodeStatus.ACTIVE),
                    state.nodes().values().stream().map(Node::status).toList());
            Space vm = state.space("vm").orElseThrow();
            assertTrue(vm.torn().isEmpty());
            assertTrue(vm.encryption().isEmpty(), "a store that is older than encryption has plain spaces");
            assertEquals(ExtentState.OK, state.extentsOf(vm).getFirst().state());
            assertEquals(
                    List.of(new Release(8, 6, new Incarnation(2), 65536, 4096, false)),
                    List.copyOf(state.releases().values()));
            assertEquals(
                    List.of(new Attachment(7, "b", new Incarnation(2), AttachMode.EXCLUSIVE, 0)),
                    List.copyOf(state.attachments().values()));
            assertTrue(state.fences().isEmpty());
        }
    }

    /**
     * The seal of an upgrade is written after its commit. A process that is killed between the two leaves the seal of
     * the unsealed rows.
     */
    @Test
    void shouldOpenAFileWhoseUpgradeWasKilledBeforeItsSeal() throws IOException {
        MvStore.open(directory).close();
        try (FileChannel channel = FileChannel.open(seals(), StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.wrap(Seal.EMPTY.bytes()), Seal.BYTES);
        }
        try (Store store = MvStore.open(directory)) {
            assertAllRows(store);
        }
    }

    @Test
    void shouldUpgradeAgainWhenTheUpgradeWasKilledBeforeItsCommit() throws IOException {
        byte[] unsealed = Files.readAllBytes(file());
        MvStore.open(directory).close();
        Files.write(file(), unsealed);
        try (FileChannel channel = FileChannel.open(seals(), StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.wrap(Seal.EMPTY.bytes()), Seal.BYTES);
        }
        try (Store store = MvStore.open(directory)) {
            assertAllRows(store);
            assertEquals(1, store.revision());
        }
    }
}
