package io.farpage.progress;

/** How a progress is shown. */
enum Style {
    /** Not at all. */
    NONE,
    /** A line every few seconds. */
    LINES,
    /** One line that is redrawn in place. */
    BAR;

    /**
     * What suits where it is shown.
     *
     * @param isTerminal whether that is a terminal
     * @param isDumb whether the terminal takes no escape sequences (TERM is dumb, or not set)
     * @param isAsked whether the user has asked for it
     */
    static Style of(boolean isTerminal, boolean isDumb, boolean isAsked) {
        if (isTerminal && !isDumb) {
            return BAR;
        }
        return isAsked ? LINES : NONE;
    }
}
