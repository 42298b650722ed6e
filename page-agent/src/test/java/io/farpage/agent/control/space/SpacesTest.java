package io.farpage.agent.control.space;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.control.TestCoordinator;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.HostedAck;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.SpaceRequest;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** With a real coordinator, and a clock of its own. */
class SpacesTest {
    private static final Incarnation INCARNATION = new Incarnation(7);
    private static final long BYTES = 1 << 20;

    @TempDir
    private Path store = Path.of("");

    private TestCoordinator coordinator;
    private Spaces spaces;
    private long space;
    private long now;

    @BeforeEach
    void createSpace() throws Exception {
        coordinator = new TestCoordinator(store);
        coordinator.register("a", INCARNATION, 64 * BYTES);
        SpaceRequest request = new SpaceRequest("vm", BYTES, OptionalInt.of(4096), Optional.of(List.of("a")));
        space = coordinator.client().createSpace(request).id();
        long revision = coordinator.client().hosted("a").revision();
        coordinator.client().acknowledgeHosted("a", new HostedAck(INCARNATION, revision, List.of(), List.of()));
        spaces = new Spaces(new SpaceRequests(coordinator.client(), "a", INCARNATION), () -> now, Runnable::run);
    }

    @AfterEach
    void close() {
        spaces.close();
        coordinator.close();
    }

    /** As the page tool does for one page: a drain of a home waits for all that are attached. */
    @Test
    void shouldDetachFromASpaceThatNothingHasUsedForAWhile() throws Exception {
        use().close();
        pass(Spaces.IDLE.minusMillis(1));
        assertEquals(1, attachments());
        pass(Duration.ofMillis(1));
        assertEquals(0, attachments());
        use().close();
        assertEquals(1, attachments(), "attached again");
    }

    @Test
    void shouldStayAttachedWhileAUseLasts() throws Exception {
        use().close();
        try (SpaceUse lasting = use()) {
            pass(Spaces.IDLE.multipliedBy(10));
            assertEquals(1, attachments());
            assertEquals(space, lasting.map().id());
        }
        pass(Spaces.IDLE.dividedBy(2));
        assertEquals(1, attachments(), "it counts from the end of the last use");
        try (SpaceUse exclusive = spaces.useExclusively(space, Claim.PLAIN).orElseThrow()) {
            pass(Spaces.IDLE.multipliedBy(10));
            assertEquals(1, attachments());
            assertEquals(space, exclusive.map().id());
        }
    }

    /** If the agent were killed while it is attached without its guest, the space would be torn. */
    @Test
    void shouldDetachAtOnceWhenExclusiveUseEnds() throws Exception {
        spaces.useExclusively(space, Claim.PLAIN).orElseThrow().close();
        spaces.step();
        assertEquals(0, attachments());
        use().close();
        assertEquals(1, attachments(), "attached again");
    }

    @Test
    void shouldRunTaskOfUseOnceSpaceIsDetached() throws Exception {
        SpaceUse guest = spaces.useExclusively(space, Claim.PLAIN).orElseThrow();
        AtomicInteger runs = new AtomicInteger();
        guest.whenDetached(runs::incrementAndGet);
        guest.close();
        assertEquals(0, runs.get());
        spaces.step();
        assertEquals(1, runs.get());
        guest.whenDetached(runs::incrementAndGet);
        assertEquals(2, runs.get(), "the space is detached, as after it was taken over");
    }

    /** A coordinator that is rebuilt may find the space in use on another node. */
    @Test
    void shouldReportThatAnAttachmentEndsOnceNothingUsesTheSpace() throws Exception {
        SpaceUse guest = spaces.useExclusively(space, Claim.PLAIN).orElseThrow();
        spaces.detachWhenUnused(space);
        assertFalse(spaces.held().attachments().getFirst().ends(), "the guest runs");
        guest.close();
        assertTrue(spaces.held().attachments().getFirst().ends());
    }

    private long coherentSpace() throws CoordinatorException {
        SpaceRequest request = new SpaceRequest("shared", BYTES, OptionalInt.of(4096), Optional.of(List.of("a")));
        long id = coordinator.client().createSpace(request.asCoherent()).id();
        long revision = coordinator.client().hosted("a").revision();
        coordinator.client().acknowledgeHosted("a", new HostedAck(INCARNATION, revision, List.of(), List.of()));
        return id;
    }

    @Test
    void shouldUseACoherentSpaceForAGuestAsAMember() throws Exception {
        Incarnation other = new Incarnation(8);
        coordinator.register("b", other, 0);
        long shared = coherentSpace();
        try (Spaces ofB = new Spaces(new SpaceRequests(coordinator.client(), "b", other), () -> now, Runnable::run);
                SpaceUse first = spaces.useForGuest(shared, Claim.PLAIN).orElseThrow()) {
            SpaceUse second = ofB.useForGuest(shared, Claim.PLAIN).orElseThrow();
            List<Attachment> members = coordinator.client().attachments(Long.toString(shared));
            assertEquals(
                    List.of(AttachMode.MEMBER, AttachMode.MEMBER),
                    members.stream().map(Attachment::mode).toList());
            assertEquals(
                    List.of(first.attachment(), second.attachment()),
                    members.stream().map(Attachment::id).toList());
            assertEquals(
                    AttachMode.MEMBER, spaces.held().attachments().getFirst().mode());
            assertThrows(SpaceInUseException.class, () -> spaces.useForGuest(shared, Claim.PLAIN));
            assertThrows(SpaceInUseException.class, () -> spaces.use(shared));
            second.close();
            ofB.step();
            assertEquals(
                    1, coordinator.client().attachments(Long.toString(shared)).size());
            assertEquals(
                    Optional.empty(),
                    coordinator.client().space("shared").orElseThrow().torn());
        }
    }

    @Test
    void shouldRefuseOtherUsesOfACoherentSpace() throws Exception {
        long shared = coherentSpace();
        for (CoordinatorRefusedException refused : List.of(
                assertThrows(CoordinatorRefusedException.class, () -> spaces.useExclusively(shared, Claim.PLAIN)),
                assertThrows(CoordinatorRefusedException.class, () -> spaces.use(shared)))) {
            assertTrue(refused.problem().is("coherent"), refused::getMessage);
        }
    }

    private SpaceUse use() throws CoordinatorException {
        return spaces.use(space).orElseThrow();
    }

    /** Lets time pass, and the thread ask for a document and apply it. */
    private void pass(Duration time) {
        now += time.toNanos();
        spaces.step();
        spaces.step();
    }

    private int attachments() throws CoordinatorException {
        return coordinator.client().attachments(Long.toString(space)).size();
    }
}
