package io.farpage.coordinator.etcd;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.PutOption;
import io.farpage.coordinator.lead.Leader;
import io.farpage.coordinator.lead.Term;
import io.farpage.coordinator.store.Change;
import io.farpage.coordinator.store.StoreException;
import io.farpage.coordinator.store.Table;
import io.farpage.it.deadlines.Deadlines;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("portable")
@Tag("processes")
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
                Deadlines.await("both know of one leader", Deadlines.LONG)
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

    /** The monotonic clock stands in suspend, and goes on as if nothing had happened. */
    @Test
    void shouldNotLeadAfterASuspendLongerThanItsTerm() throws InterruptedException {
        try (EtcdMember member = EtcdMember.start(directory);
                Members members = member.members()) {
            Etcd etcd = new Etcd(members, "/farpage", Duration.ofSeconds(20));
            AtomicLong boot = new AtomicLong();
            try (Term term = new EtcdCandidacy(etcd, URI.create("http://first:1"), LEASE, boot::get).campaign()) {
                assertTrue(term.holds());
                boot.addAndGet(LEASE.toNanos());
                assertFalse(term.holds());
                assertTrue(term.awaitEnd(Duration.ofSeconds(20)));
            }
        }
    }

    @Test
    void shouldNotStandWhenTheRowsAreOfAnEarlierFormat() throws Exception {
        try (EtcdMember member = EtcdMember.start(directory);
                Members members = member.members()) {
            Etcd etcd = new Etcd(members, "/farpage", Duration.ofSeconds(20));
            assertEquals(Optional.empty(), Format.refusal(etcd));
            etcd.commit("put", List.of(), List.of(format(etcd, Format.OWN - 1)));
            assertTrue(Format.refusal(etcd).orElse("").contains("are of format %d".formatted(Format.OWN - 1)));
        }
    }

    /** The first programs wrote rows and a mark, and no format. */
    @Test
    void shouldNotStandWhenTheRowsAreOfNoFormat() throws Exception {
        try (EtcdMember member = EtcdMember.start(directory);
                Members members = member.members()) {
            Etcd etcd = new Etcd(members, "/farpage", Duration.ofSeconds(20));
            Op mark = Op.put(etcd.key(EtcdStore.MARK), Etcd.bytes("1 x 0"), PutOption.DEFAULT);
            etcd.commit("put", List.of(), List.of(mark));
            assertTrue(Format.refusal(etcd).orElse("").contains("are of format 0"));
        }
    }

    /** A version that comes later wrote rows meanwhile: it has put its number where this program has put its own. */
    @Test
    void shouldNeitherCommitNorStandWhenTheRowsAreOfALaterFormat() throws Exception {
        try (EtcdMember member = EtcdMember.start(directory);
                Members members = member.members()) {
            Etcd etcd = new Etcd(members, "/farpage", Duration.ofSeconds(20));
            EtcdCandidacy candidacy = new EtcdCandidacy(etcd, URI.create("http://first:1"), LEASE);
            try (Term term = candidacy.campaign()) {
                term.store().commit(node("a"));
                assertEquals(Optional.of(Integer.toString(Format.OWN)), etcd.get("format"));
                etcd.commit("put", List.of(), List.of(format(etcd, Format.OWN + 1)));
                assertThrows(StoreException.class, () -> term.store().commit(node("b")));
            }
            Thread standing = Thread.ofVirtual().start(() -> {
                try {
                    candidacy.campaign();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            });
            Deadlines.await("no leader", Deadlines.LONG)
                    .during(Duration.ofMillis(500))
                    .until(() -> candidacy.leader().isEmpty());
            assertTrue(Format.refusal(etcd)
                    .orElse("")
                    .contains("are of format %d, and this program reads and writes format %d"
                            .formatted(Format.OWN + 1, Format.OWN)));
            standing.interrupt();
            Deadlines.join("the end of the thread", Deadlines.LONG, standing);
        }
    }

    private static Op format(Etcd etcd, int number) {
        return Op.put(etcd.key("format"), Etcd.bytes(Integer.toString(number)), PutOption.DEFAULT);
    }
}
