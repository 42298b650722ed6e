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
    SHARED;

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
