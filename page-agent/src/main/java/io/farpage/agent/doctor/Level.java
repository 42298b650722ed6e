package io.farpage.agent.doctor;

import java.util.Locale;

/** How serious a finding is. Worse ones later. */
public enum Level {
    /** As it should be, or of no consequence here. */
    OK("\u001b[32m"),
    /** The agent runs, slower or without something it could have. */
    WARN("\u001b[33m"),
    /** What the configuration asks for is not available. */
    FAIL("\u001b[31m");

    private final String colour;

    Level(String colour) {
        this.colour = colour;
    }

    String colour() {
        return colour;
    }

    /** The name in reports. */
    public String word() {
        return name().toLowerCase(Locale.ROOT);
    }
}
