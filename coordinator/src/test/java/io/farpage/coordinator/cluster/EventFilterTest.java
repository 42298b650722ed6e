package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Event;
import io.farpage.coordinator.model.EventBatch;
import io.farpage.coordinator.model.EventKind;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.SpaceNodes;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.it.deadlines.Deadlines;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class EventFilterTest {

    private static final long POOL = 1 << 20;

    private final Fixture with = new Fixture();

    private static EventFilter of(String node, String... peers) {
        return new EventFilter(Optional.of(node), Optional.of(Set.of(peers)));
    }

    private void register(String... nodes) {
        for (String node : nodes) {
            with.membership.register(node, Fixture.node(1, POOL));
        }
    }

    private List<EventKind> kinds(long seen, EventFilter filter) throws InterruptedException {
        return with.ledger.events().after(seen, Duration.ZERO, filter).events().stream()
                .map(Event::kind)
                .toList();
    }

    @Test
    void shouldTellOfAChangedNodeItsFollowersAlone() throws InterruptedException {
        register("a", "b", "c");
        long seen = with.ledger.events().index();
        with.membership.register("a", Fixture.node(1, POOL).withStatus(NodeStatus.LEAVING));
        assertEquals(List.of(EventKind.NODE_CHANGED), kinds(seen, of("b", "a")));
        assertEquals(List.of(EventKind.NODE_CHANGED), kinds(seen, of("a")), "the node itself");
        assertEquals(List.of(), kinds(seen, of("c", "b")));
        assertEquals(
                List.of(EventKind.NODE_CHANGED),
                kinds(seen, new EventFilter(Optional.of("c"), Optional.empty())),
                "a node that follows all");
    }

    @Test
    void shouldTellOfAnEndpointThePeerAlone() throws InterruptedException {
        register("a", "b", "c");
        long seen = with.ledger.events().index();
        with.links.publish("a", "b", Fixture.endpoint(1, 1, 7));
        assertEquals(List.of(EventKind.ENDPOINT_PUBLISHED), kinds(seen, of("b")));
        assertEquals(List.of(), kinds(seen, of("c", "a", "b")));
        assertEquals(List.of(), kinds(seen, of("a")));
    }

    @Test
    void shouldTellEveryNodeOfAFailedOne() throws InterruptedException {
        register("a", "b");
        long seen = with.ledger.events().index();
        with.time.advance(Fixture.LEASE.minusSeconds(1));
        with.membership.heartbeat("b", new Incarnation(1));
        with.time.advance(Duration.ofSeconds(2));
        assertEquals(List.of("a"), with.membership.expire());
        assertTrue(kinds(seen, of("b")).contains(EventKind.NODE_FAILED));
    }

    @Test
    void shouldTellOfASpaceItsHomesAndThoseThatHaveAttachedIt() throws InterruptedException {
        register("home", "user", "other");
        long seen = with.ledger.events().index();
        with.spaces.create(new SpaceRequest(
                "vm",
                1 << 16,
                OptionalInt.empty(),
                Optional.of(List.of("home")),
                Optional.empty(),
                Optional.empty(),
                OptionalInt.empty()));
        assertTrue(kinds(seen, of("home")).contains(EventKind.SPACE_CREATED));
        assertEquals(List.of(), kinds(seen, of("user")));
        new Attachments(with.ledger, with.time)
                .attach("vm", "user", new AttachRequest(new Incarnation(1), AttachMode.EXCLUSIVE));
        long attached = with.ledger.events().index();
        with.spaces.allow("vm", new SpaceNodes(Optional.of(List.of("user"))), Optional.empty());
        assertEquals(List.of(EventKind.SPACE_ALLOWED), kinds(attached, of("user")));
        assertEquals(List.of(), kinds(attached, of("other")));
    }

    /**
     * However many other events there are meanwhile: a watcher that they do not concern is not told to read all state
     * again.
     */
    @Test
    void shouldNotAskForAResyncAfterManyEventsOfOthers() throws Exception {
        register("a", "b", "c");
        long seen = with.ledger.events().index();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Future<EventBatch> watch =
                    threads.submit(() -> with.ledger.events().after(seen, Duration.ofMinutes(1), of("c")));
            Deadlines.await("the watcher", Deadlines.SHORT)
                    .until(() -> with.ledger.events().waiting() == 1);
            for (int i = 0; i < 1_500; i++) {
                with.links.publish("a", "b", Fixture.endpoint(1, 1, i));
            }
            assertEquals(1, with.ledger.events().waiting(), "none of them woke it");
            with.links.publish("a", "c", Fixture.endpoint(1, 1, 1));
            EventBatch told = Deadlines.get("the watch", Deadlines.LONG, watch);
            assertFalse(told.resync());
            assertEquals(1, told.events().size());
            assertEquals(with.ledger.events().index(), told.index());
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {10, 100})
    void shouldWakeAsManyWatchersByALinkInALargeClusterAsInASmallOne(int nodes) throws Exception {
        for (int i = 0; i < nodes; i++) {
            register("n" + i);
        }
        long seen = with.ledger.events().index();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < nodes; i++) {
                String node = "n" + i;
                threads.execute(() -> watch(seen, node));
            }
            Deadlines.await("watchers", Deadlines.SHORT)
                    .until(() -> with.ledger.events().waiting() == nodes);
            with.links.publish("n1", "n2", Fixture.endpoint(1, 1, 1));
            with.links.publish("n2", "n1", Fixture.endpoint(1, 1, 2));
            Deadlines.await("watchers of other events", Deadlines.SHORT)
                    .until(() -> with.ledger.events().waiting() == nodes - 2);
            with.ledger.events().close();
        }
    }

    private void watch(long seen, String node) {
        try {
            with.ledger.events().after(seen, Duration.ofMinutes(1), of(node));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void shouldRefusePeersOfNoNode() {
        assertThrows(IllegalArgumentException.class, () -> new EventFilter(Optional.empty(), Optional.of(Set.of("a"))));
    }
}
