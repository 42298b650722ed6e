package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * The keys of a space's ranges for one attached node, the body of {@code PUT /nodes/{id}/grants/{space}/{node}}.
 *
 * @param homeIncarnation of the node that hosts the space
 * @param incarnation of the node that is attached
 * @param attachment id of the attachment that the home has read of; 0 of a grant for a pull
 * @param version greater than that of all that this process of the home has published before
 * @param sealed ranges and keys, encrypted by the home so that only that node opens them, in base64; the coordinator
 *     cannot read them
 */
public record GrantRequest(
        @JsonProperty(required = true) Incarnation homeIncarnation,
        @JsonProperty(required = true) Incarnation incarnation,
        @JsonProperty(required = true) long attachment,
        @JsonProperty(required = true) long version,
        @JsonProperty(required = true) String sealed) {
    /** Characters of the longest sealed part: some 1500 ranges on two devices. */
    public static final int MAX_SEALED = 512 << 10;

    /** Checks the length. */
    public GrantRequest {
        Check.range("sealed: characters", sealed.length(), 1, MAX_SEALED);
    }
}
