package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Detachment;
import io.farpage.coordinator.model.Drain;
import io.farpage.coordinator.model.DropRequest;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Feature;
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
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class RepairsTest {

    private static final int PAGE = 4096;
    private static final long POOL = 16L * PAGE;
    private static final Incarnation WRITER = new Incarnation(2);
    private static final Duration GRACE = Duration.ofSeconds(60);

    private final Fixture with = new Fixture();
    private final Attachments attachments = new Attachments(with.ledger, with.time);
    private final Drops drops = new Drops(with.ledger);
    private final Repairs repairs = new Repairs(with.ledger, with.time, new Moves(with.time), Duration.ZERO);
    private final Drains drains = new Drains(with.ledger, new Copies(with.time));

    private void homes(String... nodes) {
        for (String node : nodes) {
            with.membership.register(node, Fixture.node(10 + node.charAt(1), POOL));
        }
        with.membership.register("w", Fixture.node(2, 0));
    }

    private void inDomain(String node, String domain) {
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
                        Optional.of(domain),
                        Optional.empty()));
    }

    private void create(long pages, int replicas, String... homes) {
        with.spaces.create(new SpaceRequest("vm", pages * PAGE, OptionalInt.empty(), Optional.of(List.of(homes)))
                .withReplicas(replicas));
    }

    private void attach() {
        attachments.attach("vm", "w", new AttachRequest(WRITER, AttachMode.EXCLUSIVE));
    }

    private List<Extent> extents() {
        return with.spaces.extents("vm").extents();
    }

    private Extent first() {
        return extents().getFirst();
    }

    private static Set<String> names(Extent extent) {
        return extent.homes().stream().map(ExtentHome::node).collect(Collectors.toSet());
    }

    private Optional<String> joining() {
        return first().joining().map(ExtentHome::node);
    }

    private void drop(String node) {
        drop("vm", node);
    }

    private void drop(String space, String node) {
        Extent extent = with.spaces.extents(space).extents().getFirst();
        ExtentHome home = extent.targets()
                .filter(each -> each.node().equals(node))
                .findFirst()
                .orElseThrow();
        drops.drop(space, "w", new DropRequest(WRITER, node, home.incarnation(), List.of(ExtentEpoch.of(extent))));
    }

    private void acknowledge() {
        drops.acknowledge(
                "vm",
                "w",
                new WriterRequest(
                        WRITER, extents().stream().map(ExtentEpoch::of).toList()));
    }

    private void promote() {
        with.promote(repairs, "vm", WRITER, List.of(ExtentEpoch.of(first())));
    }

    private void zero(String node) {
        with.zeroed(
                node,
                with.membership.node(node).orElseThrow().incarnation(),
                with.zeroable(node).stream().map(Release::id).toList());
    }

    private static boolean refusedAs(String word, Runnable refused) {
        return assertThrows(ProblemException.class, refused::run).problem("").is(word);
    }

    @Test
    void shouldBringAnExtentBackToItsNumberOfHomes() {
        homes("h1", "h2", "h3");
        create(8, 2, "h1", "h2");
        attach();
        assertEquals(0, repairs.step());
        drop("h1");
        long epoch = first().epochNumber();
        assertEquals(1, repairs.step());
        assertEquals(Optional.of("h3"), joining());
        assertEquals(epoch + 1, first().epochNumber());
        assertEquals(Set.of("h2"), names(first()), "a home that joins has not got the pages yet");
        assertEquals(8L * PAGE, Backlog.bytes(with.ledger.state()));
        promote();
        assertEquals(Set.of("h2", "h3"), names(first()));
        assertEquals(epoch + 2, first().epochNumber());
        assertEquals(0, Backlog.bytes(with.ledger.state()));
        assertEquals(0, repairs.step());
    }

    @Test
    void shouldPromoteOnlyInTheEpochInWhichThePagesWereCopied() {
        homes("h1", "h2", "h3", "h4");
        create(8, 2, "h1", "h2");
        attach();
        drop("h1");
        repairs.step();
        ExtentEpoch copied = ExtentEpoch.of(first());
        drop("h3");
        with.time.advance(Duration.ofSeconds(2));
        repairs.step();
        assertEquals(Optional.of("h4"), joining());
        assertTrue(refusedAs(
                "stale-epoch", () -> repairs.promote("vm", "w", new WriterRequest(WRITER, List.of(copied)))));
        assertTrue(refusedAs(
                "not-attached",
                () -> repairs.promote(
                        "vm",
                        "h2",
                        new WriterRequest(
                                with.membership.node("h2").orElseThrow().incarnation(), List.of(copied)))));
        promote();
        assertEquals(Set.of("h2", "h4"), names(first()));
    }

    @Test
    void shouldNotHaveTwoHomesOfAnExtentInOneFailureDomain() {
        inDomain("h1", "rack1");
        inDomain("h2", "rack2");
        inDomain("h3", "rack2");
        inDomain("h4", "rack3");
        homes();
        create(8, 2, "h1", "h2");
        attach();
        drop("h1");
        repairs.step();
        assertEquals(Optional.of("h4"), joining());
    }

    @Test
    void shouldDropTheJoiningHomeWhenItsWriterHasDetached() {
        homes("h1", "h2", "h3");
        create(8, 2, "h1", "h2");
        attach();
        drop("h1");
        repairs.step();
        attachments.detach("vm", "w", WRITER, Detachment.PLAIN);
        assertEquals(Optional.empty(), joining());
        assertEquals(Set.of("h2"), names(first()));
        assertEquals(1, with.zeroable("h3").size(), "its frames hold pages, and are zeroed");
        assertEquals(1, repairs.step());
        assertEquals(Optional.of("h1"), joining(), "h3 has just failed to join");
    }

    @Test
    void shouldKeepTheFramesOfAJoiningHomeThatIsDropped() {
        homes("h1", "h2", "h3");
        create(8, 2, "h1", "h2");
        attach();
        drop("h1");
        repairs.step();
        drop("h3");
        assertEquals(0, with.zeroable("h3").size());
        acknowledge();
        assertEquals(1, with.zeroable("h3").size());
    }

    @Test
    void shouldForgetAJoiningHomeWhoseMemoryIsGone() {
        homes("h1", "h2", "h3");
        create(8, 2, "h1", "h2");
        attach();
        drop("h1");
        repairs.step();
        with.membership.register("h3", Fixture.node(99, POOL));
        assertEquals(Optional.empty(), joining());
        assertEquals(ExtentState.OK, first().state());
        assertEquals(Set.of("h2"), names(first()));
    }

    @Test
    void shouldMoveTheOnlyCopyFromANodeThatIsDrainedInOneEpoch() {
        homes("h1", "h2");
        create(8, 1, "h1");
        attach();
        drains.begin("h1");
        drains.begin("h1");
        repairs.step();
        assertEquals(Optional.of("h2"), joining());
        assertFalse(drains.of("h1").drained());
        promote();
        assertEquals(Set.of("h2"), names(first()));
        assertEquals(
                List.of("h1"),
                first().droppedHomes().stream().map(home -> home.node()).toList());
        assertFalse(drains.of("h1").drained(), "the writer may have WRITEs under way");
        acknowledge();
        assertFalse(drains.of("h1").drained(), "the pages are not zeroed");
        zero("h1");
        assertTrue(drains.of("h1").drained());
        assertTrue(refusedAs(
                "home-draining",
                () -> with.spaces.create(
                        new SpaceRequest("other", PAGE, OptionalInt.empty(), Optional.of(List.of("h1"))))));
        drains.cancel("h1");
        drains.cancel("h1");
        assertFalse(drains.of("h1").drained());
    }

    @Test
    void shouldDropTheHomeThatIsDrainedWithThePromotionOfAnother() {
        homes("h1", "h2", "h3");
        create(8, 2, "h1", "h2");
        attach();
        drains.begin("h2");
        repairs.step();
        assertEquals(Optional.of("h3"), joining());
        promote();
        assertEquals(Set.of("h1", "h3"), names(first()));
    }

    @Test
    void shouldDropTheJoiningHomeWhenADrainIsCancelled() {
        homes("h1", "h2");
        create(8, 1, "h1");
        attach();
        drains.begin("h1");
        repairs.step();
        ExtentEpoch copied = ExtentEpoch.of(first());
        with.pull(repairs, "vm", WRITER, List.of(copied));
        drains.cancel("h1");
        assertTrue(refusedAs(
                "no-such-home", () -> repairs.promote("vm", "w", new WriterRequest(WRITER, List.of(copied)))));
        repairs.step();
        assertEquals(Optional.empty(), joining());
        assertEquals(Set.of("h1"), names(first()));
    }

    /** The pool of the node that has joined may be gone; the one that is drained has all pages. */
    @Test
    void shouldKeepDrainedHomeWhenItsJoiningReplacementHasFailed() {
        homes("h1", "h2");
        create(8, 1, "h1");
        attach();
        drains.begin("h1");
        repairs.step();
        ExtentEpoch copied = ExtentEpoch.of(first());
        with.pull(repairs, "vm", WRITER, List.of(copied));
        failAllBut("h1", "w");
        assertTrue(refusedAs(
                "no-such-home", () -> repairs.promote("vm", "w", new WriterRequest(WRITER, List.of(copied)))));
        repairs.step();
        assertEquals(Optional.empty(), joining());
        assertEquals(Set.of("h1"), names(first()));
    }

    @Test
    void shouldSayWhatKeepsANodeFromBeingDrained() {
        homes("h1", "h2");
        create(16, 1, "h1");
        drains.begin("h1");
        attach();
        with.spaces.create(new SpaceRequest("other", PAGE, OptionalInt.empty(), Optional.of(List.of("h2"))));
        assertEquals(0, repairs.step());
        Drain noRoom = drains.of("h1");
        assertTrue(noRoom.reasons().getFirst().contains("free bytes in one piece ('h2' has 61440)"), noRoom::toString);
        drains.begin("h2");
        Drain noNode = drains.of("h1");
        assertTrue(noNode.reasons().getFirst().contains("no other active node"), noNode::toString);
    }

    @Test
    void shouldNotChooseAHomeAtOnceThatHasFailedWhileItJoined() {
        homes("h1", "h2", "h3");
        create(8, 2, "h2", "h3");
        attach();
        drop("h3");
        repairs.step();
        with.time.advance(Duration.ofSeconds(2));
        repairs.step();
        assertEquals(Optional.of("h1"), joining());
        drop("h1");
        acknowledge();
        zero("h1");
        zero("h3");
        repairs.step();
        assertEquals(Optional.of("h3"), joining(), "h1 has just failed, or it would come first");
    }

    @Test
    void shouldReplaceAHomeWhoseLeaseHasRunOutBeforeItsWriterNotices() {
        homes("h1", "h2", "h3");
        create(8, 2, "h1", "h2");
        attach();
        failAllBut("h2", "h3", "w");
        repairs.step();
        assertEquals(Optional.of("h3"), joining());
        assertEquals(Set.of("h1", "h2"), names(first()), "the pages are at both as long as the writer reaches them");
        promote();
        assertEquals(Set.of("h2", "h3"), names(first()));
    }

    @Test
    void shouldKeepLiveDrainedHomeRatherThanFailedOne() {
        homes("h1", "h2", "h3");
        create(8, 2, "h1", "h2");
        attach();
        String drained = first().homes().getFirst().node();
        drains.begin(drained);
        failAllBut(drained, "h3", "w");
        repairs.step();
        promote();
        assertEquals(Set.of(drained, "h3"), names(first()));
    }

    /**
     * A killed writer may have written a page to one home and not to the other: a guest would read the older one later
     * than the newer one.
     */
    @Test
    void shouldGoOnFromOneLiveHomeOfATornSpaceThatIsUsedByForce() {
        homes("h1", "h2", "h3");
        create(8, 2, "h1", "h2");
        attach();
        attachments.detach("vm", "w", WRITER, Detachment.torn("its agent was killed"));
        ExtentHome failed = first().homes().getFirst();
        String alive = first().homes().getLast().node();
        failAllBut(alive, "h3", "w");
        attachments.attach(
                "vm",
                "w",
                new AttachRequest(WRITER, AttachMode.EXCLUSIVE, Optional.of(true), Optional.of(Feature.words())));
        assertEquals(Set.of(alive), names(first()));
        assertEquals(1, with.zeroable(failed.node()).size(), "no node can write to it");
        repairs.step();
        promote();
        assertEquals(Set.of(alive, "h3"), names(first()));
    }

    @Test
    void shouldKeepTheHomesOfAWholeSpaceThatIsAttachedByForce() {
        homes("h1", "h2");
        create(8, 2, "h1", "h2");
        attachments.attach(
                "vm",
                "w",
                new AttachRequest(WRITER, AttachMode.EXCLUSIVE, Optional.of(true), Optional.of(Feature.words())));
        assertEquals(Set.of("h1", "h2"), names(first()));
    }

    @Test
    void shouldDropTheJoiningHomeWhenTheFailedOneIsBack() {
        homes("h1", "h2", "h3");
        create(8, 2, "h1", "h2");
        attach();
        failAllBut("h2", "h3", "w");
        repairs.step();
        with.membership.heartbeat("h1", with.membership.node("h1").orElseThrow().incarnation());
        repairs.step();
        assertEquals(Optional.empty(), joining());
        assertEquals(Set.of("h1", "h2"), names(first()));
    }

    /** A switch that restarts: its nodes are back with all their pages, and a copy would be thrown away. */
    @Test
    void shouldReplaceAHomeOnlyWhenItsNodeIsNotBackWithinTheGrace() {
        homes("h1", "h2", "h3");
        create(8, 2, "h1", "h2");
        attach();
        Repairs patient = patient();
        failAllBut("h2", "h3", "w");
        assertEquals(0, patient.step());
        assertEquals(8L * PAGE, Backlog.bytes(with.ledger.state()), "a copy is missing meanwhile");
        assertTrue(reason().contains("node 'h1' has failed"), this::reason);
        with.time.advance(GRACE.minusNanos(1));
        assertEquals(0, patient.step());
        with.membership.heartbeat("h1", with.membership.node("h1").orElseThrow().incarnation());
        assertEquals(0, patient.step());
        failAllBut("h2", "h3", "w");
        assertEquals(0, patient.step(), "the grace begins anew");
        with.time.advance(GRACE);
        assertEquals(1, patient.step());
        assertEquals(Optional.of("h3"), joining());
    }

    @Test
    void shouldGiveNoGraceToAHomeThatIsDroppedDrainedOrEmpty() {
        homes("h1", "h2", "h3");
        create(8, 2, "h1", "h2");
        attach();
        Repairs patient = patient();
        failAllBut("h2", "h3", "w");
        assertEquals(0, patient.step());
        drains.begin("h1");
        assertEquals(1, patient.step(), "drained");
        drains.cancel("h1");
        with.membership.heartbeat("h1", with.membership.node("h1").orElseThrow().incarnation());
        patient.step();
        assertEquals(Optional.empty(), joining());
        acknowledge();
        zero("h3");
        with.time.advance(Repairs.PAUSE.plusSeconds(1));
        failAllBut("h2", "h3", "w");
        assertEquals(0, patient.step());
        with.membership.register("h1", Fixture.node(99, POOL));
        failAllBut("h2", "h3", "w");
        assertEquals(1, patient.step(), "its pages are lost");
        assertEquals(Optional.of("h3"), joining());
        promote();
        failAllBut("h2", "w");
        drop("h3");
        with.membership.heartbeat("h1", new Incarnation(99));
        assertEquals(1, patient.step(), "dropped by the writer");
    }

    /**
     * The home in the grace counts where another one is replaced: no two of them are in one failure domain when it is
     * back.
     */
    @Test
    void shouldReplaceAnotherHomeBesideTheOneThatMayBeBack() {
        inDomain("h1", "rack1");
        inDomain("h2", "rack2");
        inDomain("h3", "rack3");
        inDomain("h4", "rack1");
        inDomain("h5", "rack5");
        homes();
        create(8, 3, "h1", "h2", "h3");
        attach();
        drains.begin("h2");
        failAllBut("h2", "h3", "h4", "h5", "w");
        assertEquals(1, patient().step());
        assertEquals(Optional.of("h5"), joining());
    }

    private Repairs patient() {
        return new Repairs(with.ledger, with.time, new Moves(with.time), GRACE);
    }

    private String reason() {
        return new SpaceRepairs(with.ledger, new Copies(with.time))
                .of("vm")
                .reasons()
                .getFirst();
    }

    /**
     * The writer may be cut off from the coordinator alone and still write, so no other node may copy; and the writer
     * cannot ask for a promotion.
     */
    @Test
    void shouldLetNoHomeJoinWhileTheWriterHasFailed() {
        homes("h1", "h2", "h3");
        create(8, 2, "h1", "h2");
        attach();
        failAllBut("h2", "h3");
        assertEquals(0, repairs.step());
        assertEquals(Optional.empty(), joining());
        assertTrue(reason().contains("node 'w', which has the space attached, has failed"), this::reason);
        with.membership.heartbeat("w", WRITER);
        assertEquals(1, repairs.step());
        assertEquals(Optional.of("h3"), joining());
    }

    /**
     * What the writer has sent to the home counts when it is back, and a dropped home's frames would stay reserved for
     * it as well.
     */
    @Test
    void shouldKeepTheJoiningHomeOfAWriterThatHasFailed() {
        homes("h1", "h2", "h3");
        create(8, 2, "h1", "h2");
        attach();
        drop("h1");
        repairs.step();
        Extent before = first();
        failAllBut("h1", "h2", "h3");
        repairs.step();
        assertEquals(before, first());
        with.membership.heartbeat("w", WRITER);
        promote();
        assertEquals(Set.of("h2", "h3"), names(first()));
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
    void shouldPlaceNothingOnANodeThatIsDrained() {
        homes("h1", "h2");
        drains.begin("h1");
        with.spaces.create(new SpaceRequest("vm", 4L * PAGE, OptionalInt.empty(), Optional.empty()));
        assertEquals(Set.of("h2"), names(first()));
    }

    @Test
    void shouldGoOnDrainingAndJoiningAfterARestart() {
        homes("h1", "h2");
        create(8, 1, "h1");
        attach();
        drains.begin("h1");
        repairs.step();
        State before = with.ledger.state();
        with.restart();
        assertEquals(before.extents(), with.ledger.state().extents());
        assertEquals(before.drains(), with.ledger.state().drains());
        Repairs restarted = new Repairs(with.ledger, with.time, new Moves(with.time), Duration.ZERO);
        with.promote(restarted, "vm", WRITER, List.of(ExtentEpoch.of(first())));
        assertEquals(Set.of("h2"), names(first()));
    }
}
