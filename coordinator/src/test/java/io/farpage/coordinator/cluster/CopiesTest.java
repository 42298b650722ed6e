package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.CopyReport;
import io.farpage.coordinator.model.Drain;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.PullReport;
import io.farpage.coordinator.model.Repair;
import io.farpage.coordinator.model.SpaceRequest;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The progress of copies that nodes report, as drains and spaces show it. */
class CopiesTest {
    private static final int PAGE = 4096;
    private static final long SIZE = 8L * PAGE;

    private final Fixture with = new Fixture();
    private final Repairs repairs = new Repairs(with.ledger, with.time, new Moves(with.time), Duration.ZERO);
    private final Copies copies = new Copies(with.time);
    private final Drains drains = new Drains(with.ledger, copies);
    private final SpaceRepairs spaces = new SpaceRepairs(with.ledger, copies);

    @BeforeEach
    void drainANodeThatHoldsASpace() {
        register("a", 1);
        with.spaces.create(new SpaceRequest("vm", SIZE, OptionalInt.empty(), Optional.of(List.of("a"))));
        assertTrue(spaces.of("vm").whole());
        register("b", 2);
        drains.begin("a");
        repairs.step();
        assertEquals("b", extent().joining().orElseThrow().node());
    }

    private void register(String node, long incarnation) {
        with.membership.register(node, Fixture.node(incarnation, 2 * SIZE));
    }

    private Extent extent() {
        return with.spaces.extents("vm").extents().getFirst();
    }

    private void report(String node, ExtentEpoch extent, long left) {
        long space = with.spaces.extents("vm").space().id();
        copies.report(node, new CopyReport(new Incarnation(9), List.of(new CopyReport.Copy(space, extent, left))));
    }

    private long copied() {
        Drain drain = drains.of("a");
        assertEquals(SIZE, drain.bytes());
        assertEquals(SIZE - drain.leftBytes(), drain.copiedBytes().orElseThrow());
        Repair repair = spaces.of("vm");
        assertEquals(SIZE, repair.bytes());
        assertFalse(repair.whole());
        assertEquals(drain.copiedBytes().orElseThrow(), repair.copiedBytes());
        return repair.copiedBytes();
    }

    @Test
    void shouldTellWhatTheHomeThatJoinsHasCopied() {
        assertEquals(0, copied());
        report("b", ExtentEpoch.of(extent()), 3L * PAGE);
        assertEquals(5L * PAGE, copied());
        report("b", ExtentEpoch.of(extent()), 0);
        assertEquals(SIZE, copied());
        assertEquals(
                List.of("1 extents: 1 are being copied by the nodes that they move to"),
                spaces.of("vm").reasons());
    }

    @Test
    void shouldNotBelieveANodeThatDoesNotCopyOrMeansAnotherEpoch() {
        report("a", ExtentEpoch.of(extent()), 0);
        report("b", new ExtentEpoch(0, extent().epochNumber() + 1), 0);
        assertEquals(0, copied());
        report("b", ExtentEpoch.of(extent()), Long.MAX_VALUE);
        assertEquals(0, copied());
    }

    @Test
    void shouldForgetWhatIsNotRepeated() {
        report("b", ExtentEpoch.of(extent()), 0);
        with.time.advance(Duration.ofSeconds(11));
        assertEquals(0, copied());
    }

    @Test
    void shouldCountWhatOnlyHasToBeZeroedAsCopied() {
        repairs.pulled(
                "b",
                new PullReport(
                        new Incarnation(2),
                        with.spaces.extents("vm").space().id(),
                        ExtentEpoch.of(extent()),
                        Optional.empty()));
        repairs.settled(with.spaces.extents("vm").space().id());
        Drain drain = drains.of("a");
        assertFalse(drain.drained());
        assertEquals(SIZE, drain.bytes());
        assertEquals(0, drain.leftBytes());
        assertTrue(spaces.of("vm").whole());
    }

    @Test
    void shouldSayThatNoRepairBringsLostPagesBack() {
        register("a", 5);
        Repair repair = spaces.of("vm");
        assertFalse(repair.whole());
        assertEquals(1, repair.lostExtents());
        assertEquals(0, repair.bytes());
    }
}
