package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Attached;
import io.farpage.coordinator.model.Detachment;
import io.farpage.coordinator.model.DropRequest;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.Grant;
import io.farpage.coordinator.model.GrantRequest;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.coordinator.model.SpaceNodes;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.rest.ProblemException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The document of what a node needs for its spaces, and the parts that it leaves out because the node has them. */
class AttachingTest {
    private static final int PAGE = 4096;
    private static final Incarnation H1 = new Incarnation(11);
    private static final Incarnation A = new Incarnation(2);
    private static final Incarnation B = new Incarnation(3);

    private final Fixture with = new Fixture();
    private final Attachments attachments = new Attachments(with.ledger, with.time);
    private final Drops drops = new Drops(with.ledger);
    private final Grants grants = new Grants(with.ledger);
    private final Attaching attaching = new Attaching(with.ledger, grants);
    private long vm;
    private long version;
    private long other;

    @BeforeEach
    void createSpaces() {
        with.membership.register("h1", Fixture.node(11, 64 * PAGE));
        with.membership.register("h2", Fixture.node(12, 64 * PAGE));
        with.membership.register("a", Fixture.node(2, 0));
        with.membership.register("b", Fixture.node(3, 0));
        vm = create("vm");
        other = create("other");
        attach("vm", AttachMode.EXCLUSIVE);
    }

    private long create(String name) {
        return with.spaces
                .create(new SpaceRequest(name, 8L * PAGE, OptionalInt.empty(), Optional.of(List.of("h1", "h2")))
                        .withReplicas(2))
                .id();
    }

    private void attach(String space, AttachMode mode) {
        attachments.attach(space, "a", new AttachRequest(A, mode));
    }

    private void publish(long space, String sealed) {
        long attachment = attachments.of(Long.toString(space)).getFirst().id();
        grants.publish("h1", space, "a", new GrantRequest(H1, A, attachment, ++version, sealed));
    }

    /** Which spaces a document has, those whose extents are left out with a hyphen. */
    private static List<String> spaces(Attached document) {
        return document.spaces().stream()
                .map(held -> held.extents().isPresent()
                        ? held.extents().get().space().name()
                        : "-" + held.attachment().space())
                .toList();
    }

    private static List<String> sealed(Attached document) {
        return document.grants().stream().map(Grant::sealed).toList();
    }

    @Test
    void shouldListTheSpacesOfTheNodeWithTheirHomesAndGrants() {
        attachments.attach("other", "b", new AttachRequest(B, AttachMode.SHARED));
        publish(vm, "one");
        Attached document = attaching.of("a", 0);
        assertEquals(List.of("vm"), spaces(document));
        Attached.Held held = document.spaces().getFirst();
        assertEquals(AttachMode.EXCLUSIVE, held.attachment().mode());
        assertEquals(A, held.attachment().incarnation());
        assertFalse(held.cutOff());
        assertEquals(with.spaces.extents("vm"), held.extents().orElseThrow());
        assertEquals(List.of("one"), sealed(document));
        assertEquals(
                List.of("h1", "h2"), document.homes().stream().map(Node::id).toList());
        assertEquals(with.ledger.revision(), document.revision());
        assertEquals(document.revision(), held.extents().orElseThrow().revision());
        assertThrows(ProblemException.class, () -> attaching.of("unknown", 0));
        assertEquals(List.of(), attaching.of("h1", 0).spaces());
    }

    /** A rebuild takes the report of the highest revision, and an answer replaces only one of a lower revision. */
    @Test
    void shouldDescribeASpaceInOneWayForEachRevision() {
        Hosting hosting = new Hosting(with.ledger, grants);
        SpaceExtents before = with.spaces.extents("vm");
        assertEquals(before, hosting.of("h1").spaces().getFirst());
        assertEquals(before.revision(), hosting.of("h1").revision());
        drop();
        SpaceExtents after = with.spaces.extents("vm");
        assertTrue(after.revision() > before.revision());
        assertEquals(after, hosting.of("h1").spaces().getFirst());
        assertEquals(
                Optional.of(after), attaching.of("a", 0).spaces().getFirst().extents());
    }

    @Test
    void shouldLeaveOutWhatTheNamedDocumentHad() {
        attach("other", AttachMode.SHARED);
        publish(vm, "one");
        Attached first = attaching.of("a", 0);
        assertEquals(List.of("vm", "other"), spaces(first));
        publish(other, "two");
        drop();
        Attached second = attaching.of("a", first.mark());
        assertEquals(List.of("vm", "-" + other), spaces(second));
        assertEquals(1, epochOf(second.spaces().getFirst().extents().orElseThrow()));
        assertEquals(List.of("two"), sealed(second));
        assertEquals(2, second.homes().size());
        Attached third = attaching.of("a", second.mark());
        assertEquals(List.of("-" + vm, "-" + other), spaces(third));
        assertEquals(List.of(), third.grants());
        assertNotEquals(second.mark(), third.mark());
    }

    private static long epochOf(SpaceExtents extents) {
        return extents.extents().getFirst().epochNumber();
    }

    private void drop() {
        ExtentHome home = with.spaces.extents("vm").extents().getFirst().homes().getLast();
        drops.drop("vm", "a", new DropRequest(A, home.node(), home.incarnation(), List.of(new ExtentEpoch(0, 0))));
    }

    /** An answer that did not arrive was remembered, and the node has none of it. */
    @Test
    void shouldGiveAllToANodeThatNamesAnEarlierDocument() {
        Attached first = attaching.of("a", 0);
        publish(vm, "one");
        Attached lost = attaching.of("a", first.mark());
        assertEquals(List.of("one"), sealed(lost));
        Attached again = attaching.of("a", first.mark());
        assertEquals(List.of("vm"), spaces(again));
        assertEquals(List.of("one"), sealed(again));
        Attaching successor = new Attaching(with.ledger, grants);
        assertEquals(List.of("vm"), spaces(successor.of("a", again.mark())), "after a change of the leader");
    }

    /** The node has forgotten what it knew of the space. */
    @Test
    void shouldGiveAllOfASpaceThatWasDetachedAndAttachedAgain() {
        Attached first = attaching.of("a", 0);
        attachments.detach("vm", "a", A, Detachment.PLAIN);
        Attached without = attaching.of("a", first.mark());
        assertEquals(List.of(), without.spaces());
        attach("vm", AttachMode.EXCLUSIVE);
        assertEquals(List.of("vm"), spaces(attaching.of("a", without.mark())));
    }

    @Test
    void shouldTellThatASpaceIsBeingDeletedOrMayNotBeAttachedAnyMore() {
        Attached first = attaching.of("a", 0);
        with.spaces.allow("vm", new SpaceNodes(Optional.of(List.of("b"))), Optional.empty());
        Attached second = attaching.of("a", first.mark());
        assertFalse(second.spaces().getFirst().extents().orElseThrow().space().mayAttach("a"));
        with.spaces.delete("vm", true);
        Attached third = attaching.of("a", second.mark());
        assertTrue(third.spaces().getFirst().extents().orElseThrow().space().deleting());
    }

    @Test
    void shouldReportNodeAsCutOffUntilItsAttachmentHasEnded() {
        Attached first = attaching.of("a", 0);
        with.time.advance(Fixture.LEASE.minusSeconds(1));
        for (String node : List.of("h1", "h2", "b")) {
            with.membership.heartbeat(
                    node, with.membership.node(node).orElseThrow().incarnation());
        }
        with.time.advance(Duration.ofSeconds(2));
        with.membership.expire();
        assertThrows(
                ProblemException.class,
                () -> attachments.attach("vm", "b", new AttachRequest(B, AttachMode.EXCLUSIVE).withTakeover()));
        assertTrue(attaching.of("a", first.mark()).spaces().getFirst().cutOff());
        with.fenced("h1", H1, "a", A);
        with.fenced("h2", new Incarnation(12), "a", A);
        assertEquals(List.of(), attaching.of("a", 0).spaces());
    }
}
