package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.ClusterRequest;
import io.farpage.coordinator.model.Event;
import io.farpage.coordinator.model.EventKind;
import io.farpage.coordinator.model.ExpectedNode;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.coordinator.store.StoreException;
import io.farpage.rest.ProblemException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class MembershipTest {

    private static final Duration CHECK = Duration.ofMillis(500);
    private static final Duration HEARTBEAT = Duration.ofSeconds(5);

    private final Fixture with = new Fixture();

    private static void assertRefused(String word, Runnable action) {
        ProblemException refused = assertThrows(ProblemException.class, action::run);
        assertTrue(refused.problem("").is(word), () -> refused.problem("").toString());
    }

    private List<EventKind> kinds() throws InterruptedException {
        return with.ledger.events().after(0, Duration.ZERO, EventFilter.ALL).events().stream()
                .map(Event::kind)
                .toList();
    }

    private NodeStatus status(String id) {
        return with.membership.node(id).orElseThrow().status();
    }

    @Test
    void shouldFailANodeWhoseLeaseRanOutAndReviveItByItsNextHeartbeat() throws InterruptedException {
        with.membership.register("a", Fixture.node(1, 0));
        with.time.advance(Fixture.LEASE.minusNanos(1));
        assertEquals(List.of(), with.membership.expire());
        with.membership.heartbeat("a", new Incarnation(1));
        with.time.advance(Fixture.LEASE.minusNanos(1));
        assertEquals(List.of(), with.membership.expire());
        with.time.advance(Duration.ofNanos(1));
        assertEquals(List.of("a"), with.membership.expire());
        assertEquals(NodeStatus.FAILED, status("a"));
        assertTrue(with.membership.node("a").orElseThrow().leaseExpiry().isEmpty());
        assertEquals(List.of(), with.membership.expire());
        assertEquals(
                NodeStatus.ACTIVE,
                with.membership.heartbeat("a", new Incarnation(1)).status());
        assertEquals(NodeStatus.ACTIVE, status("a"));
        assertEquals(List.of(EventKind.NODE_REGISTERED, EventKind.NODE_FAILED, EventKind.NODE_REVIVED), kinds());
    }

    @ParameterizedTest
    @EnumSource(names = {"ACTIVE", "LEAVING"})
    void shouldReviveANodeWithTheStatusThatItHadSaid(NodeStatus said) {
        with.membership.register("a", Fixture.node(1, 0).withStatus(said));
        with.time.advance(Fixture.LEASE);
        assertEquals(List.of("a"), with.membership.expire());
        assertEquals(said, with.membership.heartbeat("a", new Incarnation(1)).status());
        assertEquals(said, status("a"));
    }

    @Test
    void shouldTellWhenTheFirstLeaseEnds() {
        assertEquals(Fixture.LEASE, with.membership.untilExpiry());
        with.membership.register("a", Fixture.node(1, 4096));
        with.time.advance(Duration.ofSeconds(4));
        with.membership.register("b", Fixture.node(2, 4096));
        assertEquals(Fixture.LEASE.minusSeconds(4), with.membership.untilExpiry());
        with.membership.heartbeat("a", new Incarnation(1));
        with.time.advance(Fixture.LEASE);
        assertEquals(Duration.ZERO, with.membership.untilExpiry());
        assertEquals(List.of("a", "b"), with.membership.expire());
        assertEquals(Fixture.LEASE, with.membership.untilExpiry(), "nodes that have failed have no lease");
    }

    @Test
    void shouldAddNoEventWhenARegistrationChangesNothing() throws InterruptedException {
        with.membership.register("a", Fixture.node(1, 4096));
        with.membership.register("a", Fixture.node(1, 4096));
        assertEquals(List.of(EventKind.NODE_REGISTERED), kinds());
        with.membership.register("a", Fixture.node(1, 4096).withStatus(NodeStatus.LEAVING));
        assertEquals(List.of(EventKind.NODE_REGISTERED, EventKind.NODE_CHANGED), kinds());
        assertEquals(NodeStatus.LEAVING, status("a"));
    }

    @Test
    void shouldEndAllThatAnIncarnationPublishedWhenANewOneRegisters() {
        with.membership.register("a", Fixture.node(1, 1 << 20));
        with.membership.register("b", Fixture.node(2, 0));
        with.membership.register("c", Fixture.node(3, 0));
        with.links.publish("a", "b", Fixture.endpoint(1, 2, 1));
        with.links.publish("b", "a", Fixture.endpoint(2, 1, 1));
        with.links.publish("b", "c", Fixture.endpoint(2, 3, 1));
        with.spaces.create(SpaceRequest.of("vm", 1 << 20));

        with.membership.register("a", Fixture.node(9, 1 << 20));

        assertEquals(List.of("b/c"), List.copyOf(with.ledger.state().endpoints().keySet()));
        assertEquals(ExtentState.LOST, with.spaces.require("vm").state());
        assertTrue(with.spaces.extents("vm").extents().stream().allMatch(e -> e.state() == ExtentState.LOST));
        assertRefused("stale-incarnation", () -> with.links.publish("a", "b", Fixture.endpoint(1, 2, 2)));
        assertRefused("stale-incarnation", () -> with.links.publish("b", "a", Fixture.endpoint(2, 1, 2)));
        assertRefused("stale-incarnation", () -> with.membership.heartbeat("a", new Incarnation(1)));
        assertRefused("stale-incarnation", () -> with.membership.deregister("a", new Incarnation(1), true));
        assertRefused("stale-incarnation", () -> with.membership.register("a", Fixture.node(1, 1 << 20)));
        assertEquals(1 << 20, with.freeBytes(with.membership.node("a").orElseThrow()), "a new pool is empty");
    }

    /**
     * The agent registers its pool with the devices before it reports the pool. So the pool of an incarnation cannot
     * grow or shrink.
     */
    @ParameterizedTest
    @ValueSource(longs = {0, (1 << 20) - 4096, (1 << 20) + 4096, 1 << 30})
    void shouldRefuseAPoolThatGrewOrShrankWithinAnIncarnation(long bytes) {
        with.membership.register("a", Fixture.node(1, 1 << 20));
        assertRefused("pool-changed", () -> with.membership.register("a", Fixture.node(1, bytes)));
        assertEquals(1 << 20, with.membership.node("a").orElseThrow().pool().exportedBytes());
        with.membership.register("a", Fixture.node(2, bytes));
        assertEquals(bytes, with.membership.node("a").orElseThrow().pool().exportedBytes());
    }

    @Test
    void shouldRefuseASecondAgentWithTheSameIdWhileTheFirstIsAlive() {
        with.membership.register("a", Fixture.node(1, 0, "10.0.0.1:7410"));
        ProblemException refused = assertThrows(
                ProblemException.class, () -> with.membership.register("a", Fixture.node(2, 0, "10.0.0.2:7410")));
        assertTrue(refused.problem("").is("node-conflict"));
        assertTrue(String.valueOf(refused.getMessage()).contains("10.0.0.1:7410"));
        assertTrue(String.valueOf(refused.getMessage()).contains("10.0.0.2:7410"));
        with.time.advance(Fixture.LEASE);
        with.membership.register("a", Fixture.node(2, 0, "10.0.0.2:7410"));
        assertEquals(new Incarnation(2), with.membership.node("a").orElseThrow().incarnation());
    }

    @Test
    void shouldLetASecondAgentOnTheSameHostTakeOverWhateverItsPort() {
        with.membership.register("a", Fixture.node(1, 0, "10.0.0.1:7410"));
        with.membership.register("a", Fixture.node(2, 0, "10.0.0.1:7411"));
        assertEquals(new Incarnation(2), with.membership.node("a").orElseThrow().incarnation());
        assertRefused("stale-incarnation", () -> with.membership.heartbeat("a", new Incarnation(1)));
    }

    @Test
    void shouldFailNoNodeForTheTimeInWhichTheCoordinatorStoodStill() {
        with.membership.register("a", Fixture.node(1, 0));
        with.membership.register("b", Fixture.node(2, 0));
        with.membership.expire(CHECK);
        with.time.advance(Fixture.LEASE.multipliedBy(2));

        assertEquals(List.of(), with.membership.expire(CHECK));
        assertEquals(List.of(), failedWithin(HEARTBEAT));
        with.membership.heartbeat("a", new Incarnation(1));
        assertEquals(List.of(), failedWithin(HEARTBEAT));
        assertEquals(List.of("b"), failedWithin(HEARTBEAT.multipliedBy(2).minus(CHECK)));
    }

    @Test
    void shouldAcceptHeartbeatAfterStandstillWhenLeaseHadAlmostEnded() {
        with.membership.register("a", Fixture.node(1, 0));
        assertEquals(List.of(), failedWithin(Fixture.LEASE.minus(CHECK)));
        with.time.advance(Fixture.LEASE);

        assertEquals(List.of(), failedWithin(HEARTBEAT.minus(CHECK)));
        with.membership.heartbeat("a", new Incarnation(1));
        assertEquals(NodeStatus.ACTIVE, status("a"));
        assertEquals(List.of(), failedWithin(Fixture.LEASE.minus(CHECK)));
    }

    @Test
    void shouldHoldTheIdOfANodeBeforeTheFirstCheckAfterAStandstill() {
        with.membership.register("a", Fixture.node(1, 0));
        with.membership.expire(CHECK);
        with.time.advance(Fixture.LEASE.multipliedBy(2));
        assertRefused("node-conflict", () -> with.membership.register("a", Fixture.node(2, 0, "127.0.0.2:7410")));
    }

    @Test
    void shouldFailSilentNodeThoughCoordinatorIsStarvedRepeatedly() {
        with.membership.register("a", Fixture.node(1, 0));
        List<String> failed = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            failed.addAll(with.membership.expire(CHECK));
            with.time.advance(CHECK.plusSeconds(2));
        }
        assertEquals(List.of("a"), failed);
    }

    /** The nodes that fail in a time in which the leases are checked as they should be. */
    private List<String> failedWithin(Duration time) {
        List<String> failed = new ArrayList<>(with.membership.expire(CHECK));
        for (Duration passed = Duration.ZERO; passed.compareTo(time) < 0; passed = passed.plus(CHECK)) {
            with.time.advance(CHECK);
            failed.addAll(with.membership.expire(CHECK));
        }
        return failed;
    }

    @Test
    void shouldGiveAWholeLeaseAfterARestart() {
        with.membership.register("a", Fixture.node(1, 0));
        with.time.advance(Fixture.LEASE.multipliedBy(3));
        with.restart();
        assertEquals(List.of(), with.membership.expire());
        with.time.advance(Fixture.LEASE);
        assertEquals(List.of("a"), with.membership.expire());
    }

    @Test
    void shouldKeepAFailedNodeFailedAfterARestart() {
        with.membership.register("a", Fixture.node(1, 0));
        with.time.advance(Fixture.LEASE);
        with.membership.expire();
        with.restart();
        assertEquals(NodeStatus.FAILED, status("a"));
        assertEquals(
                NodeStatus.ACTIVE,
                with.membership.heartbeat("a", new Incarnation(1)).status());
    }

    @Test
    void shouldRememberIncarnationAfterDeregistrationAndRestart() {
        with.membership.register("a", Fixture.node(1, 0));
        with.membership.deregister("a", new Incarnation(1), true);
        with.restart();
        assertTrue(with.membership.node("a").isEmpty());
        assertRefused("stale-incarnation", () -> with.membership.register("a", Fixture.node(1, 0)));
        assertRefused("not-found", () -> with.membership.heartbeat("a", new Incarnation(1)));
    }

    @Test
    void shouldNotLetThePoolChangeWithinAnIncarnation() {
        with.membership.register("a", Fixture.node(1, 8192));
        assertRefused("pool-changed", () -> with.membership.register("a", Fixture.node(1, 4096)));
    }

    @Test
    void shouldChangeNothingWhenTheStoreFails() throws InterruptedException {
        with.membership.register("a", Fixture.node(1, 1 << 20));
        State before = with.ledger.state();
        with.store.fill(true);
        assertThrows(StoreException.class, () -> with.membership.register("b", Fixture.node(2, 0)));
        assertThrows(StoreException.class, () -> with.spaces.create(SpaceRequest.of("vm", 4096)));
        assertEquals(before, with.ledger.state());
        assertEquals(List.of(EventKind.NODE_REGISTERED), kinds());
        assertTrue(with.ledger.failure().orElseThrow().contains("the disk is full"));
        with.store.fill(false);
        with.spaces.create(SpaceRequest.of("vm", 4096));
        assertTrue(with.ledger.failure().isEmpty());
    }

    @Test
    void shouldLetExactlyOneOfManyRacingRegistrationsStand() throws Exception {
        for (int round = 0; round < 50; round++) {
            String id = "n" + round;
            List<Future<Boolean>> racing = new ArrayList<>();
            try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
                for (int i = 1; i <= 8; i++) {
                    long incarnation = i;
                    racing.add(threads.submit(() -> registers(id, incarnation)));
                }
            }
            int won = 0;
            for (Future<Boolean> future : racing) {
                won += future.get() ? 1 : 0;
            }
            // each comes from another address, so the first keeps the id
            assertEquals(1, won);
            long standing = with.membership.node(id).orElseThrow().incarnation().value();
            assertEquals(
                    "10.0.0." + standing + ":1",
                    with.membership.node(id).orElseThrow().address());
            assertFalse(with.ledger.state().retired().containsKey(id));
        }
    }

    private boolean registers(String id, long incarnation) {
        try {
            with.membership.register(id, Fixture.node(incarnation, 0, "10.0.0." + incarnation + ":1"));
            return true;
        } catch (ProblemException e) {
            assertTrue(e.problem("").is("node-conflict"), () -> e.problem("").toString());
            return false;
        }
    }

    @Test
    void shouldEndInOneIncarnationWhenStartsOfTheSameAgentRace() throws Exception {
        Random random = new Random(1);
        for (int round = 0; round < 50; round++) {
            List<Long> incarnations = random.longs(6).boxed().toList();
            try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
                threads.invokeAll(incarnations.stream()
                                .map(i -> (java.util.concurrent.Callable<Object>)
                                        () -> with.membership.register("same", Fixture.node(i, 0)))
                                .toList())
                        .forEach(done -> assertEquals(Future.State.SUCCESS, done.state()));
            }
            long standing =
                    with.membership.node("same").orElseThrow().incarnation().value();
            assertTrue(incarnations.contains(standing));
            for (long other : incarnations) {
                if (other != standing) {
                    assertRefused("stale-incarnation", () -> with.membership.register("same", Fixture.node(other, 0)));
                }
            }
        }
    }

    @Test
    void shouldTakeTheInventoryOfAFormedClusterForAClosedList() {
        with.membership.register("early", Fixture.node(1, 0));
        with.membership.form(
                new ClusterRequest("lab", List.of(new ExpectedNode("a", Optional.empty(), Optional.empty()))));
        with.membership.register("a", Fixture.node(2, 0));
        assertRefused("not-in-inventory", () -> with.membership.register("b", Fixture.node(3, 0)));
        assertRefused("not-in-inventory", () -> with.membership.register("early", Fixture.node(4, 0)));
        with.membership.dissolve();
        with.membership.register("b", Fixture.node(3, 0));
    }
}
