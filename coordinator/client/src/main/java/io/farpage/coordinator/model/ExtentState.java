package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.Locale;

/** Whether pages can still be had. */
public enum ExtentState {
    /** Its home has them. */
    @JsonProperty("ok")
    OK,
    /** Its home went away or started anew; what it held is gone. */
    @JsonProperty("lost")
    LOST;

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
