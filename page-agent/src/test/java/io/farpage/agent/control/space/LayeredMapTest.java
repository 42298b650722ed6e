package io.farpage.agent.control.space;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** Where the pages of two extents are, while the space gets snapshots below it. */
class LayeredMapTest {
    private static final int PAGE = 4096;
    private static final int EXTENT = 4;
    private static final long VM = 5;
    private static final long GOLDEN = 6;
    private static final long LATER = 7;
    private static final String NONE = "";

    @AutoClose
    private final CoordinatorClient unused =
            new CoordinatorClient(URI.create("http://127.0.0.1:1"), Duration.ofSeconds(1));

    @AutoClose
    private final Spaces spaces = new Spaces(unused, "a", new Incarnation(1));

    private Optional<SpaceUse> below = Optional.empty();

    /** A space whose extents have these homes, or none. */
    private static SpaceExtents space(long id, long revision, OptionalLong base, String... homes) {
        Space space = new Space(id, "space" + id, 2L * EXTENT * PAGE, PAGE, ExtentState.OK, Instant.EPOCH, false);
        return new SpaceExtents(
                base.isPresent() ? space.withThin().withBase(base.getAsLong()) : space,
                revision,
                IntStream.range(0, 2)
                        .mapToObj(i -> new Extent(
                                (long) i * EXTENT,
                                EXTENT,
                                homes[i].equals(NONE)
                                        ? List.of()
                                        : List.of(new ExtentHome(homes[i], new Incarnation(9), 0)),
                                ExtentState.OK))
                        .toList());
    }

    private static AttachedSpace attached(SpaceExtents extents) {
        return new AttachedSpace(extents, Optional.empty(), () -> 0, 1);
    }

    private static AttachedSpace plain(long id, String... homes) {
        return attached(space(id, 1, OptionalLong.empty(), homes));
    }

    private static AttachedSpace vmOver(long base, String... homes) {
        return attached(space(VM, 1, OptionalLong.of(base), homes));
    }

    private static void update(AttachedSpace space, long revision, OptionalLong base, String... homes) {
        assertTrue(space.update(space(space.id(), revision, base, homes), _ -> {}));
    }

    private void lay(AttachedSpace snapshot) {
        below = Optional.of(new SpaceUse(snapshot, spaces, Optional.empty()));
    }

    private LayeredMap layered(AttachedSpace space) {
        return new LayeredMap(space, () -> below);
    }

    private static List<String> homes(SpaceMap map) {
        return IntStream.range(0, map.extents()).mapToObj(map::node).toList();
    }

    private static List<Boolean> atBase(SpaceMap map) {
        return IntStream.range(0, map.extents()).mapToObj(map::isAtBase).toList();
    }

    private static boolean isAllLost(SpaceMap map) {
        return IntStream.range(0, map.extents()).allMatch(map::isLost);
    }

    @Test
    void shouldBeTheMapOfTheSpaceWhenItHasNoSnapshotBelow() {
        AttachedSpace vm = plain(VM, "b", "c");
        LayeredMap map = layered(vm);
        assertSame(vm.map(), map.get());
        update(vm, 2, OptionalLong.empty(), "d", "c");
        assertSame(vm.map(), map.get());
        assertEquals(List.of("d", "c"), homes(map.get()));
    }

    @Test
    void shouldReadWhereTheSnapshotHasThePagesWhenThereIsNoHome() {
        AttachedSpace golden = plain(GOLDEN, "b", "c");
        lay(golden);
        AttachedSpace vm = vmOver(GOLDEN, NONE, "d");
        LayeredMap map = layered(vm);
        assertEquals(List.of("b", "d"), homes(map.get()));
        assertEquals(List.of(true, false), atBase(map.get()));
        update(golden, 2, OptionalLong.empty(), "e", "c");
        assertEquals(List.of("e", "d"), homes(map.get()), "the pages of the snapshot have moved");
        update(vm, 2, OptionalLong.of(GOLDEN), "f", "d");
        assertEquals(List.of("f", "d"), homes(map.get()));
        assertEquals(List.of(false, false), atBase(map.get()));
    }

    @Test
    void shouldKeepTheMapBeforeUntilTheFirstSnapshotIsInUse() {
        AttachedSpace vm = plain(VM, "b", "c");
        LayeredMap map = layered(vm);
        SpaceMap before = map.get();
        update(vm, 2, OptionalLong.of(LATER), NONE, NONE);
        assertSame(before, map.get(), "the pages are where they were");
        lay(plain(LATER, "b", "c"));
        assertEquals(List.of("b", "c"), homes(map.get()));
        assertEquals(List.of(true, true), atBase(map.get()));
        assertEquals(2, map.get().revision());
    }

    @Test
    void shouldIgnoreASnapshotInUseThatTheSpaceIsNotYetACloneOf() {
        AttachedSpace vm = plain(VM, "b", "c");
        LayeredMap map = layered(vm);
        lay(plain(LATER, "b", "c"));
        assertEquals(List.of(false, false), atBase(map.get()));
        update(vm, 2, OptionalLong.of(LATER), NONE, NONE);
        assertEquals(List.of(true, true), atBase(map.get()));
    }

    @Test
    void shouldKeepTheMapBeforeUntilTheUseIsRebased() {
        lay(plain(GOLDEN, "b", "c"));
        AttachedSpace vm = vmOver(GOLDEN, NONE, "d");
        LayeredMap map = layered(vm);
        SpaceMap before = map.get();
        update(vm, 2, OptionalLong.of(LATER), NONE, NONE);
        assertSame(before, map.get(), "the snapshot in use lacks what was at d");
        lay(plain(LATER, "b", "d"));
        assertEquals(List.of("b", "d"), homes(map.get()));
        assertEquals(List.of(true, true), atBase(map.get()));
    }

    @Test
    void shouldKeepTheMapBeforeWhenTheLaterSnapshotIsInUseFirst() {
        lay(plain(GOLDEN, "b", "c"));
        AttachedSpace vm = vmOver(GOLDEN, NONE, "d");
        LayeredMap map = layered(vm);
        SpaceMap before = map.get();
        lay(plain(LATER, "b", "d"));
        assertSame(before, map.get());
        update(vm, 2, OptionalLong.of(LATER), NONE, NONE);
        assertEquals(List.of(true, true), atBase(map.get()));
    }

    @Test
    void shouldLoseAllPagesWhenTheUseIsRevoked() {
        lay(plain(GOLDEN, "b", "c"));
        AttachedSpace vm = vmOver(GOLDEN, NONE, "d");
        assertTrue(vm.enterExclusively());
        LayeredMap map = layered(vm);
        assertFalse(isAllLost(map.get()));
        vm.revoke("another node took its space over");
        assertTrue(isAllLost(map.get()));
    }

    @Test
    void shouldLoseAllPagesWhenTheUseIsRevokedBeforeItIsRebased() {
        AttachedSpace vm = plain(VM, "b", "c");
        assertTrue(vm.enterExclusively());
        LayeredMap map = layered(vm);
        update(vm, 2, OptionalLong.of(LATER), NONE, NONE);
        assertFalse(isAllLost(map.get()));
        vm.revoke("another node took its space over");
        assertTrue(isAllLost(map.get()));
        lay(plain(LATER, "b", "c"));
        assertTrue(isAllLost(map.get()));
    }

    @Test
    void shouldMakeNoMapWhileNothingHasChanged() {
        AttachedSpace golden = plain(GOLDEN, "b", "c");
        lay(golden);
        AttachedSpace vm = vmOver(GOLDEN, NONE, "d");
        assertTrue(vm.enterExclusively());
        LayeredMap map = layered(vm);
        SpaceMap first = map.get();
        assertSame(first, map.get());
        update(golden, 2, OptionalLong.empty(), "b", "c");
        SpaceMap second = map.get();
        assertNotSame(first, second);
        assertSame(second, map.get());
        update(vm, 2, OptionalLong.of(LATER), NONE, NONE);
        assertSame(second, map.get());
        vm.revoke("its space was deleted");
        SpaceMap last = map.get();
        assertNotSame(second, last);
        assertSame(last, map.get());
    }
}
