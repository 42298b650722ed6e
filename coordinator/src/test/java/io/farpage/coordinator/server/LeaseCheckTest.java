package io.farpage.coordinator.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.farpage.coordinator.cluster.FakeTime;
import io.farpage.coordinator.cluster.Fixture;
import io.farpage.coordinator.cluster.Ledger;
import io.farpage.coordinator.cluster.Lineage;
import io.farpage.coordinator.cluster.Membership;
import io.farpage.coordinator.model.Epoch;
import io.farpage.coordinator.model.Seen;
import io.farpage.coordinator.store.MvStore;
import io.farpage.coordinator.store.Store;
import io.farpage.rest.ProblemException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("portable")
class LeaseCheckTest {

    private static final Duration LEASE = Duration.ofSeconds(10);

    private final FakeTime time = new FakeTime();
    private final Store store;
    private final Lineage lineage;
    private final Ledger ledger;
    private final Membership membership;
    private final LeaseCheck check;
    private final List<String> failed = new ArrayList<>();

    LeaseCheckTest(@TempDir Path directory) {
        store = MvStore.open(directory);
        lineage = Lineage.begin(store);
        ledger = new Ledger(store, 100, nanos -> {});
        membership = new Membership(ledger, time, LEASE, Duration.ofSeconds(3));
        check = new LeaseCheck(lineage, ledger, membership, LEASE);
    }

    @BeforeEach
    void registerOneNode() {
        membership.register("a", Fixture.node(1, 1 << 20));
    }

    @AfterEach
    void close() {
        store.close();
    }

    /** Advances past the lease, in steps too short to count as a standstill of the process. */
    private void outlast() {
        for (int i = 0; i < 25; i++) {
            time.advance(check.step(failed::add));
        }
    }

    @Test
    void shouldFailNodeWhenItsLeaseRunsOut() {
        assertEquals(LEASE.dividedBy(20), check.step(failed::add));
        outlast();
        assertEquals(List.of("a"), failed);
    }

    @Test
    void shouldCheckWhenTheNextLeaseEnds() {
        for (int i = 0; i < 19; i++) {
            time.advance(check.step(failed::add));
        }
        check.step(failed::add);
        time.advance(Duration.ofMillis(300));
        assertEquals(Duration.ofMillis(200), check.step(failed::add));
    }

    @Test
    void shouldCommitNothingWhenAnAgentHasSeenMore() {
        Seen more = new Seen(lineage.cluster(), new Epoch(9, 9), 99);
        assertThrows(ProblemException.class, () -> lineage.require(more, true));
        long before = store.revision();
        outlast();
        assertEquals(List.of(), failed);
        assertEquals(before, store.revision());
    }
}
