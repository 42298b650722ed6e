package io.farpage.agent.doctor;

import java.util.Locale;

/** How serious a finding is. Worse ones later. */
public enum Level {
    /** As it should be, or of no consequence here. */
    OK,
    /** The agent runs, slower or without something it could have. */
    WARN,
    /** What the configuration asks for cannot be had. */
    FAIL;

    /** The name in reports. */
    public String word() {
        return name().toLowerCase(Locale.ROOT);
    }
}
