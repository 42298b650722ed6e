package io.farpage.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.model.Endpoint;
import io.farpage.coordinator.model.EndpointRequest;
import io.farpage.coordinator.model.HostedAck;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.operation.NodeOperations;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.TwoNodes;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.function.Executable;

/** What an agent that was superseded may still say is refused. */
@Tag("portable")
@ExtendWith(TwoNodes.class)
class StaleRequestsTest {
    private static final Incarnation OLD = new Incarnation(0x0123456789abcdefL);

    @Test
    void shouldRefuseEndpointOfOldIncarnation(Cluster cluster) throws Exception {
        CoordinatorClient client = cluster.client();
        Endpoint now = client.endpoint("a", "b").orElseThrow();
        assertStale(() -> client.publishEndpoint("a", "b", request(now, OLD, now.peerIncarnation())));
        assertEquals(now, client.endpoint("a", "b").orElseThrow());
    }

    @Test
    void shouldRefuseEndpointTowardOldIncarnationOfPeer(Cluster cluster) throws Exception {
        CoordinatorClient client = cluster.client();
        Endpoint now = client.endpoint("a", "b").orElseThrow();
        assertStale(() -> client.publishEndpoint("a", "b", request(now, now.incarnation(), OLD)));
        assertEquals(now, client.endpoint("a", "b").orElseThrow());
    }

    @Test
    void shouldRefuseOtherRequestsOfOldIncarnation(Cluster cluster) {
        CoordinatorClient client = cluster.client();
        assertStale(() -> client.heartbeat("a", OLD));
        assertStale(
                () -> client.tell(NodeOperations.WITHDRAW_ENDPOINT.at("a", "b").with("incarnation", OLD)));
        assertStale(() -> client.acknowledgeHosted("a", new HostedAck(OLD, 1, List.of(), List.of(1L))));
        assertStale(() -> client.deregister("a", OLD, true));
    }

    private static EndpointRequest request(Endpoint like, Incarnation incarnation, Incarnation peerIncarnation) {
        return new EndpointRequest(
                incarnation, peerIncarnation, like.attempt(), like.answers(), like.entries(), Optional.empty());
    }

    private static void assertStale(Executable call) {
        CoordinatorRefusedException refused = assertThrows(CoordinatorRefusedException.class, call);
        assertEquals(409, refused.problem().status());
        assertTrue(refused.isStaleIncarnation(), refused.getMessage());
        assertTrue(
                refused.problem().detail().contains(OLD.toString()),
                refused.problem().detail());
    }
}
