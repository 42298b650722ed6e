package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.PullReport;
import io.farpage.coordinator.model.SpaceReplicas;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.coordinator.model.WriterRequest;
import io.farpage.rest.ProblemException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** A space is given more homes than it was made with. */
class ReplicateTest {
    private static final int PAGE = 4096;
    private static final Incarnation READER = new Incarnation(9);

    private final Fixture with = new Fixture();
    private final Attachments attachments = new Attachments(with.ledger, with.time);
    private final Snapshots snapshots = new Snapshots(with.ledger, with.time);
    private final Repairs repairs = new Repairs(with.ledger, with.time, new Moves(with.time), Duration.ZERO);

    @BeforeEach
    void makeASpace() {
        with.membership.register("a", Fixture.node(1, 8 * PAGE));
        with.spaces.create(SpaceRequest.of("golden", 4 * PAGE));
        with.membership.register("b", Fixture.node(2, 8 * PAGE));
        with.membership.register("w", Fixture.node(READER.value(), 0));
    }

    private Extent extent() {
        return with.spaces.extents("golden").extents().getFirst();
    }

    private List<String> homes() {
        return extent().homes().stream().map(ExtentHome::node).toList();
    }

    private void replicate(int count) {
        with.spaces.replicate("golden", new SpaceReplicas(count));
        repairs.step();
    }

    private static void refused(String word, String said, Executable what) {
        ProblemException refused = assertThrows(ProblemException.class, what);
        assertTrue(refused.problem("").is(word), refused::getMessage);
        assertTrue(refused.problem("").detail().contains(said), refused::getMessage);
    }

    @Test
    void shouldHaveMoreHomesWhileASnapshotIsRead() {
        snapshots.make("golden");
        attachments.attach("golden", "w", new AttachRequest(READER, AttachMode.SHARED));
        replicate(2);
        assertEquals("b", extent().joining().orElseThrow().node());
        long id = with.spaces.require("golden").id();
        assertTrue(repairs.pulled(
                "b", new PullReport(new Incarnation(2), id, ExtentEpoch.of(extent()), Optional.empty())));
        assertEquals(List.of("a", "b"), homes());
        with.checkIndexes();
    }

    @Test
    void shouldHaveMoreHomesUnderAGuest() {
        attachments.attach("golden", "w", new AttachRequest(READER, AttachMode.EXCLUSIVE));
        replicate(2);
        with.pull(repairs, "golden", READER, List.of(ExtentEpoch.of(extent())));
        repairs.promote("golden", "w", new WriterRequest(READER, List.of(ExtentEpoch.of(extent()))));
        assertEquals(List.of("a", "b"), homes());
    }

    @Test
    void shouldRefuseMoreHomesThanThereAreDomains() {
        refused("too-few-domains", "there are 2", () -> replicate(3));
        assertEquals(1, with.spaces.require("golden").copies());
    }

    @Test
    void shouldNotTakeHomesAway() {
        replicate(2);
        refused("fewer-replicas", "has 2 homes", () -> replicate(1));
        replicate(2);
        assertEquals(2, with.spaces.require("golden").copies());
    }

    @Test
    void shouldCheckTheNumber() {
        assertThrows(IllegalArgumentException.class, () -> new SpaceReplicas(0));
        assertThrows(IllegalArgumentException.class, () -> new SpaceReplicas(4));
    }
}
