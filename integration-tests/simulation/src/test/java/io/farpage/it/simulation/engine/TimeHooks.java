package io.farpage.it.simulation.engine;

import java.time.Instant;
import java.time.InstantSource;

/**
 * Virtual time, in place of the clocks of the JDK. The parameters of all hooks are those of the methods that they
 * replace.
 */
public final class TimeHooks {
    /** The time of day at the beginning of each simulation. */
    private static final Instant BEGINNING = Instant.parse("2026-01-01T00:00:00Z");

    private TimeHooks() {}

    private static Engine engine() {
        return Engine.get();
    }

    public static long nanoTime() {
        return engine().now();
    }

    public static Instant now() {
        return at(engine().elapsed() + engine().running().clockOffset());
    }

    static Instant at(long sinceBeginning) {
        return BEGINNING.plusNanos(sinceBeginning);
    }

    public static long currentTimeMillis() {
        return now().toEpochMilli();
    }

    public static InstantSource instantSource() {
        return TimeHooks::now;
    }
}
