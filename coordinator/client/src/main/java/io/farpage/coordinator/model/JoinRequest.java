package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import java.util.Optional;

/**
 * Asks for a node's first certificate.
 *
 * @param node id of the node; the token was made for it
 * @param token the join token; it is good for one certificate
 * @param signingRequest for the node's key, PKCS #10 as PEM; its names do not count
 * @param addresses under which peers reach the node; each is the one that the request comes from, or was named when the
 *     token was made
 */
public record JoinRequest(
        @JsonProperty(required = true) String node,
        @JsonProperty(required = true) String token,
        @JsonProperty(required = true) String signingRequest,
        Optional<List<String>> addresses) {

    /** Checks the id and copies the list. */
    public JoinRequest {
        Node.checkId(node);
        addresses = addresses.map(List::copyOf);
    }

    /** Without the token. */
    @Override
    public String toString() {
        return "join of node '" + node + "'";
    }
}
