package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import java.util.regex.Pattern;

/**
 * Which cluster: 128 bits that the first start of a coordinator on an empty store draws.
 *
 * @param text 32 hex digits in lower case
 */
public record ClusterId(@JsonValue String text) {

    private static final Pattern FORM = Pattern.compile("[0-9a-f]{32}");

    /** Checks the form. */
    @JsonCreator
    public ClusterId {
        if (!FORM.matcher(text).matches()) {
            throw new IllegalArgumentException("cluster id '%s' is not 32 hex digits in lower case".formatted(text));
        }
    }

    @Override
    public String toString() {
        return text;
    }
}
