package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.AlertKind;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Detachment;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Feature;
import io.farpage.coordinator.model.Grant;
import io.farpage.coordinator.model.GrantRequest;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Release;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.coordinator.model.WriterRequest;
import io.farpage.rest.ProblemException;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Thin spaces: extents get room when it is asked for, and give it back. */
class AllocationsTest {
    private static final int PAGE = 4096;
    private static final long EXTENT_PAGES = 512;
    private static final long EXTENT = EXTENT_PAGES * PAGE;
    private static final Incarnation WRITER = new Incarnation(2);

    private final Fixture with = new Fixture();
    private final Attachments attachments = new Attachments(with.ledger, with.time);
    private final Grants grants = new Grants(with.ledger);
    private final Allocations allocations = new Allocations(with.ledger, grants);
    private final Drops drops = new Drops(with.ledger);

    private void register(String node, long incarnation, long extents) {
        with.membership.register(node, Fixture.node(incarnation, extents * EXTENT));
    }

    private static SpaceRequest thin(String name, long extents) {
        return SpaceRequest.of(name, extents * EXTENT).asThin();
    }

    /** A writer with a thin space of four extents over a home with room for four. */
    private Space attached() {
        register("h", 1, 4);
        with.membership.register("w", Fixture.node(WRITER.value(), 0));
        Space space = with.spaces.create(thin("vm", 4));
        attach(AttachMode.EXCLUSIVE);
        return space;
    }

    private void attach(AttachMode mode) {
        attachments.attach("vm", "w", new AttachRequest(WRITER, mode, Optional.empty(), Optional.of(Feature.words())));
    }

    private List<Extent> extents() {
        return with.spaces.extents("vm").extents();
    }

    private List<Integer> homes() {
        return extents().stream().map(extent -> extent.homes().size()).toList();
    }

    private WriterRequest request(int... indices) {
        List<Extent> all = extents();
        return new WriterRequest(
                WRITER,
                Arrays.stream(indices).mapToObj(i -> ExtentEpoch.of(all.get(i))).toList());
    }

    private void allocate(int... indices) {
        allocations.allocate("vm", "w", request(indices));
    }

    private void deallocate(int... indices) {
        allocations.deallocate("vm", "w", request(indices));
    }

    private void acknowledge(int... indices) {
        drops.acknowledge("vm", "w", request(indices));
    }

    private void zero() {
        List<Long> ids = with.zeroable("h").stream().map(Release::id).toList();
        with.zeroed("h", new Incarnation(1), ids);
    }

    private long freeBytes(String node) {
        return with.freeBytes(with.membership.node(node).orElseThrow());
    }

    private static ProblemException refused(Runnable request) {
        return assertThrows(ProblemException.class, request::run);
    }

    private static void assertRefused(String word, Runnable request) {
        ProblemException refusal = refused(request);
        assertTrue(refusal.problem("").is(word), refusal::toString);
    }

    @Test
    void shouldTakeNoRoomWhenItIsMade() {
        attached();
        assertEquals(List.of(0, 0, 0, 0), homes());
        assertEquals(4 * EXTENT, freeBytes("h"));
        assertTrue(extents().stream().allMatch(extent -> extent.state() == ExtentState.OK));
        assertEquals(Set.of(Feature.THIN), with.spaces.require("vm").features());
        with.checkIndexes();
    }

    @Test
    void shouldTakeRoomForExtentsThatAreAskedFor() {
        attached();
        allocate(1, 3);
        assertEquals(List.of(0, 1, 0, 1), homes());
        assertEquals(2 * EXTENT, freeBytes("h"));
        assertEquals(
                List.of(0L, 1L, 0L, 1L),
                extents().stream().map(Extent::epochNumber).toList());
        with.checkIndexes();
        with.restart();
        assertEquals(List.of(0, 1, 0, 1), homes());
    }

    @Test
    void shouldLeaveAnExtentThatHasRoomAsItIs() {
        attached();
        allocate(0);
        Extent first = extents().getFirst();
        allocate(0, 1);
        assertEquals(first, extents().getFirst());
        assertEquals(List.of(1, 1, 0, 0), homes());
    }

    @Test
    void shouldRefuseAnExtentInAnotherEpoch() {
        attached();
        WriterRequest before = request(0);
        allocate(0);
        assertRefused("stale-epoch", () -> allocations.allocate("vm", "w", before));
    }

    @Test
    void shouldGiveRoomToAsManyExtentsAsItIsThereFor() {
        register("h", 1, 3);
        with.membership.register("w", Fixture.node(WRITER.value(), 0));
        Spaces generous = new Spaces(with.ledger, with.time, new Heat(System::nanoTime), new Spaces.Options(true, 200));
        generous.create(thin("vm", 4));
        attach(AttachMode.EXCLUSIVE);
        allocate(0, 1, 2, 3);
        assertEquals(List.of(1, 1, 1, 0), homes());
        ProblemException refusal = refused(() -> allocate(3));
        assertEquals(507, refusal.status());
        assertTrue(
                String.valueOf(refusal.getMessage()).contains("no node has " + EXTENT + " free bytes"),
                refusal::getMessage);
        assertEquals(
                List.of(AlertKind.POOL_NEARLY_FULL, AlertKind.ROOM_SCARCE),
                Alerts.of(with.ledger.state()).stream()
                        .map(alert -> alert.kind())
                        .toList());
        register("more", 3, 1);
        allocate(3);
        assertEquals(List.of(1, 1, 1, 1), homes());
    }

    @Test
    void shouldGiveEachExtentAsManyHomesAsItsSpaceAsksFor() {
        register("h1", 11, 4);
        register("h2", 12, 4);
        register("h3", 13, 1);
        with.membership.register("w", Fixture.node(WRITER.value(), 0));
        with.spaces.create(thin("vm", 4).withReplicas(2));
        attach(AttachMode.EXCLUSIVE);
        allocate(0, 1, 2, 3);
        assertEquals(List.of(2, 2, 2, 2), homes());
        extents()
                .forEach(extent -> assertEquals(
                        2,
                        extent.homes().stream().map(ExtentHome::node).distinct().count()));
        Repairs repairs = new Repairs(with.ledger, with.time, new Moves(with.time), Duration.ZERO);
        assertEquals(0, repairs.step());
    }

    @Test
    void shouldPreferOtherNodesThanThatOfTheGuest() {
        register("h", 1, 1);
        register("w", WRITER.value(), 4);
        with.spaces.create(thin("vm", 4));
        attach(AttachMode.EXCLUSIVE);
        allocate(0, 1);
        assertEquals(
                List.of("h", "w"),
                extents().stream()
                        .limit(2)
                        .map(extent -> extent.primary().node())
                        .toList());
    }

    @Test
    void shouldNotRepairWhatHasNoRoom() {
        attached();
        register("h2", 12, 4);
        allocate(0);
        Repairs repairs = new Repairs(with.ledger, with.time, new Moves(with.time), Duration.ZERO);
        assertEquals(0, repairs.step());
        assertEquals(0, Backlog.bytes(with.ledger.state()));
        assertEquals(List.of(), Alerts.of(with.ledger.state()));
    }

    @Test
    void shouldReuseRoomOnlyWhenItWasZeroed() {
        attached();
        allocate(0, 1, 2, 3);
        deallocate(2);
        assertEquals(List.of(1, 1, 0, 1), homes());
        assertEquals(0, freeBytes("h"), "the writer may have WRITEs under way");
        assertEquals(List.of(), with.zeroable("h"));
        acknowledge(2);
        assertEquals(0, freeBytes("h"), "the home has to zero it");
        zero();
        assertEquals(EXTENT, freeBytes("h"));
        allocate(2);
        assertEquals(List.of(1, 1, 1, 1), homes());
        with.checkIndexes();
    }

    /** The home has revoked the keys that it gave for the room that it had before. */
    @Test
    void shouldForgetTheGrantsOfANodeThatBecomesAHomeAgain() {
        Space space = attached();
        allocate(0);
        long attachment = attachments.of("vm").getFirst().id();
        grants.publish("h", space.id(), "w", new GrantRequest(new Incarnation(1), WRITER, attachment, 1, "key"));
        allocate(1);
        assertTrue(grant(space).isPresent(), "it was a home all the time");
        deallocate(0, 1);
        acknowledge(0, 1);
        zero();
        allocate(0);
        assertEquals(Optional.empty(), grant(space));
    }

    private Optional<Grant> grant(Space space) {
        return grants.find(new Draft(with.ledger.state()), "h", space.id(), "w", Optional.empty());
    }

    @Test
    void shouldHaveRoomOfADetachedWriterZeroed() {
        attached();
        allocate(0, 1);
        deallocate(0, 1);
        attachments.detach(
                "vm", "w", WRITER, new Detachment(Optional.empty(), Optional.empty(), Optional.empty(), false));
        zero();
        assertEquals(4 * EXTENT, freeBytes("h"));
    }

    @Test
    void shouldRefuseToTakeRoomFromALostExtent() {
        attached();
        allocate(0, 1);
        register("h", 9, 4);
        assertEquals(ExtentState.LOST, extents().getFirst().state());
        assertEquals(ExtentState.OK, extents().get(2).state());
        deallocate(0);
        assertEquals(ExtentState.LOST, extents().getFirst().state());
    }

    @Test
    void shouldDeleteASpaceWithAndWithoutRoom() {
        attached();
        allocate(1);
        with.spaces.delete("vm", true);
        attachments.detach(
                "vm", "w", WRITER, new Detachment(Optional.empty(), Optional.empty(), Optional.empty(), false));
        zero();
        assertEquals(4 * EXTENT, freeBytes("h"));
        with.checkIndexes();
    }

    @Test
    void shouldAskForRoomOnlyAsAnAttachedNode() {
        register("h", 1, 4);
        with.membership.register("w", Fixture.node(WRITER.value(), 0));
        with.spaces.create(thin("vm", 4));
        assertRefused("not-attached", () -> allocate(0));
        attach(AttachMode.SHARED);
        allocate(0);
        assertEquals(List.of(1, 0, 0, 0), homes());
        assertRefused("not-attached", () -> deallocate(0));
    }

    @Test
    void shouldNotChangeTheRoomOfOtherSpaces() {
        register("h", 1, 4);
        with.membership.register("w", Fixture.node(WRITER.value(), 0));
        with.spaces.create(SpaceRequest.of("vm", EXTENT));
        attach(AttachMode.EXCLUSIVE);
        assertRefused("not-thin", () -> deallocate(0));
    }

    @Test
    void shouldPromiseNoMoreThanThePoolsHave() {
        register("h", 1, 4);
        with.spaces.create(thin("one", 3));
        assertRefused("overcommit", () -> with.spaces.create(thin("two", 2)));
        assertRefused("overcommit", () -> with.spaces.create(SpaceRequest.of("thick", 2 * EXTENT)));
        with.spaces.create(SpaceRequest.of("thick", EXTENT));
        assertEquals(3 * EXTENT, Promises.bytes(with.ledger.state()));
        Spaces generous = new Spaces(with.ledger, with.time, new Heat(System::nanoTime), new Spaces.Options(true, 200));
        generous.create(thin("two", 4));
        assertRefused("overcommit", () -> generous.create(thin("three", 1)));
    }

    @Test
    void shouldRefuseWhatAThinSpaceCannotBe() {
        assertThrows(
                IllegalArgumentException.class,
                () -> new SpaceRequest(
                                "vm",
                                EXTENT,
                                OptionalInt.empty(),
                                Optional.of(List.of("h")),
                                Optional.empty(),
                                Optional.empty(),
                                OptionalInt.empty())
                        .asThin());
        assertThrows(
                IllegalArgumentException.class,
                () -> new SpaceRequest(
                                "vm",
                                EXTENT,
                                OptionalInt.empty(),
                                Optional.empty(),
                                Optional.of("0123456789abcdef"),
                                Optional.empty(),
                                OptionalInt.empty())
                        .asThin());
    }

    /** In any order of requests no byte belongs to two extents, and what was given back is free in the end. */
    @Test
    void shouldLoseNoRoomInAnyOrder() {
        attached();
        Random random = new Random(7);
        Set<Integer> allocated = new HashSet<>();
        for (int step = 0; step < 2_000; step++) {
            int one = random.nextInt(4);
            switch (random.nextInt(4)) {
                case 0 -> {
                    if (freeBytes("h") >= EXTENT || allocated.contains(one)) {
                        boolean isHomeFree = extents().get(one).droppedHomes().isEmpty();
                        if (isHomeFree) {
                            allocate(one);
                            allocated.add(one);
                        } else {
                            assertRefused("no-room", () -> allocate(one));
                        }
                    }
                }
                case 1 -> {
                    deallocate(one);
                    allocated.remove(one);
                }
                case 2 -> acknowledge(one);
                default -> zero();
            }
            assertEquals(
                    allocated,
                    IntStream.range(0, 4)
                            .filter(i -> extents().get(i).isAllocated())
                            .boxed()
                            .collect(Collectors.toSet()));
            with.checkIndexes();
        }
        acknowledge(0, 1, 2, 3);
        zero();
        assertEquals((4 - allocated.size()) * EXTENT, freeBytes("h"));
        assertFalse(allocated.isEmpty() && freeBytes("h") != 4 * EXTENT);
    }
}
