package io.farpage.config;

import java.util.ArrayList;
import java.util.List;

/** The configuration cannot be used; all its faults at once. */
public final class ConfigException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    /** Serialisable, as a field of an exception must be. */
    private final ArrayList<String> problems;

    /**
     * Creates it.
     *
     * @param problems one line each: key, value, origin, what is allowed; at least one
     */
    public ConfigException(List<String> problems) {
        super(String.join(System.lineSeparator(), problems));
        this.problems = new ArrayList<>(problems);
    }

    /** One line for each fault. */
    public List<String> problems() {
        return List.copyOf(problems);
    }
}
