package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Detachment;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.PullReport;
import io.farpage.coordinator.model.PullState;
import io.farpage.coordinator.model.SpaceRequest;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The homes of a snapshot that is read for long, such as by the guest that it was made of. */
class ReadSnapshotsTest {
    private static final int PAGE = 4096;
    private static final long PAGES = 4;
    private static final Incarnation READER = new Incarnation(9);

    private final Fixture with = new Fixture();
    private final Attachments attachments = new Attachments(with.ledger, with.time);
    private final Snapshots snapshots = new Snapshots(with.ledger, with.time);
    private final Repairs repairs = new Repairs(with.ledger, with.time, new Moves(with.time), Duration.ZERO);
    private final Drains drains = new Drains(with.ledger, new Copies(with.time));

    /** A snapshot at {@code a} and {@code b}, which {@code w} reads; {@code c} has room. */
    @BeforeEach
    void read() {
        register("a", 1);
        register("b", 2);
        with.spaces.create(new SpaceRequest("golden", PAGES * PAGE, OptionalInt.empty(), Optional.of(List.of("a", "b")))
                .withReplicas(2));
        snapshots.make("golden");
        register("c", 3);
        with.membership.register("w", Fixture.node(READER.value(), 0));
        attachments.attach("golden", "w", new AttachRequest(READER, AttachMode.SHARED));
    }

    private void register(String node, long incarnation) {
        with.membership.register(node, Fixture.node(incarnation, 2 * PAGES * PAGE));
    }

    private Extent extent() {
        return with.spaces.extents("golden").extents().getFirst();
    }

    private List<String> homes() {
        return extent().homes().stream().map(ExtentHome::node).toList();
    }

    private boolean pulled(String node, long incarnation) {
        long id = with.spaces.require("golden").id();
        boolean isHome = repairs.pulled(
                node, new PullReport(new Incarnation(incarnation), id, ExtentEpoch.of(extent()), Optional.empty()));
        repairs.settled(id);
        return isHome;
    }

    private void failAllBut(String... alive) {
        for (int i = 0; i < 2; i++) {
            with.time.advance(Fixture.LEASE.minusSeconds(1));
            for (String node : alive) {
                with.membership.heartbeat(
                        node, with.membership.node(node).orElseThrow().incarnation());
            }
        }
        with.membership.expire();
    }

    @Test
    void shouldReplaceAHomeThatIsLostWhileASnapshotIsRead() {
        register("b", 20);
        assertEquals(List.of("a"), homes());
        repairs.step();
        assertEquals(Optional.of(PullState.RUNNING), extent().pull(), "no writer has to allow it");
        String joining = extent().joining().orElseThrow().node();
        assertTrue(pulled(joining, joining.equals("b") ? 20 : 3));
        assertEquals(List.of("a", joining), homes());
        assertEquals(1, attachments.of("golden").size());
        with.checkIndexes();
    }

    @Test
    void shouldKeepTheFramesThatReadersKnowOf() {
        failAllBut("a", "c", "w");
        repairs.step();
        assertTrue(pulled("c", 3));
        assertEquals(List.of("a", "c"), homes());
        repairs.step();
        assertEquals(
                List.of("b"),
                extent().droppedHomes().stream().map(former -> former.node()).toList(),
                "a reader may have a READ under way there");
        attachments.detach("golden", "w", READER, Detachment.PLAIN);
        assertEquals(List.of(), extent().droppedHomes());
    }

    @Test
    void shouldNotReplaceADrainedHomeWhileASnapshotIsRead() {
        drains.begin("b");
        repairs.step();
        assertEquals(Optional.empty(), extent().joining());
        attachments.detach("golden", "w", READER, Detachment.PLAIN);
        repairs.step();
        assertEquals("c", extent().joining().orElseThrow().node());
    }
}
