package io.farpage.coordinator.etcd;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.lead.Leader;
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
                Members members = member.members()) {
            Etcd etcd = new Etcd(members, "/farpage", Duration.ofSeconds(20));
            EtcdCandidacy first = new EtcdCandidacy(etcd, URI.create("http://first:1"), LEASE);
            EtcdCandidacy second = new EtcdCandidacy(etcd, URI.create("http://second:1"), LEASE);
            Term before = first.campaign();
            assertTrue(before.holds());
            assertEquals(
                    Optional.of(URI.create("http://first:1")), second.leader().map(Leader::url));
            assertEquals(Optional.of(before.number()), second.leader().map(Leader::term));
            before.store().commit(node("a"));
            before.close();
            assertFalse(before.holds());
            try (Term after = second.campaign()) {
                await().atMost(Duration.ofSeconds(20))
                        .until(() -> first.leader().equals(second.leader()));
                assertEquals(
                        Optional.of(URI.create("http://second:1")),
                        second.leader().map(Leader::url));
                assertTrue(after.number() > before.number());
                assertEquals(1, after.store().revision());
                assertThrows(StoreException.class, () -> before.store().commit(node("b")));
                after.store().commit(node("c"));
                assertEquals(Map.of("a", "{}", "c", "{}"), after.store().rows(Table.NODES));
                assertEquals(2, after.store().revision());
            }
        }
    }
}
