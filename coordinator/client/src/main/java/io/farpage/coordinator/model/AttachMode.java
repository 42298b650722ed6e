package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.Locale;

/** How a node works with a space. */
public enum AttachMode {
    /** Alone, for as long as it likes: a VM runs on the space. Others are refused, and so is the space's deletion. */
    @JsonProperty("exclusive")
    EXCLUSIVE,
    /** Beside others, page by page. The node detaches when the deletion of the space begins. */
    @JsonProperty("shared")
    SHARED,
    /**
     * With a guest, beside the guests of other members of a coherent space. The node reads and writes pages by messages
     * to their homes, and gets no keys.
     */
    @JsonProperty("member")
    MEMBER;

    /**
     * Whether a guest runs on the space. Pages may then be in the memory of that guest alone, so an attachment that
     * ends without an orderly detach leaves the space torn.
     */
    public boolean hasGuest() {
        return this != SHARED;
    }

    /** How a node is attached, for messages: "is attached exclusively". */
    public String adverb() {
        return switch (this) {
            case EXCLUSIVE -> "exclusively";
            case SHARED -> "beside others";
            case MEMBER -> "as a member";
        };
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
