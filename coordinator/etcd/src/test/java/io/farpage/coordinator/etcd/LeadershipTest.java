package io.farpage.coordinator.etcd;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.etcd.jetcd.Client;
import io.farpage.coordinator.lead.Term;
import io.farpage.coordinator.store.Change;
import io.farpage.coordinator.store.StoreException;
import io.farpage.coordinator.store.Table;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LeadershipTest {

    private static final Duration LEASE = Duration.ofSeconds(2);

    @TempDir
    private Path directory = Path.of("");

    private static List<Change> node(String id) {
        return List.of(new Change(Table.NODES, id, Optional.of("{}")));
    }

    @Test
    void shouldRefuseTheCommitsOfALeaderThatWasSucceeded() throws InterruptedException {
        try (EtcdMember member = EtcdMember.start(directory);
                Client client = member.client()) {
            Etcd etcd = new Etcd(client, "/farpage", Duration.ofSeconds(20));
            EtcdCandidacy first = new EtcdCandidacy(etcd, URI.create("http://first:1"), LEASE);
            EtcdCandidacy second = new EtcdCandidacy(etcd, URI.create("http://second:1"), LEASE);
            Term before = first.campaign();
            assertTrue(before.holds());
            assertEquals(Optional.of(URI.create("http://first:1")), second.leader());
            before.store().commit(node("a"));
            before.close();
            assertFalse(before.holds());
            try (Term after = second.campaign()) {
                assertEquals(Optional.of(URI.create("http://second:1")), first.leader());
                assertEquals(1, after.store().revision());
                assertThrows(StoreException.class, () -> before.store().commit(node("b")));
                after.store().commit(node("c"));
                assertEquals(Map.of("a", "{}", "c", "{}"), after.store().rows(Table.NODES));
                assertEquals(2, after.store().revision());
            }
        }
    }
}
