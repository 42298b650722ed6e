package io.farpage.agent.control.space;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.control.TestCoordinator;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.CloneRequest;
import io.farpage.coordinator.model.Detachment;
import io.farpage.coordinator.model.HostedAck;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Presence;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceRequest;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What an agent says of its writes, and of the presence map that it has left. The coordinator is real. */
class SharedWritesTest {
    private static final Incarnation SELF = new Incarnation(7);
    private static final Incarnation OTHER = new Incarnation(8);
    private static final long BYTES = 1 << 20;
    private static final String MARK = "0123456789abcdef0123456789abcdef";

    @TempDir
    private Path store = Path.of("");

    private TestCoordinator coordinator;
    private Spaces spaces;
    private long space;

    @BeforeEach
    void makeSpace() throws Exception {
        coordinator = new TestCoordinator(store);
        coordinator.register("a", SELF, 64 * BYTES);
        coordinator.register("b", OTHER, BYTES);
        space = coordinator
                .client()
                .createSpace(new SpaceRequest("vm", BYTES, OptionalInt.of(4096), Optional.of(List.of("a"))))
                .id();
        acknowledge();
        spaces = new Spaces(new SpaceRequests(coordinator.client(), "a", SELF), () -> 0, Runnable::run);
    }

    @AfterEach
    void close() {
        spaces.close();
        coordinator.close();
    }

    private void acknowledge() throws CoordinatorException {
        long revision = coordinator.client().hosted("a").revision();
        coordinator.client().acknowledgeHosted("a", new HostedAck(SELF, revision, List.of(), List.of()));
    }

    private Optional<String> mark() throws CoordinatorException {
        return coordinator
                .client()
                .space("vm")
                .flatMap(Space::presence)
                .orElseThrow()
                .mark();
    }

    @Test
    void shouldSayThatItWritesBeforeItsFirstPageAndOnlyOnce() throws Exception {
        try (SpaceUse use = spaces.use(space).orElseThrow()) {
            assertEquals(Optional.of(Presence.ZEROS), use.presence());
            use.write();
            assertEquals(Optional.empty(), mark());
            assertEquals(Optional.empty(), use.presence());
            long revision = coordinator.client().hosted("a").revision();
            use.write();
            assertEquals(revision, coordinator.client().hosted("a").revision());
        }
    }

    @Test
    void shouldLeaveTheMarkThatAnExclusiveUseHasSet() throws Exception {
        SpaceUse use = spaces.useExclusively(space, Claim.PLAIN).orElseThrow();
        assertEquals(Optional.of(Presence.ZEROS), use.presence(), "it was told so when it attached");
        use.presence(Optional.of(MARK));
        SpaceUse beside = use.another();
        use.close();
        spaces.step();
        assertEquals(1, coordinator.client().attachments("vm").size(), "a use beside it goes on");
        beside.close();
        spaces.step();
        assertEquals(List.of(), coordinator.client().attachments("vm"));
        assertEquals(Optional.of(MARK), mark());
    }

    @Test
    void shouldRefuseToWriteToASnapshot() throws Exception {
        coordinator.client().makeSnapshot("vm");
        try (SpaceUse use = spaces.use(space).orElseThrow()) {
            assertThrows(CoordinatorRefusedException.class, use::write);
        }
        assertThrows(CoordinatorRefusedException.class, () -> spaces.useExclusively(space, Claim.PLAIN));
    }

    @Test
    void shouldEndTheUseOfACloneThatWasTakenOver() throws Exception {
        coordinator.client().makeSnapshot("vm");
        coordinator.client().makeClone("vm", new CloneRequest("clone"));
        assertEndsWhenTakenOver("clone");
    }

    @Test
    void shouldEndTheUseOfAThinSpaceThatWasTakenOver() throws Exception {
        coordinator.register("c", new Incarnation(9), 64 * BYTES);
        coordinator.client().createSpace(SpaceRequest.of("thin", BYTES).asThin());
        assertEndsWhenTakenOver("thin");
    }

    /** It has no homes that would cut this node off. */
    private void assertEndsWhenTakenOver(String name) throws Exception {
        long id = coordinator.client().space(name).orElseThrow().id();
        try (SpaceUse use = spaces.useExclusively(id, Claim.PLAIN).orElseThrow()) {
            spaces.step();
            assertFalse(use.isRevoked());
            coordinator.client().detach(name, "a", SELF, Detachment.PLAIN);
            coordinator.client().attach(name, "b", new AttachRequest(OTHER, AttachMode.EXCLUSIVE));
            spaces.refresh();
            spaces.step();
            spaces.step();
            assertTrue(use.isRevoked());
        }
    }
}
