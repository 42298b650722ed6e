package io.farpage.agent.control.member;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;

/** Varies pauses, so that agents that were started at once do not go on acting at once. */
final class Spread {
    private static final double LEAST = 0.8;

    private Spread() {}

    /** At random between four fifths of a pause and all of it. */
    static Duration of(Duration pause) {
        double part = ThreadLocalRandom.current().nextDouble(LEAST, 1);
        return Duration.ofNanos((long) (pause.toNanos() * part));
    }
}
