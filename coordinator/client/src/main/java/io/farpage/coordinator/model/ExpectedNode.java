package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.Optional;

/**
 * A node that an inventory foresees.
 *
 * @param id under which its agent will register
 * @param hostname that it must have, if given
 * @param address host:port that it must have, if given
 */
public record ExpectedNode(
        @JsonProperty(required = true) String id, Optional<String> hostname, Optional<String> address) {

    /** Checks the fields. */
    public ExpectedNode {
        Node.checkId(id);
        hostname.ifPresent(value -> Check.notBlank("hostname", value));
        address.ifPresent(value -> Addresses.check("address", value));
    }
}
