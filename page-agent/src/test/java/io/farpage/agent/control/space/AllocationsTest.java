package io.farpage.agent.control.space;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.control.TestCoordinator;
import io.farpage.agent.data.pager.page.PresenceMap;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.model.CloneRequest;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.PoolInfo;
import io.farpage.coordinator.model.PullReport;
import io.farpage.coordinator.model.Registration;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.coordinator.model.TransportKind;
import io.farpage.coordinator.model.WriterRequest;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Room of a thin space of four extents, as its guest's agent asks for it. The test is the thread of {@link Spaces}. */
@Tag("portable")
class AllocationsTest {
    private static final int PAGE = 4096;
    private static final int EXTENT_PAGES = 512;
    private static final int EXTENTS = 4;
    private static final long BYTES = (long) EXTENTS * EXTENT_PAGES * PAGE;
    private static final Incarnation WRITER = new Incarnation(1);
    private static final Incarnation HOME = new Incarnation(2);

    @TempDir
    private Path directory = Path.of("");

    private TestCoordinator coordinator;
    private Spaces spaces;
    private SpaceUse space;
    private Drops.Writer pager;
    private long now;

    @BeforeEach
    void start() throws CoordinatorException {
        coordinator = new TestCoordinator(directory);
        register("a", WRITER, PAGE);
        register("b", HOME, BYTES);
        coordinator.client().createSpace(SpaceRequest.of("vm", BYTES - PAGE).asThin());
        spaces = new Spaces(new SpaceRequests(coordinator.client(), "a", WRITER), () -> now, Runnable::run);
        spaces.follow((_, _) -> true);
        space = spaces.useExclusively(spaces.resolve("vm").orElseThrow(), Claim.PLAIN)
                .orElseThrow();
        pager = spaces.drops().writers().add(space.map(), Drops.Options.DEFAULT, _ -> true, () -> {});
    }

    @AfterEach
    void end() {
        pager.close();
        spaces.close();
        coordinator.close();
    }

    private void register(String node, Incarnation incarnation, long bytes) throws CoordinatorException {
        coordinator
                .client()
                .register(
                        node,
                        new Registration(
                                incarnation,
                                "host",
                                "127.0.0.1:7410",
                                2,
                                1L << 33,
                                List.of(),
                                new PoolInfo(bytes, PAGE, Optional.empty()),
                                List.of(TransportKind.TCP),
                                Optional.empty(),
                                Optional.empty(),
                                Optional.empty(),
                                Optional.empty()));
    }

    private List<Integer> allocated() {
        return IntStream.range(0, EXTENTS)
                .filter(extent -> space.map().isAllocated(extent))
                .boxed()
                .toList();
    }

    private void need(int extent) {
        pager.needsRoom((long) extent * EXTENT_PAGES, space.map().epoch(extent));
    }

    @Test
    void shouldAskForTheRoomThatAPagerNeeds() {
        need(1);
        need(3);
        spaces.step();
        assertEquals(List.of(1, 3), allocated());
        assertFalse(pager.hasNoRoom());
        assertEquals("b", space.map().node(1));
    }

    @Test
    void shouldNotAskForWhatWasNeededInAnotherEpoch() {
        pager.needsRoom(0, 7);
        spaces.step();
        assertEquals(List.of(), allocated());
    }

    @Test
    void shouldSayThatThereIsNoRoomAndAskAgain() throws CoordinatorException {
        coordinator.client().deregister("b", HOME, true);
        need(2);
        spaces.step();
        assertTrue(pager.hasNoRoom());
        assertTrue(space.isRoomless());
        register("b", new Incarnation(3), BYTES);
        now += TimeUnit.MILLISECONDS.toNanos(500);
        need(2);
        spaces.step();
        assertEquals(List.of(), allocated(), "it was asked for less than a second ago");
        now += TimeUnit.MILLISECONDS.toNanos(500);
        need(2);
        spaces.step();
        assertEquals(List.of(2), allocated());
        assertFalse(pager.hasNoRoom());
        assertFalse(space.isRoomless());
    }

    @Test
    void shouldSayThatThereIsNoRoomForOneOfSeveral() throws CoordinatorException {
        coordinator.client().deregister("b", HOME, true);
        register("b", new Incarnation(3), (long) EXTENT_PAGES * PAGE);
        need(0);
        need(1);
        spaces.step();
        assertEquals(1, allocated().size());
        assertTrue(pager.hasNoRoom());
    }

    @Test
    void shouldSayThatThereIsNoRoomWhileTheCoordinatorIsAway() {
        need(0);
        coordinator.close();
        spaces.step();
        assertTrue(pager.hasNoRoom());
    }

    @Test
    void shouldReadTheExtentsAgainIfTheyAreInAnotherEpoch() throws CoordinatorException {
        coordinator.client().allocate("vm", "a", new WriterRequest(WRITER, List.of(new ExtentEpoch(0, 0))));
        need(0);
        spaces.step();
        assertFalse(pager.hasNoRoom());
        now += TimeUnit.SECONDS.toNanos(1);
        spaces.step();
        assertEquals(List.of(0), allocated());
    }

    @Test
    void shouldAwaitTheHomeOfACloneThatIsFilled() throws CoordinatorException {
        register("d", new Incarnation(5), BYTES);
        coordinator
                .client()
                .createSpace(new SpaceRequest("golden", BYTES / 4, OptionalInt.empty(), Optional.of(List.of("d"))));
        coordinator.client().makeSnapshot("golden");
        coordinator.client().makeClone("golden", new CloneRequest("c"));
        SpaceUse clone = spaces.useExclusively(spaces.resolve("c").orElseThrow(), Claim.PLAIN)
                .orElseThrow();
        try (Drops.Writer writer =
                spaces.drops().writers().add(clone.map(), Drops.Options.DEFAULT, _ -> true, () -> {})) {
            writer.needsRoom(0, 0);
            spaces.step();
            Extent filled = extentOfTheClone();
            assertEquals("b", filled.joining().orElseThrow().node());
            assertFalse(writer.hasNoRoom());
            assertFalse(clone.map().isAllocated(0));
            writer.needsRoom(0, filled.epochNumber());
            spaces.step();
            assertEquals(filled, extentOfTheClone());
            assertFalse(writer.hasNoRoom(), "it is not asked for again");
            coordinator
                    .client()
                    .pulled(
                            "b",
                            new PullReport(HOME, clone.map().id(), ExtentEpoch.of(filled), Optional.of("no page")));
            spaces.refresh();
            spaces.step();
            spaces.step();
            writer.needsRoom(0, clone.map().epoch(0));
            spaces.step();
            assertTrue(extentOfTheClone().joining().isPresent(), "a home that was given up is replaced");
        }
        clone.deallocate(PresenceMap.zeros((int) clone.map().pages()));
    }

    private Extent extentOfTheClone() throws CoordinatorException {
        return coordinator.client().extents("c").orElseThrow().extents().getFirst();
    }

    @Test
    void shouldHaveRoomBeforeAToolWrites() throws CoordinatorException {
        space.allocate(EXTENT_PAGES + 7);
        assertEquals(List.of(1), allocated());
        space.allocate(EXTENT_PAGES + 8);
        assertEquals(1, space.map().epoch(1));
        coordinator.client().allocate("vm", "a", new WriterRequest(WRITER, List.of(new ExtentEpoch(0, 0))));
        space.allocate(0);
        assertEquals(List.of(0, 1), allocated(), "another request was first");
        coordinator.client().deregister("b", HOME, true);
        assertThrows(CoordinatorRefusedException.class, () -> space.allocate(2L * EXTENT_PAGES));
    }

    @Test
    void shouldGiveBackTheRoomOfZeros() throws CoordinatorException {
        for (long page = 0; page < space.map().pages(); page += EXTENT_PAGES) {
            space.allocate(page);
        }
        PresenceMap left = PresenceMap.zeros((int) space.map().pages());
        left.set(EXTENT_PAGES, PresenceMap.PRESENT);
        left.set((int) space.map().pages() - 1, PresenceMap.WANTED);
        space.deallocate(left);
        assertEquals(List.of(1, 3), allocated());
    }
}
