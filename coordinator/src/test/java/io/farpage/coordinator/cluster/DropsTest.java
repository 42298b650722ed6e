package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Detachment;
import io.farpage.coordinator.model.DropRequest;
import io.farpage.coordinator.model.EventKind;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.Registration;
import io.farpage.coordinator.model.Release;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.coordinator.model.WriterRequest;
import io.farpage.rest.ProblemException;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class DropsTest {

    private static final int PAGE = 4096;
    private static final long POOL = 16L * PAGE;

    private final Fixture with = new Fixture();
    private final Attachments attachments = new Attachments(with.ledger, with.time);
    private final Drops drops = new Drops(with.ledger);

    private void register(String node, long incarnation, Optional<String> domain) {
        Registration said = Fixture.node(incarnation, POOL);
        with.membership.register(
                node,
                new Registration(
                        said.incarnation(),
                        said.hostname(),
                        said.address(),
                        said.cpus(),
                        said.memoryBytes(),
                        said.devices(),
                        said.pool(),
                        said.transports(),
                        said.linkKey(),
                        said.status(),
                        domain,
                        Optional.empty()));
    }

    private void threeHomesAndAWriter() {
        register("h1", 11, Optional.empty());
        register("h2", 12, Optional.empty());
        register("h3", 13, Optional.empty());
        with.membership.register("w", Fixture.node(2, 0));
    }

    private static SpaceRequest mirrored(String name, long pages, int replicas) {
        return new SpaceRequest(name, pages * PAGE, OptionalInt.empty(), Optional.empty()).withReplicas(replicas);
    }

    private void attach(AttachMode mode) {
        attachments.attach("vm", "w", new AttachRequest(new Incarnation(2), mode));
    }

    private List<Extent> extents() {
        return with.spaces.extents("vm").extents();
    }

    private void drop(ExtentHome home, long epoch) {
        drops.drop(
                "vm",
                "w",
                new DropRequest(
                        new Incarnation(2), home.node(), home.incarnation(), List.of(new ExtentEpoch(0, epoch))));
    }

    private static boolean refusedAs(String word, Runnable refused) {
        return assertThrows(ProblemException.class, refused::run).problem("").is(word);
    }

    private long freeBytes(String node) {
        Node known = with.membership.node(node).orElseThrow();
        return with.freeBytes(known);
    }

    @Test
    void shouldPlaceCopiesOnNodesInDifferentFailureDomains() {
        register("r1a", 1, Optional.of("rack1"));
        register("r1b", 2, Optional.of("rack1"));
        register("r2a", 3, Optional.of("rack2"));
        with.spaces.create(mirrored("vm", 16, 2));
        for (Extent extent : extents()) {
            Set<String> nodes = extent.homes().stream().map(ExtentHome::node).collect(Collectors.toSet());
            assertEquals(2, nodes.size());
            assertTrue(nodes.contains("r2a"), nodes::toString);
        }
        assertTrue(refusedAs("too-few-domains", () -> with.spaces.create(mirrored("three", 1, 3))));
        assertTrue(refusedAs("no-room", () -> with.spaces.create(mirrored("more", 1, 2))), "rack2 is full");
    }

    @Test
    void shouldPreferGroupsOfHomesThatAreInUse() {
        with.membership.register("large", Fixture.node(1, 64L * PAGE));
        with.membership.register("middle", Fixture.node(2, 32L * PAGE));
        with.membership.register("small", Fixture.node(3, 16L * PAGE));
        Set<Set<String>> groups = new HashSet<>();
        // Before the third space, node small has more room left than node middle.
        for (int pages : new int[] {8, 12, 2}) {
            String name = "of-" + pages;
            with.spaces.create(mirrored(name, pages, 2));
            with.spaces
                    .extents(name)
                    .extents()
                    .forEach(extent -> groups.add(
                            extent.homes().stream().map(ExtentHome::node).collect(Collectors.toSet())));
        }
        assertEquals(Set.of(Set.of("large", "middle")), groups);
    }

    @Test
    void shouldPlaceInSmallPiecesIfWholeGroupsLeaveNoRoom() {
        threeHomesAndAWriter();
        // Two copies of 24 pages fill three pools of 16, if every pair of homes takes a third.
        with.spaces.create(mirrored("vm", 24, 2));
        assertEquals(24, extents().stream().mapToLong(Extent::count).sum());
        assertEquals(0, freeBytes("h1") + freeBytes("h2") + freeBytes("h3"));
    }

    @Test
    void shouldDropAHomeOnlyInTheEpochThatTheWriterKnows() {
        threeHomesAndAWriter();
        with.spaces.create(mirrored("vm", 4, 2));
        attach(AttachMode.EXCLUSIVE);
        List<ExtentHome> homes = extents().getFirst().homes();
        assertTrue(refusedAs("stale-epoch", () -> drop(homes.getFirst(), 1)));
        drop(homes.getFirst(), 0);
        assertEquals(List.of(homes.getLast()), extents().getFirst().homes());
        assertEquals(1, extents().getFirst().epochNumber());
        assertTrue(refusedAs("stale-epoch", () -> drop(homes.getFirst(), 0)));
        assertTrue(refusedAs("no-such-home", () -> drop(homes.getFirst(), 1)));
    }

    /** Each looks at what it must do as a home, and the writer at where its pages are. */
    @Test
    void shouldTellTheDroppedHomeAndNotTheOneThatStays() throws Exception {
        threeHomesAndAWriter();
        with.spaces.create(mirrored("vm", 4, 2));
        attach(AttachMode.EXCLUSIVE);
        List<ExtentHome> homes = extents().getFirst().homes();
        long before = with.ledger
                .events()
                .after(0, Duration.ZERO, EventFilter.ALL)
                .events()
                .getLast()
                .index();
        drop(homes.get(1), 0);
        assertEquals(
                List.of(homes.get(1).node()),
                with.ledger.events().after(before, Duration.ZERO, EventFilter.ALL).events().stream()
                        .filter(event -> event.kind() == EventKind.HOMES_CHANGED)
                        .map(event -> event.node().orElseThrow())
                        .toList());
    }

    @Test
    void shouldNeverDropTheLastHome() {
        threeHomesAndAWriter();
        with.spaces.create(mirrored("vm", 4, 2));
        attach(AttachMode.EXCLUSIVE);
        List<ExtentHome> homes = extents().getFirst().homes();
        drop(homes.getFirst(), 0);
        assertTrue(refusedAs("last-home", () -> drop(homes.getLast(), 1)));
        assertEquals(List.of(homes.getLast()), extents().getFirst().homes());
    }

    @Test
    void shouldRefuseADropOfANodeThatIsNotTheOnlyWriter() {
        threeHomesAndAWriter();
        with.spaces.create(mirrored("vm", 4, 2));
        ExtentHome home = extents().getFirst().primary();
        assertTrue(refusedAs("not-attached", () -> drop(home, 0)));
        attach(AttachMode.SHARED);
        assertTrue(refusedAs("not-attached", () -> drop(home, 0)));
    }

    @Test
    void shouldRefuseADropOfANodeWhoseOwnLeaseHasRunOut() {
        threeHomesAndAWriter();
        with.spaces.create(mirrored("vm", 4, 2));
        attach(AttachMode.EXCLUSIVE);
        ExtentHome home = extents().getFirst().primary();
        with.time.advance(Fixture.LEASE);
        with.membership.expire();
        assertTrue(refusedAs("lease-expired", () -> drop(home, 0)), "it stood still, and may have been given up");
        with.membership.heartbeat("w", new Incarnation(2));
        drop(home, 0);
        assertFalse(extents().getFirst().homes().contains(home));
    }

    @Test
    void shouldKeepFramesOfDroppedHomeUntilWriterAcknowledgesEpoch() {
        threeHomesAndAWriter();
        with.spaces.create(mirrored("vm", 4, 2));
        attach(AttachMode.EXCLUSIVE);
        ExtentHome home = extents().getFirst().primary();
        drop(home, 0);
        assertEquals(POOL - 4 * PAGE, freeBytes(home.node()));
        assertEquals(List.of(), with.zeroable(home.node()));
        with.restart();
        Drops again = new Drops(with.ledger);
        again.acknowledge("vm", "w", new WriterRequest(new Incarnation(2), List.of(new ExtentEpoch(0, 0))));
        assertEquals(List.of(), with.zeroable(home.node()), "an earlier epoch");
        again.acknowledge("vm", "w", new WriterRequest(new Incarnation(2), List.of(new ExtentEpoch(0, 1))));
        Release release = with.zeroable(home.node()).getFirst();
        assertEquals(home.offset(), release.offset());
        assertEquals(4 * PAGE, release.length());
        assertFalse(release.deleted());
        assertEquals(List.of(), extents().getFirst().droppedHomes());
        with.zeroed(home.node(), home.incarnation(), List.of(release.id()));
        assertEquals(POOL, freeBytes(home.node()));
    }

    @Test
    void shouldReleaseTheFramesOfADroppedHomeWhenTheWriterDetaches() {
        threeHomesAndAWriter();
        with.spaces.create(mirrored("vm", 4, 2));
        attach(AttachMode.EXCLUSIVE);
        ExtentHome home = extents().getFirst().primary();
        drop(home, 0);
        attachments.detach("vm", "w", new Incarnation(2), Detachment.PLAIN);
        assertEquals(1, with.zeroable(home.node()).size());
    }

    @Test
    void shouldReleaseFramesOfDroppedHomeAfterItHasCutOffDeadWriter() {
        threeHomesAndAWriter();
        with.spaces.create(mirrored("vm", 4, 2));
        attach(AttachMode.EXCLUSIVE);
        List<ExtentHome> homes = extents().getFirst().homes();
        drop(homes.getFirst(), 0);
        with.membership.deregister("w", new Incarnation(2), true);
        with.fenced(homes.getLast().node(), homes.getLast().incarnation(), "w", new Incarnation(2));
        assertEquals(List.of(), with.zeroable(homes.getFirst().node()));
        with.fenced(homes.getFirst().node(), homes.getFirst().incarnation(), "w", new Incarnation(2));
        assertEquals(1, with.zeroable(homes.getFirst().node()).size());
    }

    @Test
    void shouldLoseNoPageWhileOneOfTheHomesIsLeft() {
        threeHomesAndAWriter();
        with.spaces.create(mirrored("vm", 4, 2));
        List<ExtentHome> homes = extents().getFirst().homes();
        with.membership.deregister(homes.getFirst().node(), homes.getFirst().incarnation(), true);
        Extent left = extents().getFirst();
        assertEquals(List.of(homes.getLast()), left.homes());
        assertEquals(ExtentState.OK, left.state());
        assertNotEquals(0, left.epochNumber());
        assertEquals(ExtentState.OK, with.spaces.require("vm").state());
        with.membership.deregister(homes.getLast().node(), homes.getLast().incarnation(), true);
        assertEquals(ExtentState.LOST, extents().getFirst().state());
        assertEquals(ExtentState.LOST, with.spaces.require("vm").state());
    }

    @Test
    void shouldRefuseAnAgentThatWritesToOneHomeOnly() {
        threeHomesAndAWriter();
        with.spaces.create(mirrored("vm", 4, 2));
        AttachRequest older = new AttachRequest(
                new Incarnation(2), AttachMode.EXCLUSIVE, Optional.empty(), Optional.of(List.of("encryption")));
        assertTrue(refusedAs("not-understood", () -> attachments.attach("vm", "w", older)));
    }
}
