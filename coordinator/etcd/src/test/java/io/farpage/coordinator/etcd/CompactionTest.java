package io.farpage.coordinator.etcd;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.etcd.jetcd.options.GetOption;
import io.farpage.coordinator.lead.Term;
import io.farpage.coordinator.store.Change;
import io.farpage.coordinator.store.Table;
import io.farpage.it.deadlines.Deadlines;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("portable")
@Tag("processes")
class CompactionTest {

    private static final Duration DEADLINE = Duration.ofSeconds(20);
    private static final int ROW = 500_000;

    @TempDir
    private Path directory = Path.of("");

    /**
     * The commits write three times the quota, and the next leader needs a new lease, which etcd refuses too when it is
     * full.
     */
    @Test
    void shouldWriteMoreThanTheQuotaOfEtcdAndBeSucceeded() throws InterruptedException {
        try (EtcdMember member = EtcdMember.start(directory, List.of("--quota-backend-bytes=16777216"));
                Members members = member.members()) {
            EtcdCandidacy candidacy = candidacy(members);
            String last = "";
            try (Term term = candidacy.campaign()) {
                for (int i = 0; i < 100; i++) {
                    last = Integer.toString(100 + i).repeat(ROW / 3);
                    term.store().commit(row(last));
                }
            }
            try (Term term = candidacy.campaign()) {
                assertEquals(Map.of("1", last), term.store().rows(Table.SPACES));
                term.store().commit(row("after"));
            }
        }
    }

    /** Terms that end before an interval has passed must not leave their history to each other. */
    @Test
    void shouldCompactWhatEarlierTermsWrote() throws InterruptedException {
        try (EtcdMember member = EtcdMember.start(directory);
                Members members = member.members()) {
            Etcd etcd = new Etcd(members, "/farpage", DEADLINE);
            EtcdCandidacy candidacy = candidacy(members);
            long before;
            try (Term term = candidacy.campaign()) {
                term.store().commit(row("1"));
                before = etcd.revision();
                term.store().commit(row("2"));
            }
            try (Term term = candidacy.campaign()) {
                term.store().commit(row("3"));
                Deadlines.await("compaction at every member", DEADLINE).until(() -> isCompacted(members, before));
            }
        }
    }

    private static boolean isCompacted(Members members, long revision) throws InterruptedException {
        try {
            GetOption then = GetOption.builder().withRevision(revision).build();
            members.inTurn()
                    .getFirst()
                    .getKVClient()
                    .get(Etcd.bytes("any"), then)
                    .get();
            return false;
        } catch (ExecutionException e) {
            return true;
        }
    }

    private static EtcdCandidacy candidacy(Members members) {
        Etcd etcd = new Etcd(members, "/farpage", DEADLINE);
        return new EtcdCandidacy(etcd, URI.create("http://one:1"), Duration.ofSeconds(10));
    }

    private static List<Change> row(String row) {
        return List.of(new Change(Table.SPACES, "1", Optional.of(row)));
    }
}
