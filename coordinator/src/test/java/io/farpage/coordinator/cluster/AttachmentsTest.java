package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Detachment;
import io.farpage.coordinator.model.Encryption;
import io.farpage.coordinator.model.Event;
import io.farpage.coordinator.model.EventKind;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.rest.ProblemException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class AttachmentsTest {

    private final Fixture with = new Fixture();
    private final Attachments attachments = new Attachments(with.ledger, with.time);

    @BeforeEach
    void makeASpace() {
        with.membership.register("home", Fixture.node(1, 8192));
        with.membership.register("a", Fixture.node(2, 0));
        with.membership.register("b", Fixture.node(3, 0));
        with.spaces.create(SpaceRequest.of("vm", 8192));
    }

    @Test
    void shouldCommitNothingWhenANodeConfirmsThatItIsAttached() {
        attach("a", 2, AttachMode.EXCLUSIVE);
        int before = with.store.begun();
        attach("a", 2, AttachMode.EXCLUSIVE);
        assertEquals(before, with.store.begun());
    }

    @Test
    void shouldKeepTheRoomOfADeletedSpaceUntilTheLastNodeHasLetGo() {
        attach("a", 2, AttachMode.SHARED);
        attach("b", 3, AttachMode.SHARED);
        with.spaces.delete("vm", false);
        assertTrue(with.spaces.require("vm").deleting());
        assertEquals(List.of(), with.zeroable("home"));
        detach("vm", "a", 2);
        assertEquals(List.of(), with.zeroable("home"));
        detach("vm", "b", 3);
        assertEquals(List.of(), with.spaces.all());
        assertEquals(8192, with.zeroable("home").getFirst().length());
    }

    @Test
    void shouldNotAttachToASpaceThatIsBeingDeleted() {
        attach("a", 2, AttachMode.SHARED);
        with.spaces.delete("vm", false);
        assertThrows(ProblemException.class, () -> attach("b", 3, AttachMode.SHARED));
    }

    @Test
    void shouldRefuseToDeleteWhatIsAttachedExclusivelyAndNameTheNode() {
        attach("a", 2, AttachMode.EXCLUSIVE);
        ProblemException refused = assertThrows(ProblemException.class, () -> with.spaces.delete("vm", false));
        assertTrue(refused.problem("").is("attached"));
        assertTrue(String.valueOf(refused.getMessage()).contains("by a"), refused::getMessage);
    }

    @Test
    void shouldKeepRoomOfForciblyDeletedSpaceUntilGuestsNodeDetaches() throws InterruptedException {
        long id = with.spaces.require("vm").id();
        attach("a", 2, AttachMode.EXCLUSIVE);
        with.spaces.delete("vm", true);
        assertTrue(with.spaces.require("vm").deleting());
        assertEquals(List.of(), with.zeroable("home"));
        Event told = with.ledger
                .events()
                .after(0, Duration.ZERO, EventFilter.ALL)
                .events()
                .getLast();
        assertEquals(EventKind.SPACE_DELETING, told.kind());
        assertEquals(OptionalLong.of(id), told.spaceId());
        detach(Long.toString(id), "a", 2);
        assertEquals(List.of(), with.spaces.all());
        assertEquals(8192, with.zeroable("home").getFirst().length());
    }

    @Test
    void shouldNeverMakeAnExclusiveAttachmentShared() {
        String id = Long.toString(with.spaces.require("vm").id());
        attach("a", 2, AttachMode.SHARED);
        attach("a", 2, AttachMode.EXCLUSIVE);
        for (String name : List.of("vm", id)) {
            ProblemException refused = assertThrows(
                    ProblemException.class,
                    () -> attachments.attach(name, "a", new AttachRequest(new Incarnation(2), AttachMode.SHARED)));
            assertTrue(refused.problem("").is("attached"));
            assertThrows(ProblemException.class, () -> with.spaces.delete(name, false));
        }
        assertEquals(AttachMode.EXCLUSIVE, attachments.of(id).getFirst().mode());
    }

    @Test
    void shouldLetOnlyOneAttachExclusively() {
        attach("a", 2, AttachMode.EXCLUSIVE);
        assertThrows(ProblemException.class, () -> attach("b", 3, AttachMode.SHARED));
        assertThrows(ProblemException.class, () -> attach("b", 3, AttachMode.EXCLUSIVE));
        attach("a", 2, AttachMode.EXCLUSIVE);
        detach("vm", "a", 2);
        attach("b", 3, AttachMode.EXCLUSIVE);
    }

    @Test
    void shouldEndAttachmentWhenRestartedOrRemovedNodeIsCutOff() {
        attach("a", 2, AttachMode.SHARED);
        attach("b", 3, AttachMode.SHARED);
        with.spaces.delete("vm", false);
        with.membership.register("a", Fixture.node(4, 0));
        acknowledge("a", 2);
        assertEquals(1, attachments.of("vm").size());
        with.membership.deregister("b", new Incarnation(3), true);
        acknowledge("b", 3);
        assertEquals(List.of(), with.spaces.all());
        assertEquals(1, with.zeroable("home").size());
    }

    @Test
    void shouldRefuseAnIncarnationThatIsGone() {
        assertThrows(ProblemException.class, () -> attach("a", 7, AttachMode.SHARED));
        attach("a", 2, AttachMode.SHARED);
        assertThrows(ProblemException.class, () -> detach("vm", "a", 7));
    }

    private void acknowledge(String node, long fenced) {
        with.fenced("home", new Incarnation(1), node, new Incarnation(fenced));
    }

    private void detach(String space, String node, long incarnation) {
        attachments.detach(space, node, new Incarnation(incarnation), Detachment.PLAIN);
    }

    private void attach(String node, long incarnation, AttachMode mode) {
        attachments.attach("vm", node, new AttachRequest(new Incarnation(incarnation), mode));
    }

    private void makeAnEncryptedSpace() {
        with.spaces.create(new SpaceRequest(
                "secret",
                4096,
                OptionalInt.empty(),
                Optional.of(List.of("home")),
                Optional.of("0123456789abcdef"),
                Optional.empty(),
                OptionalInt.empty()));
    }

    @Test
    void shouldRefuseToShareAnEncryptedSpace() {
        with.spaces.delete("vm", false);
        with.zeroed(
                "home",
                new Incarnation(1),
                List.of(with.zeroable("home").getFirst().id()));
        makeAnEncryptedSpace();
        AttachRequest shared = new AttachRequest(new Incarnation(2), AttachMode.SHARED);
        ProblemException refused =
                assertThrows(ProblemException.class, () -> attachments.attach("secret", "a", shared));
        assertTrue(refused.problem("").is("encrypted"), refused::getMessage);
        assertTrue(refused.problem("").detail().contains("attach a guest"), refused::getMessage);
    }

    @Test
    void shouldKeepTheMarkOfTheLatestExclusiveDetachment() {
        with.spaces.delete("vm", false);
        with.zeroed(
                "home",
                new Incarnation(1),
                List.of(with.zeroable("home").getFirst().id()));
        makeAnEncryptedSpace();
        assertEquals(
                Optional.of(new Encryption("0123456789abcdef")),
                with.spaces.require("secret").encryption());
        String mark = "0123456789abcdef0123456789abcdef";
        attachments.attach("secret", "a", new AttachRequest(new Incarnation(2), AttachMode.EXCLUSIVE));
        attachments.detach("secret", "b", new Incarnation(3), Detachment.sealed("f".repeat(32)));
        assertEquals(
                Optional.of(new Encryption("0123456789abcdef")),
                with.spaces.require("secret").encryption(),
                "a node that is not attached has no say");
        attachments.detach("secret", "a", new Incarnation(2), Detachment.sealed(mark));
        assertEquals(
                Optional.of(new Encryption.Sealed(mark, "a")),
                with.spaces.require("secret").encryption().orElseThrow().sealed());
        attachments.attach("secret", "b", new AttachRequest(new Incarnation(3), AttachMode.EXCLUSIVE));
        attachments.detach("secret", "b", new Incarnation(3), Detachment.PLAIN);
        assertEquals(
                Optional.of(new Encryption.Sealed(mark, "a")),
                with.spaces.require("secret").encryption().orElseThrow().sealed(),
                "a guest that never came leaves the tags as they were");
    }
}
