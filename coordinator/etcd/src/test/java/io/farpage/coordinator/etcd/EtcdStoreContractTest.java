package io.farpage.coordinator.etcd;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.CmpTarget;
import io.farpage.coordinator.store.Change;
import io.farpage.coordinator.store.Store;
import io.farpage.coordinator.store.StoreContract;
import io.farpage.coordinator.store.Table;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Tag("portable")
@Tag("processes")
class EtcdStoreContractTest extends StoreContract {

    private static final Duration DEADLINE = Duration.ofSeconds(20);
    private static final int LARGE = 900_000;

    private Optional<EtcdMember> member = Optional.empty();
    private Optional<Members> members = Optional.empty();
    private String prefix = "";

    @BeforeAll
    void startEtcd(@TempDir Path directory) {
        EtcdMember started = EtcdMember.start(directory);
        member = Optional.of(started);
        members = Optional.of(started.members());
    }

    @AfterAll
    void endEtcd() {
        members.ifPresent(Members::close);
        member.ifPresent(EtcdMember::close);
    }

    @Override
    protected Store open() {
        prefix = "/test-" + UUID.randomUUID();
        return reopened();
    }

    @Override
    protected Store reopen(Store store) {
        store.close();
        return reopened();
    }

    private Store reopened() {
        Etcd etcd = new Etcd(members.orElseThrow(), prefix, DEADLINE);
        Cmp always = new Cmp(etcd.key("never-written"), Cmp.Op.EQUAL, CmpTarget.version(0));
        return EtcdStore.open(etcd, new EtcdStore.Lead(always, () -> {}));
    }

    /**
     * After pages of small rows larger pages are asked for, and a page of the large ones is longer than a message may
     * be.
     */
    @Test
    void shouldReadSmallRowsAndThenMoreBytesThanOneMessageMayHave() {
        Map<String, String> nodes = IntStream.range(0, 2_500)
                .mapToObj(Integer::toString)
                .collect(Collectors.toMap(key -> key, key -> "\"" + key + "\""));
        Map<String, String> spaces = IntStream.range(0, Etcd.MAX_MESSAGE / LARGE + 2)
                .mapToObj(Integer::toString)
                .collect(Collectors.toMap(key -> key, key -> "\"" + key.repeat(LARGE / key.length()) + "\""));
        try (Store store = open()) {
            store.commit(changes(Table.NODES, nodes));
            store.commit(changes(Table.SPACES, spaces));
        }
        try (Store store = reopened()) {
            assertEquals(nodes, store.rows(Table.NODES));
            assertEquals(spaces.keySet(), store.rows(Table.SPACES).keySet());
            store.rows(Table.SPACES).forEach((key, row) -> assertEquals(spaces.get(key), row, () -> "row " + key));
        }
    }

    private static List<Change> changes(Table table, Map<String, String> rows) {
        return rows.entrySet().stream()
                .map(row -> new Change(table, row.getKey(), Optional.of(row.getValue())))
                .toList();
    }

    /** What is read when a store is opened is not repeated after a change. */
    @Test
    void shouldReadWhatWasCommittedSinceItWasOpened() {
        try (Store store = open()) {
            store.commit(changes(Table.NODES, Map.of("a", "1")));
        }
        try (Store store = reopened()) {
            store.commit(changes(Table.NODES, Map.of("b", "2")));
            assertEquals(Map.of("a", "1", "b", "2"), store.rows(Table.NODES));
            store.commit(List.of(new Change(Table.NODES, "a", Optional.empty())));
            assertEquals(Map.of("b", "2"), store.rows(Table.NODES));
        }
    }
}
