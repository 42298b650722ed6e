package io.farpage.it.deadlines;

import java.util.OptionalDouble;

/**
 * What the machine gives at a moment.
 *
 * @param nanos when it was read, of {@link System#nanoTime}
 * @param share of one CPU that a thread gets that asks for all of it, above 0 and at most 1
 * @param pressure the share of the last ten seconds in which some task of the machine waited for a CPU; empty if the
 *     kernel does not count it
 */
record Reading(long nanos, double share, OptionalDouble pressure) {
    Reading {
        if (!(share > 0 && share <= 1)) {
            throw new IllegalArgumentException("share " + share + " of a CPU is not in (0, 1]");
        }
        if (!(pressure.orElse(0) >= 0 && pressure.orElse(0) <= 1)) {
            throw new IllegalArgumentException("pressure " + pressure + " is not in [0, 1]");
        }
    }

    /** The share of time that counts for a deadline, from one part in {@link Deadline#LONGEST} to all. */
    double given() {
        double pressed = 1 / (1 + Deadline.OF_PRESSURE * pressure.orElse(0));
        return Math.clamp(Math.min(share, pressed), 1.0 / Deadline.LONGEST, 1);
    }
}
