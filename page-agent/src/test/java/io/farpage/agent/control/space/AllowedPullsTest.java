package io.farpage.agent.control.space;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.agent.control.TestCoordinator;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.DropRequest;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.PoolInfo;
import io.farpage.coordinator.model.PullState;
import io.farpage.coordinator.model.Registration;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.coordinator.model.TransportKind;
import io.farpage.it.deadlines.Deadlines;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A home that joins may copy pages itself only when all pagers of the guest note what they write: the copy could miss a
 * page of one that does not.
 */
@Tag("portable")
class AllowedPullsTest {
    private static final int PAGE = 4096;
    private static final int PAGES = 64;
    private static final String SPACE = "vm";
    private static final Incarnation WRITER = new Incarnation(1);
    private static final Incarnation HOME = new Incarnation(2);
    private static final Duration TIMEOUT = Duration.ofSeconds(20);
    /** Many times as long as a step takes. */
    private static final Duration QUIET = Duration.ofMillis(500);

    @TempDir
    private Path directory = Path.of("");

    private TestCoordinator coordinator;
    private Spaces spaces;
    private SpaceUse space;
    private Drops drops;
    private Drops.Writers guest;

    /** A space of one extent, one of whose two homes was dropped, so that a third one joins. */
    @BeforeEach
    void start() throws CoordinatorException {
        coordinator = new TestCoordinator(directory);
        register("a", WRITER);
        for (String home : List.of("b", "c", "d")) {
            register(home, HOME);
        }
        coordinator
                .client()
                .createSpace(new SpaceRequest(
                                SPACE, (long) PAGES * PAGE, OptionalInt.of(PAGE), Optional.of(List.of("b", "c", "d")))
                        .withReplicas(2));
        spaces = new Spaces(coordinator.client(), "a", WRITER);
        space = spaces.useExclusively(spaces.resolve(SPACE).orElseThrow(), Claim.PLAIN)
                .orElseThrow();
        spaces.start((_, _) -> true);
        Extent whole = extents().extents().getFirst();
        coordinator
                .client()
                .drop(
                        SPACE,
                        "a",
                        new DropRequest(WRITER, whole.primary().node(), HOME, List.of(ExtentEpoch.of(whole))));
        Deadlines.await("a home joins", TIMEOUT).until(() -> extent().joining().isPresent());
        assertEquals(Optional.of(PullState.AWAITED), extent().pull());
        spaces.refresh();
        Deadlines.await("the map with the home that joins", TIMEOUT)
                .until(() -> spaces.held()
                        .spaces()
                        .getFirst()
                        .extents()
                        .equals(extents().extents()));
        drops = spaces.drops();
        guest = drops.writers();
    }

    @AfterEach
    void end() {
        spaces.close();
        coordinator.close();
    }

    private void register(String node, Incarnation incarnation) throws CoordinatorException {
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
                                new PoolInfo(8 << 20, PAGE, Optional.empty()),
                                List.of(TransportKind.TCP),
                                Optional.empty(),
                                Optional.empty(),
                                Optional.empty(),
                                Optional.empty()));
    }

    private SpaceExtents extents() throws CoordinatorException {
        return coordinator.client().extents(SPACE).orElseThrow();
    }

    private Extent extent() throws CoordinatorException {
        return extents().extents().getFirst();
    }

    private Drops.Writer pager(long start, long count) {
        return guest.add(space.map().slice(start, count), Drops.Options.DEFAULT, _ -> true, () -> {});
    }

    @Test
    void shouldAllowAPullOnlyWhenEachPagerNotesItsWrites() throws CoordinatorException {
        long epoch = extent().epochNumber();
        try (Drops.Writer first = pager(0, PAGES / 2);
                Drops.Writer second = pager(PAGES / 2, PAGES / 2)) {
            first.mayPull(0, epoch);
            Deadlines.await("one of two pagers notes nothing", TIMEOUT)
                    .during(QUIET)
                    .until(() -> extent().pull().equals(Optional.of(PullState.AWAITED)));
            second.mayPull(0, epoch);
            Deadlines.await("both pagers note what they write", TIMEOUT)
                    .until(() -> extent().pull().equals(Optional.of(PullState.RUNNING)));
        }
    }

    @Test
    void shouldAllowNoPullWhenAPagerIsClosedBeforeItNotesWrites() throws CoordinatorException {
        long epoch = extent().epochNumber();
        Drops.Writer first = pager(0, PAGES / 2);
        try (Drops.Writer second = pager(PAGES / 2, PAGES / 2)) {
            first.close();
            second.mayPull(0, epoch);
            Deadlines.await("the pager that has ended noted nothing", TIMEOUT)
                    .during(QUIET)
                    .until(() -> extent().pull().equals(Optional.of(PullState.AWAITED)));
        }
        try (Drops.Writer next = drops.writers().add(space.map(), Drops.Options.DEFAULT, _ -> true, () -> {})) {
            next.mayPull(0, epoch);
            Deadlines.await("the next guest notes all that it writes", TIMEOUT)
                    .until(() -> extent().pull().equals(Optional.of(PullState.RUNNING)));
        }
    }

    @Test
    void shouldAllowNoPullForNotesOfAnEarlierEpoch() throws CoordinatorException {
        long epoch = extent().epochNumber();
        try (Drops.Writer only = pager(0, PAGES)) {
            only.mayPull(0, epoch - 1);
            Deadlines.await("what was noted is of an earlier epoch", TIMEOUT)
                    .during(QUIET)
                    .until(() -> extent().pull().equals(Optional.of(PullState.AWAITED)));
            only.mayPull(0, epoch);
            Deadlines.await("the pager notes what it writes in this epoch", TIMEOUT)
                    .until(() -> extent().pull().equals(Optional.of(PullState.RUNNING)));
        }
    }
}
