package io.farpage.access;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/** What a person or a program may do, from most to least; each role includes those after it. */
public enum Role {
    /** Everything but what only a node may do for itself. */
    ADMIN,
    /** Make and delete spaces, run guests, read. */
    OPERATOR,
    /** Read everything except keys. */
    VIEWER,
    /** Read metrics and health. */
    METRICS;

    /** Whether this role may do what another one may. */
    public boolean includes(Role needed) {
        return compareTo(needed) <= 0;
    }

    /** The name in lower case, as in certificates, tokens and options. */
    public String word() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * Reads a role.
     *
     * @throws IllegalArgumentException if it is none
     */
    public static Role parse(String word) {
        return Arrays.stream(values())
                .filter(role -> role.word().equals(word))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("'%s' is not a role; roles are %s"
                        .formatted(word, Arrays.stream(values()).map(Role::word).collect(Collectors.joining(", ")))));
    }
}
