package io.farpage.agent.control.link;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.farpage.agent.control.FailingRequests;
import io.farpage.agent.control.TestCoordinator;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Attempt;
import io.farpage.coordinator.model.EndpointRequest;
import io.farpage.coordinator.model.Gid;
import io.farpage.coordinator.model.HeaderPage;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.QpEntry;
import io.farpage.coordinator.model.RemoteAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What an agent knows of its peers, when some of its requests to the coordinator fail. */
@Tag("portable")
final class KnownPeersTest {
    private static final Incarnation PEER = new Incarnation(2);

    private final TestCoordinator coordinator;
    private final FailingRequests between;
    private final CoordinatorClient client;
    private final List<String> told = new ArrayList<>();
    private final KnownPeers peers;

    KnownPeersTest(@TempDir Path directory) throws Exception {
        coordinator = new TestCoordinator(directory);
        between = new FailingRequests(coordinator.url());
        client = new CoordinatorClient(between.url(), Duration.ofSeconds(10));
        peers = new KnownPeers("a", client, LinkMode.MESH, peer -> told.add("gone " + peer));
        coordinator.register("a", new Incarnation(1), 4096);
        coordinator.register("b", PEER, 4096);
        peers.refresh();
    }

    @AfterEach
    void close() {
        client.close();
        between.close();
        coordinator.close();
    }

    /** The list of nodes may have been made before the change. */
    @Test
    void shouldAskAgainForANodeThatChangesWhileAllNodesAreRead() throws Exception {
        between.beforeAnswering("/api/v1/nodes", () -> {
            try {
                coordinator.register("b", new Incarnation(5), 4096);
            } catch (CoordinatorException e) {
                throw new IllegalStateException(e);
            }
            peers.nodeChanged("b");
        });
        peers.resync();
        peers.refresh();
        assertEquals(new Incarnation(5), peers.view("b").orElseThrow().node().incarnation());
    }

    @Test
    void shouldNotBecomeItsOwnPeerWhenItChanges() throws Exception {
        peers.nodeChanged("a");
        peers.refresh();
        assertEquals(List.of("b"), peers.ids());
    }

    /**
     * Otherwise each agent of a large cluster would ask for the offer of each other one whenever a node comes or goes.
     */
    @Test
    void shouldAskForTheOfferOfTheChangedNodeAlone() throws Exception {
        coordinator.register("c", new Incarnation(3), 4096);
        between.fail("/api/v1/nodes/b/endpoints/a");
        peers.nodeChanged("c");
        peers.refresh();
        assertEquals(List.of("b", "c"), peers.ids());
        peers.nodeChanged("b");
        assertThrows(CoordinatorException.class, peers::refresh);
    }

    @Test
    void shouldAskForEveryOfferWhenEventsMayHaveBeenMissed() throws Exception {
        coordinator.register("c", new Incarnation(3), 4096);
        peers.nodeChanged("c");
        peers.refresh();
        for (String peer : List.of("b", "c")) {
            between.fail("/api/v1/nodes/" + peer + "/endpoints/a");
            peers.resync();
            assertThrows(CoordinatorException.class, peers::refresh);
            between.failNothing();
            peers.refresh();
        }
    }

    /** The requests of a refresh that fails are all repeated. */
    @Test
    void shouldAskForEveryOfferAfterTheNodesCouldNotBeRead() throws Exception {
        peers.resync();
        between.fail("/api/v1/nodes");
        assertThrows(CoordinatorException.class, peers::refresh);
        between.fail("/api/v1/nodes/b/endpoints/a");
        assertThrows(CoordinatorException.class, peers::refresh);
    }

    @Test
    void shouldAskForTheNodesAgainAfterThatHasFailed() throws Exception {
        coordinator.register("c", new Incarnation(3), 4096);
        peers.nodeChanged("c");
        between.fail("/api/v1/nodes");
        assertThrows(CoordinatorException.class, peers::refresh);
        between.failNothing();
        peers.refresh();
        assertEquals(List.of("b", "c"), peers.ids());
    }

    @Test
    void shouldAskForAnOfferAgainAfterThatHasFailed() throws Exception {
        peers.offerChanged("b");
        between.fail("/api/v1/nodes/b/endpoints/a");
        assertThrows(CoordinatorException.class, peers::refresh);
        assertThrows(CoordinatorException.class, peers::refresh, "and again");
        between.failNothing();
        peers.refresh();
    }

    private KnownPeers onDemand() {
        return new KnownPeers("a", client, LinkMode.DEMAND, peer -> told.add("no longer " + peer));
    }

    @Test
    void shouldAskOnDemandForTheNodesThatItFollowsAlone() throws Exception {
        coordinator.register("c", new Incarnation(3), 4096);
        KnownPeers demand = onDemand();
        demand.refresh();
        assertEquals(List.of(), demand.ids());
        demand.want("c");
        between.fail("/api/v1/nodes/b");
        demand.refresh();
        assertEquals(List.of("c"), demand.ids());
        demand.nodeChanged("b");
        demand.refresh();
        assertEquals(List.of("c"), demand.ids());
        assertEquals(Optional.of(Set.of("c")), demand.watched());
    }

    @Test
    void shouldFollowOnDemandANodeThatOffersALink() throws Exception {
        KnownPeers demand = onDemand();
        demand.refresh();
        demand.offerChanged("b");
        demand.refresh();
        assertEquals(List.of("b"), demand.ids());
        assertFalse(demand.wants("b"));
    }

    /** The events of an offer may have been missed. */
    @Test
    void shouldFindOnDemandTheOffersThatItWasNotToldOf() throws Exception {
        coordinator
                .client()
                .publishEndpoint(
                        "b",
                        "a",
                        new EndpointRequest(
                                PEER,
                                new Incarnation(1),
                                Optional.of(new Attempt(7)),
                                Optional.empty(),
                                List.of(QpEntry.tcp(
                                        0,
                                        0,
                                        17,
                                        Gid.ZERO,
                                        5,
                                        4096,
                                        "127.0.0.1",
                                        9000,
                                        new HeaderPage(new RemoteAddress(4096), 1))),
                                Optional.empty()));
        KnownPeers demand = onDemand();
        demand.refresh();
        assertEquals(List.of("b"), demand.ids());
        assertEquals(
                Optional.of(new Attempt(7)), demand.offer("b").orElseThrow().attempt());
    }

    /** A long poll that began before a node was followed tells nothing of it. */
    @Test
    void shouldAskAgainForANodeThatNoPollCovers() throws Exception {
        KnownPeers demand = onDemand();
        demand.watched();
        demand.want("c");
        demand.refresh();
        assertEquals(List.of(), demand.ids());
        coordinator.register("c", new Incarnation(3), 4096);
        demand.watched();
        demand.refresh();
        assertEquals(List.of("c"), demand.ids());
        coordinator.client().deregister("c", new Incarnation(3), true);
        demand.nodeChanged("c");
        demand.refresh();
        assertEquals(List.of("no longer c"), told);
    }
}
