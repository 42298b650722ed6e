package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.ClusterId;
import io.farpage.coordinator.model.Epoch;
import io.farpage.coordinator.model.Seen;
import io.farpage.coordinator.store.Change;
import io.farpage.coordinator.store.Table;
import io.farpage.rest.ProblemException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("portable")
class LineageTest {

    private final MemoryStore store = new MemoryStore();

    private Lineage start(int times) {
        Lineage last = Lineage.begin(store);
        for (int i = 1; i < times; i++) {
            last = Lineage.begin(store);
        }
        return last;
    }

    /** Starts after epochs 1 to {@code count}. Epoch n ended at revision n. */
    private Lineage startAfter(int count) {
        List<Change> rows = new ArrayList<>();
        for (int i = 1; i < count; i++) {
            rows.add(new Change(Table.EPOCHS, new Epoch(i, i).toString(), Optional.of(Integer.toString(i))));
        }
        rows.add(new Change(Table.COUNTERS, Lineage.EPOCH, Optional.of(new Epoch(count, count).toString())));
        rows.add(new Change(Table.COUNTERS, Lineage.REVISION_BASE, Optional.of(Integer.toString(count))));
        store.commit(rows);
        return Lineage.begin(store);
    }

    private static Seen seen(Lineage of, Epoch epoch, long revision) {
        return new Seen(of.cluster(), epoch, revision);
    }

    private static String refusal(Lineage lineage, Seen seen, boolean registered) {
        ProblemException refused = assertThrows(ProblemException.class, () -> lineage.require(seen, registered));
        assertTrue(refused.problem("").is("behind"), refused::getMessage);
        return refused.problem("").detail();
    }

    @Test
    void shouldRefuseAllChangesWhenRegisteredNodeHasSeenUnknownEpoch() {
        Lineage lineage = start(3);
        String reason = refusal(lineage, seen(lineage, new Epoch(4, 7), 9), true);
        assertTrue(reason.contains("older copy"), reason);
        assertEquals(Optional.of(reason), lineage.behind());
    }

    @Test
    void shouldRefuseAllChangesWhenRegisteredNodeHasSeenMoreOfAnEpoch() {
        Lineage first = Lineage.begin(store);
        Lineage second = Lineage.begin(store);
        second.require(seen(second, first.epoch(), 1), true);
        refusal(second, seen(second, first.epoch(), 2), true);
        assertTrue(second.behind().isPresent());
    }

    @Test
    void shouldRefuseOnlyTheNodeWhenItIsNotRegistered() {
        Lineage lineage = start(3);
        String reason = refusal(lineage, seen(lineage, new Epoch(4, 7), 9), false);
        assertTrue(reason.contains("not registered"), reason);
        assertEquals(Optional.empty(), lineage.behind());
    }

    @Test
    void shouldRefuseOnlyTheNodeWhenItsEpochIsOlderThanAllThatAreKept() {
        Lineage last = startAfter(Lineage.KEPT + 1);
        String reason = refusal(last, seen(last, new Epoch(1, 1), 1), true);
        assertTrue(reason.contains("away for too long"), reason);
        assertEquals(Optional.empty(), last.behind());
    }

    @Test
    void shouldRefuseAllChangesWhenMoreWasSeenInAnEpochNoLongerKept() {
        Lineage last = startAfter(Lineage.KEPT + 1);
        refusal(last, seen(last, new Epoch(1, 1), 3), true);
        assertTrue(last.behind().isPresent());
    }

    @Test
    void shouldAcceptAllKeptEpochs() {
        Lineage last = startAfter(Lineage.KEPT);
        last.require(seen(last, new Epoch(1, 1), 1), true);
        last.require(seen(last, new Epoch(1, 1), 1), false);
    }

    @Test
    void shouldRefuseOnlyTheAgentOfAnotherCluster() {
        Lineage lineage = start(1);
        Seen other = new Seen(new ClusterId("0".repeat(32)), lineage.epoch(), 1);
        for (boolean registered : List.of(true, false)) {
            assertTrue(assertThrows(ProblemException.class, () -> lineage.require(other, registered))
                    .problem("")
                    .is("other-cluster"));
        }
        assertEquals(Optional.empty(), lineage.behind());
    }
}
