package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.Detachment;
import io.farpage.coordinator.model.Event;
import io.farpage.coordinator.model.EventKind;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.Feature;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Release;
import io.farpage.coordinator.model.SpaceNodes;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.rest.ProblemException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** How a node takes a space over from one that has failed: node a has it, homes are h1 and h2, node b takes it over. */
class TakeoverTest {
    private static final int PAGE = 4096;
    private static final Incarnation A = new Incarnation(2);
    private static final Incarnation B = new Incarnation(3);

    private final Fixture with = new Fixture();
    private final Attachments attachments = new Attachments(with.ledger, with.time);
    /** The incarnation of node a that has the space. */
    private Incarnation holder = A;

    @BeforeEach
    void attachASpace() {
        with.membership.register("h1", Fixture.node(11, 4 * PAGE));
        with.membership.register("h2", Fixture.node(12, 4 * PAGE));
        with.membership.register("a", Fixture.node(2, 0));
        with.membership.register("b", Fixture.node(3, 0));
        with.spaces.create(new SpaceRequest("vm", 8L * PAGE, OptionalInt.empty(), Optional.of(List.of("h1", "h2"))));
        attachments.attach("vm", "a", new AttachRequest(A, AttachMode.EXCLUSIVE));
    }

    @Test
    void shouldPassTheSpaceOnWhenAllHomesHaveCutTheFailedNodeOff() {
        fail("a");
        refused("fencing", () -> takeOver("b", B, true));
        acknowledge("h1", 11);
        ProblemException waiting = refused("fencing", () -> takeOver("b", B, true));
        assertTrue(String.valueOf(waiting.getMessage()).contains("which 'h2' must"), waiting::getMessage);
        acknowledge("h2", 12);

        refused("space-torn", () -> takeOver("b", B, false));
        takeOver("b", B, true);
        assertEquals(
                List.of("b"),
                attachments.of("vm").stream().map(Attachment::node).toList());
    }

    @Test
    void shouldTellTheFailedNodeOnce() throws InterruptedException {
        fail("a");
        long before = with.ledger.state().index();
        refused("fencing", () -> takeOver("b", B, true));
        refused("fencing", () -> takeOver("b", B, true));
        List<Event> told = with.ledger.events().after(before, Duration.ZERO, EventFilter.ALL).events().stream()
                .filter(event -> event.kind() == EventKind.SPACE_TAKEN_OVER)
                .toList();
        assertEquals(1, told.size(), told::toString);
        assertEquals(Optional.of("a"), told.getFirst().node());
        assertEquals(Optional.of("b"), told.getFirst().peer());
    }

    @Test
    void shouldLeaveTheSpaceToANodeThatRenewsItsLease() {
        ProblemException refused = refused("attached", () -> takeOver("b", B, true));
        assertTrue(
                String.valueOf(refused.getMessage()).contains("node 'a', which renews its lease"), refused::getMessage);
        assertEquals(List.of(), with.fences("h1"));
        assertEquals(Optional.empty(), with.spaces.require("vm").torn());
    }

    @Test
    void shouldLeaveTheSpaceToAFailedNodeUnlessARequestTakesItOver() {
        fail("a");
        refused("attached", () -> attachments.attach("vm", "b", new AttachRequest(B, AttachMode.EXCLUSIVE)));
        refused("invalid", () -> attachments.attach("vm", "b", new AttachRequest(B, AttachMode.SHARED).withTakeover()));
        assertEquals(List.of(), with.fences("h1"));
    }

    @Test
    void shouldRefuseATakeoverByANodeThatMayNotAttachTheSpace() {
        with.spaces.allow("vm", new SpaceNodes(Optional.of(List.of("a"))), Optional.empty());
        fail("a");
        refused("node-not-allowed", () -> takeOver("b", B, true));
        assertEquals(List.of(), with.fences("h1"));
    }

    @Test
    void shouldRefuseTheNodeThatWasCutOffUntilItHasDetached() {
        fail("a");
        refused("fencing", () -> takeOver("b", B, true));
        with.membership.heartbeat("a", A);
        // One home has cut it off and the other has not: it can neither confirm its attachment nor take the space back.
        acknowledge("h1", 11);
        refused("taken-over", () -> attachments.attach("vm", "a", new AttachRequest(A, AttachMode.EXCLUSIVE)));
        acknowledge("h2", 12);
        takeOver("b", B, true);
        refused("taken-over", () -> takeOver("a", A, true));

        attachments.detach("vm", "a", A, Detachment.PLAIN);
        assertEquals(List.of(), with.fences("h1"));
        assertEquals(Optional.empty(), with.spaces.require("vm").torn(), "what a says is not of the space that b has");
        refused("attached", () -> takeOver("a", A, true));
    }

    @Test
    void shouldTakeOverFromANodeThatHadTheSpaceShared() {
        attachments.detach("vm", "a", A, Detachment.PLAIN);
        attachments.attach("vm", "a", new AttachRequest(A, AttachMode.SHARED));
        fail("a");
        refused("fencing", () -> takeOver("b", B, false));
        acknowledge("h1", 11);
        acknowledge("h2", 12);
        takeOver("b", B, false);
    }

    @Test
    void shouldGoOnWithATakeoverAfterARestartOfTheCoordinator() {
        fail("a");
        refused("fencing", () -> takeOver("b", B, true));
        with.restart();
        Attachments later = new Attachments(with.ledger, with.time);
        assertTrue(with.spaces.require("vm").torn().isPresent());
        with.fenced("h1", new Incarnation(11), "a", A);
        with.fenced("h2", new Incarnation(12), "a", A);
        later.attach(
                "vm", "b", new AttachRequest(B, AttachMode.EXCLUSIVE, Optional.of(true), Optional.of(Feature.words())));
    }

    @Test
    void shouldPassSpaceOnWithoutFailedHomeWhenAnotherCutTheNodeOff() {
        useAMirroredSpaceOn("h1", "h2");
        fail("a", "h2");
        refused("fencing", () -> takeOver("b", B, true));
        acknowledge("h1", 11);

        takeOver("b", B, true);
        assertEquals(List.of("h1"), homes());
        assertEquals(1, with.fences("h2").size(), "it cuts the failed node off if it comes again");
    }

    @Test
    void shouldPassTheSpaceOnWhenTheFailedNodeIsAHomeItself() {
        useAMirroredSpaceOn("a", "h1");
        fail("a");
        refused("fencing", () -> takeOver("b", B, true));
        acknowledge("h1", 11);

        takeOver("b", B, true);
        assertEquals(List.of("h1"), homes());
    }

    @Test
    void shouldWaitForTheLastHomeUntilItsLeaseRunsAgain() {
        useAMirroredSpaceOn("h1", "h2");
        fail("a");
        refused("fencing", () -> takeOver("b", B, true));
        acknowledge("h1", 11);
        fail("a", "h1", "h2");
        refused("fencing", () -> takeOver("b", B, true));
        assertEquals(List.of("h1", "h2"), homes());

        with.membership.heartbeat("h1", new Incarnation(11));
        takeOver("b", B, true);
        assertEquals(List.of("h1"), homes());
    }

    @Test
    void shouldWaitForAHomeThatRenewsItsLease() {
        useAMirroredSpaceOn("h1", "h2");
        fail("a");
        refused("fencing", () -> takeOver("b", B, true));
        acknowledge("h1", 11);
        refused("fencing", () -> takeOver("b", B, true));
        assertEquals(List.of("h1", "h2"), homes());
    }

    @Test
    void shouldNotDropAHomeUnderANodeThatWorksWithTheSpace() {
        useAMirroredSpaceOn("h1", "h2");
        attachments.detach("vm", "a", holder, Detachment.PLAIN);
        attachments.attach("vm", "a", new AttachRequest(holder, AttachMode.SHARED));
        attachments.attach("vm", "b", new AttachRequest(B, AttachMode.SHARED));
        with.membership.deregister("a", holder, true);
        fail("h2");
        acknowledge("h1", 11);
        assertEquals(List.of("h1", "h2"), homes());

        attachments.detach("vm", "b", B, Detachment.PLAIN);
        assertEquals(List.of("h1"), homes());
        assertEquals(List.of(), attachments.of("vm"));
    }

    @Test
    void shouldKeepFramesOfDroppedHomeUntilItHasCutOffTheFailedNode() {
        useAMirroredSpaceOn("h1", "h2");
        fail("a", "h2");
        refused("fencing", () -> takeOver("b", B, true));
        acknowledge("h1", 11);
        takeOver("b", B, true);
        with.membership.heartbeat("h2", new Incarnation(12));
        assertEquals(List.of(), with.zeroable("h2"));
        assertEquals(0, freeBytes("h2"));
        with.zeroed(
                "h2",
                new Incarnation(12),
                with.ledger.state().releases().values().stream()
                        .map(Release::id)
                        .toList());
        assertEquals(0, freeBytes("h2"), "the old user may have written to them since");

        acknowledge("h2", 12);
        assertEquals(1, with.zeroable("h2").size());
    }

    @Test
    void shouldKeepTheFramesOfTheFailedNodeItselfUntilItHasDetached() {
        useAMirroredSpaceOn("a", "h1");
        fail("a");
        refused("fencing", () -> takeOver("b", B, true));
        acknowledge("h1", 11);
        takeOver("b", B, true);
        with.membership.heartbeat("a", holder);
        assertEquals(List.of(), with.zeroable("a"));

        attachments.detach("vm", "a", holder, Detachment.PLAIN);
        assertEquals(1, with.zeroable("a").size());
    }

    @Test
    void shouldNotWaitForANodeThatWasItsOwnHomeAndIsStartedAnew() {
        attachments.detach("vm", "a", A, Detachment.PLAIN);
        with.membership.register("a", Fixture.node(4, 8 * PAGE));
        with.spaces.create(new SpaceRequest("own", 4L * PAGE, OptionalInt.empty(), Optional.of(List.of("a"))));
        attachments.attach("own", "a", new AttachRequest(new Incarnation(4), AttachMode.EXCLUSIVE));
        with.membership.register("a", Fixture.node(5, 8 * PAGE));
        assertEquals(List.of(), attachments.of("own"));
    }

    /** The space is of four pages, and the homes have copies of all. */
    private void useAMirroredSpaceOn(String... homes) {
        attachments.detach("vm", "a", A, Detachment.PLAIN);
        with.membership.register("a", Fixture.node(4, 8 * PAGE));
        holder = new Incarnation(4);
        with.spaces.delete("vm", false);
        for (String home : List.of("h1", "h2")) {
            with.zeroed(
                    home,
                    with.membership.node(home).orElseThrow().incarnation(),
                    with.zeroable(home).stream().map(Release::id).toList());
        }
        with.spaces.create(
                new SpaceRequest("vm", 4L * PAGE, OptionalInt.empty(), Optional.of(List.of(homes))).withReplicas(2));
        attachments.attach("vm", "a", new AttachRequest(holder, AttachMode.EXCLUSIVE));
    }

    private List<String> homes() {
        return with.spaces.extents("vm").extents().stream()
                .flatMap(extent -> extent.homes().stream())
                .map(ExtentHome::node)
                .sorted()
                .toList();
    }

    private long freeBytes(String node) {
        return with.freeBytes(with.membership.node(node).orElseThrow());
    }

    private void takeOver(String node, Incarnation incarnation, boolean force) {
        attachments.attach(
                "vm",
                node,
                new AttachRequest(incarnation, AttachMode.EXCLUSIVE, Optional.of(force), Optional.of(Feature.words()))
                        .withTakeover());
    }

    private static ProblemException refused(String type, Runnable change) {
        ProblemException refused = assertThrows(ProblemException.class, change::run);
        assertTrue(refused.problem("").is(type), refused::getMessage);
        return refused;
    }

    private void fail(String... failing) {
        with.time.advance(Fixture.LEASE.minusSeconds(1));
        with.membership.nodes().stream()
                .filter(node -> !List.of(failing).contains(node.id()))
                .forEach(node -> with.membership.heartbeat(node.id(), node.incarnation()));
        with.time.advance(Duration.ofSeconds(2));
        with.membership.expire();
    }

    private void acknowledge(String home, long incarnation) {
        with.fenced(home, new Incarnation(incarnation), "a", holder);
    }
}
