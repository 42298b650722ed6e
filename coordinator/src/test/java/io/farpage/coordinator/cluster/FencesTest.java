package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Detachment;
import io.farpage.coordinator.model.EventKind;
import io.farpage.coordinator.model.Feature;
import io.farpage.coordinator.model.Fence;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.coordinator.model.Torn;
import io.farpage.rest.ProblemException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class FencesTest {

    private static final int PAGE = 4096;

    private final Fixture with = new Fixture();
    private final Attachments attachments = new Attachments(with.ledger, with.time);

    @BeforeEach
    void makeASpaceOnTwoHomes() {
        with.membership.register("h1", Fixture.node(11, 4 * PAGE));
        with.membership.register("h2", Fixture.node(12, 4 * PAGE));
        with.membership.register("a", Fixture.node(2, 0));
        with.membership.register("b", Fixture.node(3, 0));
        with.spaces.create(new SpaceRequest("vm", 8L * PAGE, OptionalInt.empty(), Optional.of(List.of("h1", "h2"))));
    }

    @Test
    void shouldRefuseAttachmentsUntilHomesHaveCutOffSupersededNode() {
        attach("a", 2, AttachMode.EXCLUSIVE);
        with.membership.register("a", Fixture.node(22, 0));

        assertEquals(List.of("h1"), homesOf("h1"));
        for (String node : List.of("a", "b")) {
            ProblemException refused =
                    assertThrows(ProblemException.class, () -> force(node, node.equals("a") ? 22 : 3));
            assertTrue(refused.problem("").is("fencing"), refused::getMessage);
            assertTrue(String.valueOf(refused.getMessage()).contains("'h1', 'h2'"), refused::getMessage);
        }
        acknowledge("h1", 11, 2);
        ProblemException refused = assertThrows(ProblemException.class, () -> force("b", 3));
        assertTrue(String.valueOf(refused.getMessage()).contains("which 'h2' must"), refused::getMessage);
        acknowledge("h2", 12, 2);

        assertEquals(List.of(), attachments.of("vm"));
        assertEquals(List.of(), List.copyOf(with.ledger.state().fences().values()));
        force("b", 3);
    }

    @Test
    void shouldAddAFenceEventForEachHomeWhenANodeRegistersAnew() throws InterruptedException {
        attach("a", 2, AttachMode.SHARED);
        long index = with.ledger.state().index();
        with.membership.register("a", Fixture.node(22, 0));
        assertEquals(
                List.of("h1", "h2"),
                with.ledger.events().after(index, Duration.ZERO, EventFilter.ALL).events().stream()
                        .filter(event -> event.kind() == EventKind.FENCES_CHANGED)
                        .map(event -> event.node().orElseThrow())
                        .toList());
    }

    @Test
    void shouldKeepFencesOverARestartOfTheCoordinator() {
        attach("a", 2, AttachMode.EXCLUSIVE);
        with.membership.deregister("a", new Incarnation(2), true);
        with.restart();
        assertEquals(1, with.fences("h1").size());
        assertTrue(with.spaces.require("vm").torn().isPresent());
    }

    @Test
    void shouldWaitForFailedHomeButNotForRemovedOrRestartedOne() {
        attach("a", 2, AttachMode.EXCLUSIVE);
        with.membership.deregister("a", new Incarnation(2), true);
        fail("h1", "h2");
        with.membership.register("b", Fixture.node(3, 0));
        assertTrue(assertThrows(ProblemException.class, () -> force("b", 3))
                .problem("")
                .is("fencing"));

        with.membership.deregister("h1", new Incarnation(11), true);
        assertEquals(1, attachments.of("vm").size());
        with.membership.register("h2", Fixture.node(32, 4 * PAGE));
        assertEquals(List.of(), attachments.of("vm"));
        force("b", 3);
    }

    @Test
    void shouldHoldForcedDeletionUntilHomesHaveCutOffFailedNode() {
        attach("a", 2, AttachMode.EXCLUSIVE);
        long id = with.spaces.require("vm").id();
        fail("a");
        with.spaces.delete("vm", true);
        acknowledge("h1", 11, 2);
        assertEquals(List.of(), with.zeroable("h1"));
        acknowledge("h2", 12, 2);
        assertEquals(List.of(), with.spaces.all());
        assertEquals(1, with.zeroable("h1").size());
        // The node may come back, with transfers that it has not given up: it stays cut off until it says so.
        assertEquals(
                List.of(true),
                with.fences("h1").stream().map(Fence::acknowledged).toList());
        with.membership.heartbeat("a", new Incarnation(2));
        assertEquals(1, with.fences("h2").size());
        attachments.detach(Long.toString(id), "a", new Incarnation(2), Detachment.PLAIN);
        assertEquals(List.of(), with.fences("h1"));
        assertEquals(List.of(), with.fences("h2"));
    }

    @Test
    void shouldFenceTheNodeOfAForcedDeletionThatFailsBeforeItLetsGo() {
        attach("a", 2, AttachMode.EXCLUSIVE);
        with.spaces.delete("vm", true);
        assertEquals(List.of(), with.fences("h1"));
        fail("a");
        assertEquals(1, with.fences("h1").size());
        with.membership.register("a", Fixture.node(22, 0));
        acknowledge("h1", 11, 2);
        acknowledge("h2", 12, 2);
        assertEquals(List.of(), with.spaces.all());
    }

    @Test
    void shouldNotFenceANodeThatDetachedByItself() {
        attach("a", 2, AttachMode.EXCLUSIVE);
        attachments.detach("vm", "a", new Incarnation(2), Detachment.PLAIN);
        with.membership.deregister("a", new Incarnation(2), true);
        assertEquals(List.of(), with.fences("h1"));
        assertEquals(Optional.empty(), with.spaces.require("vm").torn());
        attach("b", 3, AttachMode.EXCLUSIVE);
    }

    @Test
    void shouldTearSpaceWhenGuestsNodeRestartsAndRefuseUnforcedAttach() {
        attach("a", 2, AttachMode.EXCLUSIVE);
        with.membership.register("a", Fixture.node(22, 0));
        acknowledge("h1", 11, 2);
        acknowledge("h2", 12, 2);
        Torn torn = with.spaces.require("vm").torn().orElseThrow();
        assertTrue(torn.reason().contains("node 'a' was started anew"), torn.reason());

        ProblemException refused = assertThrows(ProblemException.class, () -> attach("b", 3, AttachMode.EXCLUSIVE));
        assertTrue(refused.problem("").is("space-torn"), refused::getMessage);
        attach("b", 3, AttachMode.SHARED);
        attachments.detach("vm", "b", new Incarnation(3), Detachment.PLAIN);
        assertTrue(with.spaces.require("vm").torn().isPresent());

        force("b", 3);
        assertEquals(Optional.empty(), with.spaces.require("vm").torn());
    }

    @Test
    void shouldTearASpaceWhoseNodeSaysThatNotAllPagesAreAtTheirHomes() {
        attach("a", 2, AttachMode.EXCLUSIVE);
        attachments.detach("vm", "a", new Incarnation(2), Detachment.torn("h1 did not answer"));
        assertEquals(
                "h1 did not answer",
                with.spaces.require("vm").torn().orElseThrow().reason());
        assertThrows(ProblemException.class, () -> attach("a", 2, AttachMode.EXCLUSIVE));
    }

    @Test
    void shouldNotTearASpaceThatWasShared() {
        attach("a", 2, AttachMode.SHARED);
        with.membership.register("a", Fixture.node(22, 0));
        assertEquals(Optional.empty(), with.spaces.require("vm").torn());
    }

    @Test
    void shouldConfirmForcedAttachmentOfATornSpaceWhenItIsRepeated() {
        attach("a", 2, AttachMode.EXCLUSIVE);
        attachments.detach("vm", "a", new Incarnation(2), Detachment.torn("h1 did not answer"));
        force("a", 2);
        attach("a", 2, AttachMode.EXCLUSIVE);
    }

    private List<String> homesOf(String home) {
        return with.fences(home).stream().map(Fence::home).toList();
    }

    private void fail(String... nodes) {
        with.time.advance(Fixture.LEASE.minusSeconds(1));
        List<String> failing = List.of(nodes);
        with.membership.nodes().stream()
                .filter(node -> !failing.contains(node.id()))
                .forEach(node -> with.membership.heartbeat(node.id(), node.incarnation()));
        with.time.advance(Duration.ofSeconds(2));
        with.membership.expire();
        failing.forEach(node -> assertEquals(
                NodeStatus.FAILED, with.membership.node(node).orElseThrow().status()));
    }

    private void acknowledge(String home, long incarnation, long fenced) {
        with.fenced(home, new Incarnation(incarnation), "a", new Incarnation(fenced));
    }

    private void attach(String node, long incarnation, AttachMode mode) {
        attachments.attach("vm", node, new AttachRequest(new Incarnation(incarnation), mode));
    }

    private void force(String node, long incarnation) {
        attachments.attach(
                "vm",
                node,
                new AttachRequest(
                        new Incarnation(incarnation),
                        AttachMode.EXCLUSIVE,
                        Optional.of(true),
                        Optional.of(Feature.words())));
    }
}
