package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.Optional;

/**
 * That the pages of a space are sealed by the agent whose guest uses it. The coordinator knows no key and no tag.
 *
 * @param keyId names the key, 16 hex digits; the key cannot be found from it
 * @param sealed the tags and versions that belong to the pages as they are at their homes; empty until the first guest
 *     has ended
 */
public record Encryption(@JsonProperty(required = true) String keyId, Optional<Sealed> sealed) {

    /** Checks the key id. */
    public Encryption {
        checkKeyId("keyId", keyId);
    }

    /** Makes the encryption of a space that no guest has used yet. */
    public Encryption(String keyId) {
        this(keyId, Optional.empty());
    }

    static String checkKeyId(String field, String keyId) {
        Check.hex16(field, keyId);
        return keyId;
    }

    /**
     * The file in which an agent has left tags and versions.
     *
     * @param mark names the file among all that there have been of this space, 32 hex digits
     * @param node where it was written
     */
    public record Sealed(
            @JsonProperty(required = true) String mark,
            @JsonProperty(required = true) String node) {

        /** Checks both. */
        public Sealed {
            checkMark(mark);
            Node.checkId(node);
        }

        /**
         * Checks a mark: 32 lower-case hex digits.
         *
         * @return the mark
         * @throws IllegalArgumentException if it is none
         */
        public static String checkMark(String mark) {
            return Check.hex32("mark", mark);
        }
    }
}
