package io.farpage.it.deadlines;

/** Where a wait reads the time and what the machine gives. */
interface Machine {
    /** As {@link System#nanoTime}. */
    long nanos();

    /** What the machine gives now. */
    Reading read();

    /** The latest reading, with the present time, if it is at most {@code nanos} old; else a new one. */
    Reading recent(long nanos);
}
