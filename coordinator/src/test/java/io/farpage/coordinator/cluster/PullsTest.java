package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Attached;
import io.farpage.coordinator.model.Detachment;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.GrantRequest;
import io.farpage.coordinator.model.HostedPull;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.PullReport;
import io.farpage.coordinator.model.Release;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.rest.ProblemException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Homes that join extents that no node is attached to, and copy the pages themselves. */
class PullsTest {

    private static final int PAGE = 4096;
    private static final long POOL = 16L * PAGE;
    private static final Incarnation WRITER = new Incarnation(2);

    private final Fixture with = new Fixture();
    private final Attachments attachments = new Attachments(with.ledger, with.time);
    private final Repairs repairs = new Repairs(with.ledger, with.time, new Moves(with.time), Duration.ZERO);
    private final Drains drains = new Drains(with.ledger, new Copies(with.time));
    private final Grants grants = new Grants(with.ledger);
    private final Hosting hosting = new Hosting(with.ledger, grants);
    private final Attaching attaching = new Attaching(with.ledger, grants);

    private void homes(String... nodes) {
        for (String node : nodes) {
            with.membership.register(node, Fixture.node(incarnation(node).value(), POOL));
        }
        with.membership.register("w", Fixture.node(WRITER.value(), 0));
    }

    private static Incarnation incarnation(String node) {
        return new Incarnation(10 + node.charAt(1));
    }

    private void create(int replicas, String... homes) {
        with.spaces.create(new SpaceRequest("vm", 8L * PAGE, OptionalInt.empty(), Optional.of(List.of(homes)))
                .withReplicas(replicas));
    }

    private void attach(AttachMode mode) {
        attachments.attach("vm", "w", new AttachRequest(WRITER, mode));
    }

    private Space space() {
        return with.spaces.extents("vm").space();
    }

    private Extent first() {
        return with.spaces.extents("vm").extents().getFirst();
    }

    private Optional<String> joining() {
        return first().joining().map(ExtentHome::node);
    }

    private static Set<String> names(Extent extent) {
        return extent.homes().stream().map(ExtentHome::node).collect(Collectors.toSet());
    }

    private void pulled(String node, ExtentEpoch extent, Optional<String> failure) {
        try {
            repairs.pulled(node, new PullReport(incarnation(node), space().id(), extent, failure));
        } finally {
            repairs.settled(space().id());
        }
    }

    private void expire(String... living) {
        with.time.advance(Fixture.LEASE.dividedBy(2));
        for (String node : living) {
            with.membership.heartbeat(node, incarnation(node));
        }
        with.time.advance(Fixture.LEASE.dividedBy(2).plusSeconds(1));
        with.membership.expire();
    }

    private void step() {
        with.time.advance(Duration.ofSeconds(2));
        repairs.step();
    }

    private static boolean refusedAs(String word, Runnable refused) {
        return assertThrows(ProblemException.class, refused::run).problem("").is(word);
    }

    @Test
    void shouldEmptyANodeOfASpaceThatNoNodeIsAttachedTo() {
        homes("h1", "h2");
        create(1, "h1");
        drains.begin("h1");
        repairs.step();
        assertEquals(Optional.of("h2"), joining());
        assertTrue(
                drains.of("h1").reasons().getFirst().contains("1 are being copied by the nodes that they move to"),
                () -> drains.of("h1").toString());
        pulled("h2", ExtentEpoch.of(first()), Optional.empty());
        assertEquals(Set.of("h2"), names(first()));
        step();
        List<Release> left = with.zeroable("h1");
        assertEquals(1, left.size(), "no node can write to the frames, so they are zeroed");
        assertFalse(drains.of("h1").drained());
        with.zeroed("h1", incarnation("h1"), List.of(left.getFirst().id()));
        assertTrue(drains.of("h1").drained());
    }

    @Test
    void shouldKeepFramesOfReplacedHomeUntilPromotionIsRecorded() {
        homes("h1", "h2");
        create(1, "h1");
        drains.begin("h1");
        repairs.step();
        repairs.pulled(
                "h2", new PullReport(incarnation("h2"), space().id(), ExtentEpoch.of(first()), Optional.empty()));
        step();
        assertEquals(List.of(), with.zeroable("h1"), "a rebuild may still need them");
        repairs.settled(space().id());
        step();
        assertEquals(1, with.zeroable("h1").size());
    }

    @Test
    void shouldGiveBackTheFramesOfAReplacedHomeAfterARestart() {
        homes("h1", "h2");
        create(1, "h1");
        drains.begin("h1");
        repairs.step();
        repairs.pulled(
                "h2", new PullReport(incarnation("h2"), space().id(), ExtentEpoch.of(first()), Optional.empty()));
        new Repairs(with.ledger, with.time, new Moves(with.time), Duration.ZERO).step();
        assertEquals(1, with.zeroable("h1").size());
    }

    @Test
    void shouldReplaceAHomeWhoseLeaseHasRunOut() {
        homes("h1", "h2", "h3");
        create(2, "h1", "h2");
        expire("h2", "h3");
        step();
        assertEquals(Optional.of("h3"), joining());
        pulled("h3", ExtentEpoch.of(first()), Optional.empty());
        assertEquals(Set.of("h2", "h3"), names(first()));
        assertEquals(0, Backlog.bytes(with.ledger.state()));
    }

    @Test
    void shouldNotPullAPageWhoseOnlyHomeHasFailed() {
        homes("h1", "h2");
        create(1, "h1");
        expire("h2");
        step();
        assertEquals(Optional.empty(), joining());
        assertTrue(
                drains.of("h1").reasons().stream().anyMatch(text -> text.contains("no home of the pages is alive")),
                () -> drains.of("h1").toString());
    }

    @Test
    void shouldEndThePullWhenAGuestAttaches() {
        homes("h1", "h2", "h3");
        create(1, "h1");
        drains.begin("h1");
        repairs.step();
        ExtentEpoch pulled = ExtentEpoch.of(first());
        String puller = joining().orElseThrow();
        attach(AttachMode.EXCLUSIVE);
        assertEquals(Optional.empty(), joining());
        assertEquals(1, with.zeroable(puller).size(), "its frames hold pages, and are zeroed");
        assertEquals(List.of(), hosting.of(puller).pulls());
        assertEquals(List.of(), hosting.of("h1").pulls());
        assertTrue(refusedAs("stale-epoch", () -> pulled(puller, pulled, Optional.empty())));
        step();
        assertTrue(
                refusedAs(
                        "not-begun", () -> pulled(joining().orElseThrow(), ExtentEpoch.of(first()), Optional.empty())),
                "the agent of the guest does not note what it writes yet");
        attachments.detach("vm", "w", WRITER, Detachment.PLAIN);
        assertTrue(refusedAs("stale-epoch", () -> pulled(puller, pulled, Optional.empty())));
        assertEquals(Set.of("h1"), names(first()));
    }

    @Test
    void shouldEndThePullWhenThePageToolAttaches() {
        homes("h1", "h2");
        create(1, "h1");
        drains.begin("h1");
        repairs.step();
        attach(AttachMode.SHARED);
        assertEquals(Optional.empty(), joining());
        step();
        assertEquals(Optional.empty(), joining());
        assertTrue(
                drains.of("h1").reasons().getFirst().contains("page tool"),
                () -> drains.of("h1").toString());
    }

    @Test
    void shouldNotPullWhileTheHomesCutAWriterOff() {
        homes("h1", "h2", "h3");
        create(2, "h1", "h2");
        attach(AttachMode.EXCLUSIVE);
        with.membership.register("w", Fixture.node(99, 0));
        drains.begin("h1");
        step();
        assertEquals(Optional.empty(), joining(), "WRITEs of the guest may be under way");
        for (String home : List.of("h1", "h2")) {
            with.fenced(home, incarnation(home), "w", WRITER);
        }
        step();
        assertEquals(Optional.of("h3"), joining());
        assertTrue(space().torn().isPresent());
        pulled("h3", ExtentEpoch.of(first()), Optional.empty());
        assertEquals(Set.of("h2", "h3"), names(first()));
        assertTrue(space().torn().isPresent(), "a torn space stays torn");
    }

    @Test
    void shouldChooseAnotherNodeWhenOneThatPullsFails() {
        homes("h1", "h2", "h3");
        create(1, "h1");
        drains.begin("h1");
        repairs.step();
        String puller = joining().orElseThrow();
        String other = puller.equals("h2") ? "h3" : "h2";
        expire("h1", other);
        step();
        assertEquals(Optional.empty(), joining().filter(puller::equals));
        step();
        assertEquals(Optional.of(other), joining());
        assertEquals(1, with.zeroable(puller).size());
        pulled(other, ExtentEpoch.of(first()), Optional.empty());
        assertEquals(Set.of(other), names(first()));
    }

    /** It was to replace a home that has failed, so no live one is lost with it. */
    @Test
    void shouldChooseAnotherNodeWhenBothAHomeAndItsReplacementFail() {
        homes("h1", "h2", "h3", "h4");
        create(2, "h1", "h2");
        expire("h2", "h3", "h4");
        step();
        String puller = joining().orElseThrow();
        String other = puller.equals("h3") ? "h4" : "h3";
        expire("h2", other);
        step();
        step();
        assertEquals(Optional.of(other), joining());
        assertEquals(1, with.zeroable(puller).size());
    }

    @Test
    void shouldChooseAnotherNodeWhenOneThatPullsGivesUp() {
        homes("h1", "h2", "h3");
        create(1, "h1");
        drains.begin("h1");
        repairs.step();
        String puller = joining().orElseThrow();
        pulled(puller, ExtentEpoch.of(first()), Optional.of("no link"));
        assertEquals(Optional.empty(), joining());
        step();
        assertTrue(joining().filter(node -> !node.equals(puller)).isPresent());
    }

    @Test
    void shouldGoOnAfterTheCoordinatorWasStartedAgain() {
        homes("h1", "h2");
        create(1, "h1");
        drains.begin("h1");
        repairs.step();
        with.restart();
        Repairs restarted = new Repairs(with.ledger, with.time, new Moves(with.time), Duration.ZERO);
        restarted.step();
        assertEquals(Optional.of("h2"), joining());
        restarted.pulled(
                "h2", new PullReport(incarnation("h2"), space().id(), ExtentEpoch.of(first()), Optional.empty()));
        assertEquals(Set.of("h2"), names(first()));
    }

    @Test
    void shouldTakeTheWordOfTheNodeThatJoinsAlone() {
        homes("h1", "h2", "h3");
        create(1, "h1");
        drains.begin("h1");
        repairs.step();
        String puller = joining().orElseThrow();
        String other = puller.equals("h2") ? "h3" : "h2";
        assertTrue(refusedAs("no-such-home", () -> pulled(other, ExtentEpoch.of(first()), Optional.empty())));
        assertTrue(refusedAs("no-such-home", () -> pulled("h1", ExtentEpoch.of(first()), Optional.of("no"))));
        assertTrue(refusedAs(
                "stale-incarnation",
                () -> repairs.pulled(
                        puller,
                        new PullReport(new Incarnation(1), space().id(), ExtentEpoch.of(first()), Optional.empty()))));
        assertEquals(Optional.of(puller), joining());
    }

    @Test
    void shouldHandOnTheGrantOfAPullAsLongAsThePullLasts() {
        homes("h1", "h2");
        create(1, "h1");
        drains.begin("h1");
        repairs.step();
        ExtentEpoch extent = ExtentEpoch.of(first());
        long id = space().id();
        HostedPull told = hosting.of("h1").pulls().getFirst();
        assertEquals(new HostedPull(id, extent, "h2", incarnation("h2"), 0), told);
        GrantRequest sealed = new GrantRequest(incarnation("h1"), incarnation("h2"), 0, 1, "c2VhbGVk");
        grants.publish("h1", id, "h2", extent, sealed);
        assertEquals(1, hosting.of("h1").pulls().getFirst().granted());
        Attached pulling = attaching.of("h2", 0);
        assertEquals(List.of(new Attached.Pull(id, extent, List.of("h1"))), pulling.pulls());
        assertEquals("c2VhbGVk", pulling.grants().getFirst().sealed());
        assertEquals(Optional.of(extent), pulling.grants().getFirst().pull());
        assertEquals(List.of("h1"), pulling.homes().stream().map(Node::id).toList());
        assertTrue(refusedAs("no-pull", () -> grants.publish("h1", id, "w", extent, wrong("h1"))));
        assertTrue(refusedAs("no-pull", () -> grants.publish("h2", id, "h2", extent, wrong("h2"))));
        attach(AttachMode.EXCLUSIVE);
        assertEquals(List.of(), attaching.of("h2", 0).pulls());
        assertEquals(List.of(), attaching.of("h2", 0).grants());
        attachments.detach("vm", "w", WRITER, Detachment.PLAIN);
        with.time.advance(Repairs.PAUSE);
        step();
        assertEquals(
                List.of(new Attached.Pull(id, ExtentEpoch.of(first()), List.of("h1"))),
                attaching.of("h2", 0).pulls());
        assertEquals(List.of(), attaching.of("h2", 0).grants(), "the keys of the pull before are dead");
        assertTrue(refusedAs("no-pull", () -> grants.publish("h1", id, "h2", extent, sealed)));
    }

    private static GrantRequest wrong(String home) {
        return new GrantRequest(incarnation(home), home.equals("h1") ? WRITER : incarnation("h2"), 0, 1, "c2VhbGVk");
    }
}
