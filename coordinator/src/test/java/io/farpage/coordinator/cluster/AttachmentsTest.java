package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.rest.ProblemException;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class AttachmentsTest {

    private final Fixture with = new Fixture();
    private final Attachments attachments = new Attachments(with.ledger);

    @BeforeEach
    void makeASpace() {
        with.membership.register("home", Fixture.node(1, 8192));
        with.membership.register("a", Fixture.node(2, 0));
        with.membership.register("b", Fixture.node(3, 0));
        with.spaces.create(SpaceRequest.of("vm", 8192));
    }

    @Test
    void shouldKeepTheRoomOfADeletedSpaceUntilTheLastNodeHasLetGo() {
        attach("a", 2, AttachMode.SHARED);
        attach("b", 3, AttachMode.SHARED);
        with.spaces.delete("vm", false);
        assertTrue(with.spaces.require("vm").deleting());
        assertEquals(List.of(), with.spaces.releases("home"));
        attachments.detach("vm", "a", new Incarnation(2));
        assertEquals(List.of(), with.spaces.releases("home"));
        attachments.detach("vm", "b", new Incarnation(3));
        assertEquals(List.of(), with.spaces.all());
        assertEquals(8192, with.spaces.releases("home").getFirst().length());
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
        with.spaces.delete("vm", true);
        assertEquals(List.of(), with.spaces.all());
    }

    @Test
    void shouldLetOnlyOneAttachExclusively() {
        attach("a", 2, AttachMode.EXCLUSIVE);
        assertThrows(ProblemException.class, () -> attach("b", 3, AttachMode.SHARED));
        assertThrows(ProblemException.class, () -> attach("b", 3, AttachMode.EXCLUSIVE));
        attach("a", 2, AttachMode.EXCLUSIVE);
        attachments.detach("vm", "a", new Incarnation(2));
        attach("b", 3, AttachMode.EXCLUSIVE);
    }

    @Test
    void shouldTakeANodeForDetachedOnceItHasRestartedOrLeft() {
        attach("a", 2, AttachMode.SHARED);
        attach("b", 3, AttachMode.SHARED);
        with.spaces.delete("vm", false);
        with.membership.register("a", Fixture.node(4, 0));
        assertEquals(1, attachments.of("vm").size());
        with.membership.deregister("b", new Incarnation(3));
        assertEquals(List.of(), with.spaces.all());
        assertEquals(1, with.spaces.releases("home").size());
    }

    @Test
    void shouldRefuseAnIncarnationThatIsGone() {
        assertThrows(ProblemException.class, () -> attach("a", 7, AttachMode.SHARED));
        attach("a", 2, AttachMode.SHARED);
        assertThrows(ProblemException.class, () -> attachments.detach("vm", "a", new Incarnation(7)));
    }

    private void attach(String node, long incarnation, AttachMode mode) {
        attachments.attach("vm", node, new AttachRequest(new Incarnation(incarnation), mode));
    }
}
