package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Detachment;
import io.farpage.coordinator.model.DropRequest;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.HeatReport;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Registration;
import io.farpage.coordinator.model.Release;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.coordinator.model.WriterRequest;
import io.farpage.rest.ProblemException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Random;
import java.util.function.ToLongFunction;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("portable")
class MovesTest {
    private static final int PAGE = 4096;
    private static final long POOL = 8L * Placement.LEAST_PAGES * PAGE;
    private static final Incarnation WRITER = new Incarnation(2);
    private static final Duration INTERVAL = Duration.ofSeconds(10);

    private final Fixture with = new Fixture();
    private final Heat heat = new Heat(with.time::nanos);
    private final Attachments attachments = new Attachments(with.ledger, with.time);
    private final Moves moves = new Moves(with.time);
    private final Repairs repairs = new Repairs(with.ledger, with.time, moves, Duration.ZERO);
    private final Rebalancer rebalancer =
            new Rebalancer(with.ledger, with.time, heat, moves, new Rebalancer.Options(true, INTERVAL, 0));

    private void homes(String... nodes) {
        for (String node : nodes) {
            home(node, Optional.empty());
        }
        with.membership.register("w", Fixture.node(2, 0));
    }

    private void home(String node, Optional<String> domain) {
        Registration said = Fixture.node(10 + node.charAt(1), POOL);
        with.membership.register(
                node,
                new Registration(
                        said.incarnation(),
                        said.hostname(),
                        said.address(),
                        said.cpus(),
                        said.memoryBytes(),
                        said.devices(),
                        said.pool(),
                        said.transports(),
                        said.linkKey(),
                        said.status(),
                        domain,
                        Optional.empty()));
    }

    private void create(int extents, int replicas, String... homes) {
        with.spaces.create(new SpaceRequest(
                        "vm", extents * Placement.LEAST_PAGES * PAGE, OptionalInt.empty(), Optional.of(List.of(homes)))
                .withReplicas(replicas));
        attachments.attach("vm", "w", new AttachRequest(WRITER, AttachMode.EXCLUSIVE));
    }

    private List<Extent> extents() {
        return with.spaces.extents("vm").extents();
    }

    private Extent first() {
        return extents().getFirst();
    }

    private static List<String> names(Extent extent) {
        return extent.homes().stream().map(ExtentHome::node).toList();
    }

    private Optional<String> joining() {
        return first().joining().map(ExtentHome::node);
    }

    private void begin(String from, String to) {
        ExtentHome home = first().homes().stream()
                .filter(each -> each.node().equals(from))
                .findFirst()
                .orElseThrow();
        moves.begin(new Move(with.spaces.require("vm").id(), 0, home, to, Move.Reason.PRESSURE));
    }

    private void promote() {
        with.promote(repairs, "vm", WRITER, List.of(ExtentEpoch.of(first())));
    }

    private void drop(String node) {
        ExtentHome home = first().targets()
                .filter(each -> each.node().equals(node))
                .findFirst()
                .orElseThrow();
        new Drops(with.ledger)
                .drop("vm", "w", new DropRequest(WRITER, node, home.incarnation(), List.of(ExtentEpoch.of(first()))));
    }

    private void later(Duration time) {
        with.time.advance(time);
        repairs.step();
    }

    private void assertCounts(int begun, int done, int givenUp) {
        assertEquals(
                List.of((long) begun, (long) done, (long) givenUp),
                List.of(moves.begun(), moves.done(), moves.givenUp()),
                "begun, done, given up");
    }

    @Test
    void shouldDropExactlyTheHomeThatLeavesWithThePromotion() {
        homes("h1", "h2", "h3");
        create(2, 2, "h1", "h2");
        repairs.step();
        begin(names(first()).getFirst(), "h3");
        String stays = names(first()).getLast();
        assertEquals(1, repairs.step());
        assertEquals(Optional.of("h3"), joining());
        assertEquals(2, first().homes().size(), "both homes are there until the third has all pages");
        long epoch = first().epochNumber();
        promote();
        assertEquals(List.of(stays, "h3"), names(first()));
        assertEquals(epoch + 1, first().epochNumber());
        assertEquals(1, first().droppedHomes().size());
        assertEquals(List.of(), extents().get(1).droppedHomes(), "the other extent stays where it is");
        later(INTERVAL);
        assertCounts(1, 1, 0);
        assertEquals(Optional.empty(), joining());
    }

    @Test
    void shouldMoveAnExtentWithOneHome() {
        homes("h1", "h2", "h3");
        create(1, 1, "h1");
        begin("h1", "h2");
        repairs.step();
        promote();
        assertEquals(List.of("h2"), names(first()));
    }

    @Test
    void shouldCountNothingAsMissingWhileAnExtentMoves() {
        homes("h1", "h2");
        create(1, 1, "h1");
        begin("h1", "h2");
        repairs.step();
        assertEquals(0, Backlog.bytes(with.ledger.state()));
    }

    @Test
    void shouldGiveAMoveUpIfItsTargetHasNoRoom() {
        homes("h1", "h2", "h3");
        create(2, 1, "h1");
        with.spaces.create(new SpaceRequest("full", POOL, OptionalInt.empty(), Optional.of(List.of("h2"))));
        begin("h1", "h2");
        assertEquals(0, repairs.step(), "and takes no other node");
        later(INTERVAL);
        assertCounts(1, 0, 1);
        assertEquals(List.of("h1"), names(first()));
    }

    @Test
    void shouldGiveAMoveUpIfItsTargetIsInTheDomainOfAHomeThatStays() {
        home("h1", Optional.of("x"));
        home("h2", Optional.of("y"));
        home("h3", Optional.of("y"));
        homes();
        create(1, 2, "h1", "h2");
        begin("h1", "h3");
        assertEquals(0, repairs.step());
        later(INTERVAL);
        assertCounts(1, 0, 1);
    }

    @Test
    void shouldGiveAMoveUpIfTheHomeThatJoinsFails() {
        homes("h1", "h2", "h3");
        create(1, 1, "h1");
        begin("h1", "h2");
        repairs.step();
        drop("h2");
        later(Duration.ofSeconds(2));
        later(Repairs.PAUSE);
        later(INTERVAL);
        assertEquals(Optional.empty(), joining());
        assertEquals(List.of("h1"), names(first()));
        assertCounts(1, 0, 1);
    }

    @Test
    void shouldDropJoiningHomeOfMoveThatRestartedCoordinatorLacks() {
        homes("h1", "h2");
        create(1, 1, "h1");
        begin("h1", "h2");
        repairs.step();
        ExtentEpoch copied = ExtentEpoch.of(first());
        with.pull(repairs, "vm", WRITER, List.of(copied));
        with.restart();
        Repairs restarted = new Repairs(with.ledger, with.time, new Moves(with.time), Duration.ZERO);
        assertThrows(
                ProblemException.class, () -> restarted.promote("vm", "w", new WriterRequest(WRITER, List.of(copied))));
        restarted.step();
        assertEquals(Optional.empty(), joining());
        assertEquals(List.of("h1"), names(first()));
    }

    @Test
    void shouldKeepTheHomeThatWasToLeaveIfTheOtherOneFailsMeanwhile() {
        homes("h1", "h2", "h3");
        create(1, 2, "h1", "h2");
        String leaves = names(first()).getFirst();
        begin(leaves, "h3");
        repairs.step();
        failAllBut(leaves, "h3", "w");
        promote();
        assertEquals(List.of(leaves, "h3"), names(first()));
    }

    @Test
    void shouldNotPromoteAHomeInTheDomainOfTheOneThatStaysAfterAll() {
        home("h1", Optional.of("x"));
        home("h2", Optional.of("y"));
        home("h3", Optional.of("x"));
        home("h4", Optional.of("z"));
        homes();
        create(1, 2, "h1", "h2");
        begin("h1", "h3");
        repairs.step();
        assertEquals(Optional.of("h3"), joining());
        ExtentEpoch copied = ExtentEpoch.of(first());
        with.pull(repairs, "vm", WRITER, List.of(copied));
        failAllBut("h1", "h3", "h4", "w");
        assertThrows(
                ProblemException.class, () -> repairs.promote("vm", "w", new WriterRequest(WRITER, List.of(copied))));
        later(INTERVAL);
        later(INTERVAL);
        assertEquals(Optional.of("h4"), joining());
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

    private void report(long inMinute) {
        long space = with.spaces.require("vm").id();
        List<HeatReport.Range> ranges = extents().stream()
                .map(extent -> new HeatReport.Range(extent.firstPage(), extent.count(), inMinute))
                .toList();
        heat.report(space, new HeatReport(ranges));
    }

    @Test
    void shouldMoveAFewAtATimeUntilTheLoadIsEvenAndThenLetThemRest() {
        homes("h1", "h2", "h3");
        create(6, 1, "h1");
        report(20_000);
        assertEquals(0, rebalancer.step(), "not before the interval is over");
        with.time.advance(INTERVAL);
        assertEquals(4, rebalancer.step());
        assertEquals(4, repairs.step());
        with.time.advance(INTERVAL);
        report(20_000);
        assertEquals(0, rebalancer.step(), "four are under way");
        List<ExtentEpoch> joined = extents().stream()
                .filter(extent -> extent.joining().isPresent())
                .map(ExtentEpoch::of)
                .toList();
        with.promote(repairs, "vm", WRITER, joined);
        repairs.step();
        assertCounts(4, 4, 0);
        assertEquals(
                List.of("h1", "h1", "h2", "h2", "h3", "h3"),
                extents().stream()
                        .map(extent -> extent.primary().node())
                        .sorted()
                        .toList());
        for (Extent extent : extents()) {
            assertEquals(
                    !extent.primary().node().equals("h1"),
                    moves.rests(with.spaces.require("vm").id(), extent));
        }
        with.time.advance(INTERVAL);
        report(20_000);
        assertEquals(0, rebalancer.step());
        with.time.advance(Moves.REST);
        repairs.step();
        assertFalse(extents().stream()
                .anyMatch(extent -> moves.rests(with.spaces.require("vm").id(), extent)));
    }

    /** Reports that many faults a minute for each extent. */
    private void report(ToLongFunction<Extent> inMinute) {
        List<HeatReport.Range> ranges = extents().stream()
                .map(extent -> new HeatReport.Range(extent.firstPage(), extent.count(), inMinute.applyAsLong(extent)))
                .toList();
        heat.report(with.spaces.require("vm").id(), new HeatReport(ranges));
    }

    /** One decision, and the moves that it leads to, done before the next. */
    private void decide(ToLongFunction<Extent> inMinute) {
        with.time.advance(INTERVAL);
        report(inMinute);
        rebalancer.step();
        repairs.step();
        List<ExtentEpoch> joined = extents().stream()
                .filter(extent -> extent.joining().isPresent())
                .map(ExtentEpoch::of)
                .toList();
        if (!joined.isEmpty()) {
            with.promote(repairs, "vm", WRITER, joined);
            new Drops(with.ledger)
                    .acknowledge(
                            "vm",
                            "w",
                            new WriterRequest(
                                    WRITER,
                                    joined.stream()
                                            .map(epoch -> new ExtentEpoch(epoch.firstPage(), epoch.epoch() + 1))
                                            .toList()));
            with.zeroable("h1").forEach(release -> zeroed("h1", release));
            with.zeroable("h2").forEach(release -> zeroed("h2", release));
            with.zeroable("h3").forEach(release -> zeroed("h3", release));
        }
        repairs.step();
    }

    private void zeroed(String node, Release release) {
        with.zeroed(node, release.incarnation(), List.of(release.id()));
    }

    private static String reader(Extent extent) {
        return extent.primary().node();
    }

    @Test
    void shouldNotMoveAnExtentBackToAHomeThatItHasLeftLately() {
        homes("h1", "h2", "h3");
        create(6, 1, "h1");
        for (int i = 0; i < Rebalancer.LASTING; i++) {
            decide(_ -> 20_000);
        }
        List<Long> onH2 = extents().stream()
                .filter(extent -> reader(extent).equals("h2"))
                .map(Extent::firstPage)
                .toList();
        assertEquals(2, onH2.size());
        // Now h2 has most of the load, and h1, which its extents came from, has the least.
        ToLongFunction<Extent> later = extent ->
                onH2.contains(extent.firstPage()) ? 40_000 : reader(extent).equals("h1") ? 1_000 : 2_000;
        with.time.advance(Moves.REST.plusSeconds(1));
        repairs.step();
        for (int i = 0; i < 2 * Rebalancer.LASTING; i++) {
            decide(extent -> later.applyAsLong(extent) + (extent.firstPage() == onH2.getFirst() ? 10_000 : 0));
        }
        assertEquals(
                List.of("h2", "h3"),
                extents().stream()
                        .filter(extent -> onH2.contains(extent.firstPage()))
                        .map(MovesTest::reader)
                        .sorted()
                        .toList());
    }

    /**
     * Hours of a load in which some extents are much hotter than others, each of them a fifth more or less from one
     * report to the next.
     */
    @Test
    void shouldSettleUnderALoadThatIsSkewedAndNoisy() {
        for (int seed = 1; seed <= 20; seed++) {
            MovesTest one = new MovesTest();
            one.homes("h1", "h2", "h3");
            one.create(8, 1, "h1");
            Random random = new Random(seed);
            ToLongFunction<Extent> zipf = extent -> {
                double rank = 1.0 + one.extents().indexOf(extent);
                return Math.round(60_000 / Math.pow(rank, 0.8) * (0.8 + 0.4 * random.nextDouble()));
            };
            for (int i = 0; i < 360; i++) {
                one.decide(zipf);
            }
            long first = one.moves.begun();
            for (int i = 0; i < 3 * 360; i++) {
                one.decide(zipf);
            }
            assertTrue(first >= 3 && first <= 8, "moves of the first hour: " + first + ", seed " + seed);
            assertTrue(
                    one.moves.begun() - first <= 3,
                    "moves of three more hours: " + (one.moves.begun() - first) + ", seed " + seed);
        }
    }

    @Test
    void shouldMoveNoMoreThanFourExtentsAtATime() {
        homes("h1", "h2", "h3");
        create(8, 1, "h1");
        report(20_000);
        with.time.advance(INTERVAL);
        assertEquals(4, rebalancer.step(), "of five");
    }

    @Test
    void shouldMoveNothingIfNoAgentIsAttachedThatCopies() {
        homes("h1", "h2", "h3");
        create(6, 1, "h1");
        attachments.detach("vm", "w", WRITER, Detachment.PLAIN);
        with.time.advance(INTERVAL);
        report(20_000);
        assertEquals(0, rebalancer.step());
    }

    @Test
    void shouldGiveANodeThatJoinsItsShare() {
        homes("h1");
        create(6, 1, "h1");
        homes("h1", "h2");
        for (int i = 0; i < 3; i++) {
            with.time.advance(INTERVAL);
            rebalancer.step();
            repairs.step();
            List<ExtentEpoch> joined = extents().stream()
                    .filter(extent -> extent.joining().isPresent())
                    .map(ExtentEpoch::of)
                    .toList();
            with.promote(repairs, "vm", WRITER, joined);
            repairs.step();
        }
        long moved = extents().stream()
                .filter(extent -> extent.primary().node().equals("h2"))
                .count();
        assertTrue(moved >= 2 && moved <= 3, moved + " of 6 extents");
        assertCounts((int) moved, (int) moved, 0);
    }
}
