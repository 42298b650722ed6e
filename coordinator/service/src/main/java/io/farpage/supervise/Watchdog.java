package io.farpage.supervise;

import java.time.Duration;
import java.util.Map;
import java.util.Optional;

/** The period within which the service manager wants a sign of life, as sd_watchdog_enabled(3) reads it. */
final class Watchdog {
    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(10);
    private static final Duration SHORTEST_PAUSE = Duration.ofMillis(1);

    private Watchdog() {}

    /** Empty if there is none, or if it is meant for another process. */
    static Optional<Duration> period(Map<String, String> environment) {
        String pid = environment.getOrDefault("WATCHDOG_PID", "");
        if (!pid.isEmpty() && !pid.equals(Long.toString(ProcessHandle.current().pid()))) {
            return Optional.empty();
        }
        try {
            long micros = Long.parseLong(environment.getOrDefault("WATCHDOG_USEC", "0"));
            return micros > 0 ? Optional.of(Duration.ofNanos(Math.multiplyExact(micros, 1_000L))) : Optional.empty();
        } catch (NumberFormatException | ArithmeticException e) {
            return Optional.empty();
        }
    }

    /**
     * Between two signs of life: a quarter of the period, where sd_watchdog_enabled(3) asks for at most a half; 1 ms to
     * 10 s.
     */
    static Duration pause(Duration period) {
        Duration quarter = period.dividedBy(4);
        if (quarter.compareTo(LONGEST_PAUSE) > 0) {
            return LONGEST_PAUSE;
        }
        return quarter.compareTo(SHORTEST_PAUSE) < 0 ? SHORTEST_PAUSE : quarter;
    }
}
