package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.Detachment;
import io.farpage.coordinator.model.Feature;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Presence;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.rest.ProblemException;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** When the coordinator says that the presence map of a space is right. */
class PresenceTest {
    private static final int PAGE = 4096;
    private static final long POOL = 64 * PAGE;
    private static final Incarnation A = new Incarnation(2);
    private static final Incarnation B = new Incarnation(3);
    private static final String LEFT = "0123456789abcdef0123456789abcdef";

    private final Fixture with = new Fixture();
    private final Attachments attachments = new Attachments(with.ledger, with.time);

    @BeforeEach
    void makeASpace() {
        with.membership.register("home", Fixture.node(1, POOL));
        with.membership.register("a", Fixture.node(2, 0));
        with.membership.register("b", Fixture.node(3, 0));
        with.spaces.create(SpaceRequest.of("vm", 8 * PAGE), true, Optional.empty());
    }

    private Attachment attach(String node, Incarnation incarnation, AttachMode mode) {
        return attachments.attach("vm", node, new AttachRequest(incarnation, mode));
    }

    private Optional<String> mark() {
        return with.spaces.require("vm").presence().orElseThrow().mark();
    }

    private void leave(String node, Incarnation incarnation, Optional<String> torn) {
        attachments.detach("vm", node, incarnation, new Detachment(torn, Optional.empty(), Optional.of(LEFT), false));
    }

    @Test
    void shouldGiveTheMapPagesBehindThoseOfTheGuest() {
        SpaceExtents extents = with.spaces.extents("vm");
        assertEquals(8, extents.space().pages());
        assertEquals(
                9, extents.extents().stream().mapToLong(each -> each.count()).sum());
        assertThrows(ProblemException.class, () -> with.spaces.page("vm", 8 * PAGE), "the guest has no such page");
        assertEquals(new Presence(2, Optional.of(Presence.ZEROS)), Presence.of(Presence.entriesOfPage(PAGE) + 1, PAGE));
    }

    @Test
    void shouldTellTheMarkOnlyToANodeThatExcludesOthersAndForgetIt() {
        assertEquals(Optional.empty(), attach("b", B, AttachMode.SHARED).presence());
        attachments.detach("vm", "b", B, Detachment.PLAIN);
        assertEquals(Optional.of(Presence.ZEROS), mark(), "nothing was written");
        assertEquals(
                Optional.of(Presence.ZEROS),
                attach("a", A, AttachMode.EXCLUSIVE).presence());
        assertEquals(Optional.empty(), mark());
        assertEquals(
                Optional.of(Presence.ZEROS),
                attach("a", A, AttachMode.EXCLUSIVE).presence(),
                "the first answer may have been lost");
        attachments.detach("vm", "a", A, Detachment.PLAIN);
        assertEquals(Optional.empty(), mark(), "what the node has written is not in the map");
    }

    @Test
    void shouldKeepTheMarkOfTheMapThatAnExclusiveUseHasLeft() {
        attach("a", A, AttachMode.EXCLUSIVE);
        leave("b", B, Optional.empty());
        assertEquals(Optional.empty(), mark(), "a node that is not attached has no say");
        leave("a", A, Optional.empty());
        assertEquals(Optional.of(LEFT), mark());
        assertEquals(Optional.of(LEFT), attach("b", B, AttachMode.EXCLUSIVE).presence());
        leave("b", B, Optional.of("the flush failed"));
        assertEquals(Optional.empty(), mark(), "some pages are older than the map says");
    }

    @Test
    void shouldForgetTheMarkWhenANodeWritesBesideOthers() {
        attach("b", B, AttachMode.SHARED);
        AttachRequest shared = new AttachRequest(A, AttachMode.SHARED);
        attachments.attach("vm", "a", shared);
        assertEquals(Optional.of(Presence.ZEROS), mark());
        attachments.attach("vm", "a", shared.withWrites());
        assertEquals(Optional.empty(), mark());
        leave("a", A, Optional.empty());
        leave("b", B, Optional.empty());
        assertEquals(Optional.empty(), mark(), "others may have written meanwhile");
    }

    @Test
    void shouldHaveNoMapAfterANodeThatFailed() throws InterruptedException {
        attach("a", A, AttachMode.EXCLUSIVE);
        leave("a", A, Optional.empty());
        attach("a", A, AttachMode.EXCLUSIVE);
        with.membership.register("a", Fixture.node(4, 0));
        with.fenced("home", new Incarnation(1), "a", A);
        assertTrue(with.spaces.require("vm").torn().isPresent());
        AttachRequest forced =
                new AttachRequest(B, AttachMode.EXCLUSIVE, Optional.of(true), Optional.of(Feature.words()));
        assertEquals(Optional.empty(), attachments.attach("vm", "b", forced).presence());
    }

    @ParameterizedTest
    @EnumSource(AttachMode.class)
    void shouldRefuseAnAgentThatWouldLeaveTheMapBehind(AttachMode mode) {
        AttachRequest old = new AttachRequest(A, mode, Optional.empty(), Optional.of(List.of("encryption")));
        ProblemException refused = assertThrows(ProblemException.class, () -> attachments.attach("vm", "a", old));
        assertTrue(refused.problem("").is("not-understood"), refused::getMessage);
        assertTrue(refused.problem("").detail().contains("presence"), refused::getMessage);
    }

    @Test
    void shouldMakeASpaceWithoutAMapWhereThereIsNoRoomForOne() {
        Space full = with.spaces.create(
                new SpaceRequest("full", POOL - 9 * PAGE, OptionalInt.empty(), Optional.empty()),
                true,
                Optional.empty());
        assertEquals(Optional.empty(), full.presence());
        assertEquals(full.pages(), full.storedPages());
        assertThrows(
                ProblemException.class,
                () -> with.spaces.create(SpaceRequest.of("more", PAGE), true, Optional.empty()));
    }
}
