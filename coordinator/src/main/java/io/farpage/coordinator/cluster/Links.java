package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.Endpoint;
import io.farpage.coordinator.model.EndpointRequest;
import io.farpage.coordinator.model.EventKind;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.rest.ProblemException;
import java.util.List;
import java.util.Optional;

/**
 * What nodes publish for each other so that links can come up: an endpoint for each pair. Kept in memory: after a
 * restart of the coordinator nodes publish them again. Thread-safe.
 */
public final class Links {

    private final Ledger ledger;

    /** Works on a ledger. */
    public Links(Ledger ledger) {
        this.ledger = ledger;
    }

    /** Publishes an endpoint. Publishing the same endpoint again changes nothing and emits no event. */
    public Endpoint publish(String node, String peer, EndpointRequest said) {
        if (node.equals(peer)) {
            throw ProblemException.invalid("node '%s' cannot have an endpoint toward itself".formatted(node));
        }
        return ledger.change(draft -> {
            draft.requireNode(node, said.incarnation());
            draft.requireNode(peer, said.peerIncarnation());
            Optional<Endpoint> known = draft.endpoints.find(Keys.endpoint(node, peer));
            if (known.isPresent()
                    && known.get().equals(endpoint(node, peer, said, known.get().index()))) {
                return known.get();
            }
            Bounds.checkEndpoint(draft, node, said.entries().size(), known);
            long index = draft.emitSoft(EventKind.ENDPOINT_PUBLISHED, Optional.of(node), Optional.of(peer));
            Endpoint endpoint = endpoint(node, peer, said, index);
            draft.putEndpoint(endpoint);
            return endpoint;
        });
    }

    private static Endpoint endpoint(String node, String peer, EndpointRequest said, long index) {
        return new Endpoint(
                node,
                peer,
                said.incarnation(),
                said.peerIncarnation(),
                said.attempt(),
                said.answers(),
                said.entries(),
                said.trial(),
                index);
    }

    /** Withdraws an endpoint, if there is one. */
    public void withdraw(String node, String peer, Incarnation incarnation) {
        ledger.change(draft -> {
            draft.requireNode(node, incarnation);
            boolean was = draft.removeEndpoint(node, peer);
            if (was) {
                draft.emitSoft(EventKind.ENDPOINT_WITHDRAWN, Optional.of(node), Optional.of(peer));
            }
            return was;
        });
    }

    /** An endpoint, if it was published. */
    public Endpoint endpoint(String node, String peer) {
        State state = ledger.state();
        requireKnown(state, node);
        requireKnown(state, peer);
        return Optional.ofNullable(state.endpoints().get(Keys.endpoint(node, peer)))
                .orElseThrow(() -> ProblemException.notFound(
                        "node '%s' has published no endpoint toward '%s'".formatted(node, peer)));
    }

    /** All endpoints that a node has published. */
    public List<Endpoint> endpoints(String node) {
        State state = ledger.state();
        requireKnown(state, node);
        return List.copyOf(Keys.under(state.endpoints(), node).values());
    }

    /** All endpoints that other nodes have published toward a node. */
    public List<Endpoint> offers(String node) {
        State state = ledger.state();
        requireKnown(state, node);
        return List.copyOf(Keys.under(state.soft().offers(), node).values());
    }

    /** Checks that nodes are registered, before the body of the request is read. */
    public void requireKnown(String... nodes) {
        State state = ledger.state();
        for (String node : nodes) {
            requireKnown(state, node);
        }
    }

    private static void requireKnown(State state, String node) {
        if (!state.nodes().containsKey(node)) {
            throw Draft.unknownNode(node);
        }
    }
}
