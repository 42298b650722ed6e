package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.CloneRequest;
import io.farpage.coordinator.model.Detachment;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Presence;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.rest.ProblemException;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Snapshots and clones, and what is refused of them. */
class SnapshotsTest {
    private static final int PAGE = 4096;
    private static final Incarnation A = new Incarnation(2);
    private static final Incarnation B = new Incarnation(3);
    private static final String MARK = "0123456789abcdef0123456789abcdef";

    private final Fixture with = new Fixture();
    private final Attachments attachments = new Attachments(with.ledger, with.time);
    private final Snapshots snapshots = new Snapshots(with.ledger, with.time);

    @BeforeEach
    void makeASpace() {
        with.membership.register("home", Fixture.node(1, 64 * PAGE));
        with.membership.register("a", Fixture.node(2, 0));
        with.membership.register("b", Fixture.node(3, 0));
        with.spaces.create(SpaceRequest.of("golden", 8 * PAGE), true, Optional.empty());
    }

    private Attachment attach(String space, String node, Incarnation incarnation, AttachMode mode) {
        return attachments.attach(space, node, new AttachRequest(incarnation, mode));
    }

    private Space clone(String name) {
        return snapshots.makeClone("golden", new CloneRequest(name), Optional.empty());
    }

    private long free() {
        return with.freeBytes(Objects.requireNonNull(with.ledger.state().nodes().get("home")));
    }

    private static void refused(String word, String said, Executable what) {
        ProblemException refused = assertThrows(ProblemException.class, what);
        assertTrue(refused.problem("").is(word), refused::getMessage);
        assertTrue(refused.problem("").detail().contains(said), refused::getMessage);
    }

    @Test
    void shouldLetManyNodesReadASnapshotAndNoneWrite() {
        attach("golden", "a", A, AttachMode.EXCLUSIVE);
        attachments.detach(
                "golden", "a", A, new Detachment(Optional.empty(), Optional.empty(), Optional.of(MARK), false));
        Space made = snapshots.make("golden");
        assertEquals(Optional.of(with.time.now()), made.snapshot());
        attach("golden", "a", A, AttachMode.SHARED);
        attach("golden", "b", B, AttachMode.SHARED);
        refused("snapshot", "attach a clone", () -> attach("golden", "a", A, AttachMode.EXCLUSIVE));
        AttachRequest writes = new AttachRequest(B, AttachMode.SHARED).withWrites();
        refused("snapshot", "which is read-only", () -> attachments.attach("golden", "b", writes));
        assertEquals(
                Optional.of(MARK),
                with.spaces.require("golden").presence().flatMap(Presence::mark),
                "its map stays right");
        assertEquals(made, snapshots.make("golden"), "made once");
    }

    @Test
    void shouldMakeNoSnapshotOfASpaceThatANodeMayWriteTo() {
        attach("golden", "a", A, AttachMode.EXCLUSIVE);
        refused("attached", "'a' (exclusive)", () -> snapshots.make("golden"));
        attachments.detach("golden", "a", A, Detachment.PLAIN);
        attach("golden", "b", B, AttachMode.SHARED);
        refused("attached", "'b' (shared)", () -> snapshots.make("golden"));
        attachments.detach("golden", "b", B, Detachment.PLAIN);
        snapshots.make("golden");
    }

    @Test
    void shouldMakeNoSnapshotOfATornOrEncryptedSpace() {
        attach("golden", "a", A, AttachMode.EXCLUSIVE);
        attachments.detach("golden", "a", A, Detachment.torn("the flush failed"));
        refused("space-torn", "the flush failed", () -> snapshots.make("golden"));
        with.spaces.create(new SpaceRequest(
                "secret",
                PAGE,
                OptionalInt.empty(),
                Optional.empty(),
                Optional.of("0123456789abcdef"),
                Optional.empty(),
                OptionalInt.empty()));
        refused("encrypted", "can open its pages", () -> snapshots.make("secret"));
    }

    @Test
    void shouldMakeSnapshotsOfClonesUpToADepth() {
        String below = "golden";
        snapshots.make(below);
        for (int layer = 1; layer <= Snapshots.MOST_LAYERS; layer++) {
            String name = "layer-" + layer;
            snapshots.makeClone(below, new CloneRequest(name), Optional.empty());
            if (layer == Snapshots.MOST_LAYERS) {
                refused("chain-too-deep", "over 8 snapshots", () -> snapshots.make(name));
                return;
            }
            snapshots.make(name);
            below = name;
        }
    }

    @Test
    void shouldMakeClonesThatTakeNoRoom() {
        refused("no-snapshot", "coordinator space snapshot golden", () -> clone("c1"));
        snapshots.make("golden");
        long free = free();
        Space one = clone("c1");
        assertEquals(free, free());
        assertEquals(8, one.pages());
        assertEquals(OptionalLong.of(with.spaces.require("golden").id()), one.base());
        assertEquals(List.of(), with.spaces.extents("c1").extents());
        assertEquals(
                with.spaces.page("golden", 3 * PAGE).homes(),
                with.spaces.page("c1", 3 * PAGE).homes());
        refused("name-taken", "c1", () -> clone("c1"));
        Optional<String> key = Optional.of("once");
        Space two = snapshots.makeClone("golden", new CloneRequest("c2"), key);
        assertEquals(two, snapshots.makeClone("golden", new CloneRequest("c2"), key));
    }

    @Test
    void shouldAttachACloneExclusivelyAndNeverTearIt() throws InterruptedException {
        snapshots.make("golden");
        clone("c1");
        AttachRequest writes = new AttachRequest(B, AttachMode.SHARED).withWrites();
        refused("clone", "only its guest writes", () -> attachments.attach("c1", "b", writes));
        attach("c1", "b", B, AttachMode.SHARED);
        attachments.detach("c1", "b", B, Detachment.PLAIN);
        attach("c1", "a", A, AttachMode.EXCLUSIVE);
        refused("attached", "node 'a'", () -> attach("c1", "b", B, AttachMode.EXCLUSIVE));
        with.membership.register("a", Fixture.node(4, 0));
        assertEquals(Optional.empty(), with.spaces.require("c1").torn(), "nothing of its guest is at a home");
        attach("c1", "b", B, AttachMode.EXCLUSIVE);
        attachments.detach("c1", "b", B, Detachment.torn("its VMM has ended"));
        assertEquals(Optional.empty(), with.spaces.require("c1").torn());
    }

    @Test
    void shouldNotDeleteASnapshotThatHasClones() {
        snapshots.make("golden");
        clone("c1");
        clone("c2");
        refused(
                "has-clones",
                "2 clones, whose guests read its pages: c1, c2",
                () -> with.spaces.delete("golden", true));
        with.spaces.delete("c1", false);
        with.spaces.delete("c2", false);
        with.spaces.delete("golden", false);
        assertEquals(List.of(), with.spaces.all());
    }
}
