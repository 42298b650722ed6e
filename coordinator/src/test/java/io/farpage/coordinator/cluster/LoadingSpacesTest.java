package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Detachment;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.coordinator.model.VmmState;
import io.farpage.rest.ProblemException;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** A space that is loaded is a snapshot afterwards, or is gone; and the state file of a VMM goes with its snapshot. */
class LoadingSpacesTest {
    private static final int PAGE = 4096;
    private static final Incarnation A = new Incarnation(2);
    private static final Detachment LOADED = new Detachment(Optional.empty(), Optional.empty(), Optional.empty(), true);

    private final Fixture with = new Fixture();
    private final Attachments attachments = new Attachments(with.ledger, with.time);

    @BeforeEach
    void registerNodes() {
        with.membership.register("home", Fixture.node(1, 64 * PAGE));
        with.membership.register("a", Fixture.node(2, 0));
    }

    private Space create(String name, Optional<VmmState> file) {
        return with.spaces.create(SpaceRequest.of(name, 2 * PAGE).asLoading(file));
    }

    private void attach(String space, AttachMode mode) {
        attachments.attach(space, "a", new AttachRequest(A, mode));
    }

    private Space load(String name, Optional<VmmState> file) {
        create(name, file);
        attach(name, AttachMode.EXCLUSIVE);
        attachments.detach(name, "a", A, LOADED);
        return with.spaces.require(name);
    }

    private List<String> names() {
        return with.spaces.all().stream().map(Space::name).sorted().toList();
    }

    private static VmmState file(Space of, long bytes) {
        return new VmmState(of.id(), bytes);
    }

    private static void refused(String word, String said, Executable what) {
        ProblemException refused = assertThrows(ProblemException.class, what);
        assertTrue(refused.problem("").is(word), refused::getMessage);
        assertTrue(refused.problem("").detail().contains(said), refused::getMessage);
    }

    @Test
    void shouldBeASnapshotWhenAllPagesAreLoaded() {
        Space made = load("golden", Optional.empty());
        assertEquals(Optional.of(with.time.now()), made.snapshot());
        assertEquals(Optional.empty(), made.loading());
    }

    @Test
    void shouldBeGoneWhenTheLoaderLeavesWithout() {
        create("golden", Optional.empty());
        attach("golden", AttachMode.EXCLUSIVE);
        attachments.detach("golden", "a", A, Detachment.PLAIN);
        assertEquals(List.of(), names());
    }

    @Test
    void shouldBeGoneWhenItIsTorn() {
        create("golden", Optional.empty());
        attach("golden", AttachMode.EXCLUSIVE);
        attachments.detach(
                "golden", "a", A, new Detachment(Optional.of("the file"), Optional.empty(), Optional.empty(), true));
        assertEquals(List.of(), names());
    }

    @Test
    void shouldBeGoneWhenTheLoaderIsStartedAgain() {
        create("golden", Optional.empty());
        attach("golden", AttachMode.EXCLUSIVE);
        with.membership.register("a", Fixture.node(4, 0));
        with.fenced("home", new Incarnation(1), "a", A);
        assertEquals(List.of(), names());
    }

    @Test
    void shouldGiveWayWhenItsLoaderHasNotAttachedIt() {
        long first = create("golden", Optional.empty()).id();
        long second = create("golden", Optional.empty()).id();
        assertNotEquals(first, second);
        attach("golden", AttachMode.EXCLUSIVE);
        refused("name-taken", "'golden'", () -> create("golden", Optional.empty()));
    }

    @Test
    void shouldStayWhenPagesOfItWereOnlyRead() {
        create("golden", Optional.empty());
        attach("golden", AttachMode.SHARED);
        attachments.detach("golden", "a", A, LOADED);
        assertTrue(with.spaces.require("golden").isLoading());
    }

    @Test
    void shouldGoWithItsSnapshotWhenItIsTheStateOfAVmm() {
        Space golden = load("golden", Optional.empty());
        load("golden.state", Optional.of(file(golden, PAGE + 1)));
        assertEquals(List.of("golden", "golden.state"), names());
        with.spaces.delete("golden", false);
        assertEquals(List.of(), names());
    }

    @Test
    void shouldGoWithASnapshotThatIsNotLoaded() {
        Space golden = create("golden", Optional.empty());
        attach("golden", AttachMode.EXCLUSIVE);
        create("golden.state", Optional.of(file(golden, PAGE + 1)));
        attach("golden.state", AttachMode.EXCLUSIVE);
        attachments.detach("golden", "a", A, Detachment.PLAIN);
        attachments.detach("golden.state", "a", A, LOADED);
        assertEquals(List.of(), names());
    }

    @Test
    void shouldKeepOneStateWithASnapshotOfAMachine() {
        Space golden = load("golden", Optional.empty());
        Space state = load("golden.state", Optional.of(file(golden, PAGE + 1)));
        refused("has-state", "in space 'golden.state'", () -> create("other", Optional.of(file(golden, PAGE + 1))));
        refused(
                "no-snapshot",
                "is not the snapshot of a machine",
                () -> create("other", Optional.of(file(state, PAGE + 1))));
        Space plain = with.spaces.create(SpaceRequest.of("vm", PAGE));
        refused("no-snapshot", "space 'vm'", () -> create("other", Optional.of(file(plain, PAGE + 1))));
    }

    @Test
    void shouldRefuseASizeThatDoesNotFitTheFile() {
        SpaceRequest request = SpaceRequest.of("golden.state", 2 * PAGE);
        assertThrows(IllegalArgumentException.class, () -> request.asLoading(Optional.of(new VmmState(1, PAGE))));
        assertThrows(IllegalArgumentException.class, () -> new VmmState(1, 0));
        assertThrows(IllegalArgumentException.class, () -> new VmmState(1, VmmState.MAX_BYTES + 1));
        assertEquals(
                PAGE + 1,
                load("golden.state", Optional.of(file(load("g", Optional.empty()), PAGE + 1)))
                        .contentBytes());
    }
}
