package io.farpage.rest;

import io.farpage.access.Decision;
import io.farpage.log.Printable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Logs a limited number of refusals each second, so that a client in a loop cannot fill the disk. Thread-safe. */
final class RefusalLog {

    private static final Logger LOG = LoggerFactory.getLogger(RefusalLog.class);
    private static final int PER_SECOND = 10;
    private static final long SECOND_NANOS = 1_000_000_000L;

    private long second = System.nanoTime();
    private int logged;
    private long omitted;

    synchronized void log(Decision decision) {
        long now = System.nanoTime();
        if (now - second >= SECOND_NANOS) {
            second = now;
            logged = 0;
            if (omitted > 0) {
                LOG.warn("{} more refusals were not logged", omitted);
                omitted = 0;
            }
        }
        if (logged >= PER_SECOND) {
            omitted++;
            return;
        }
        logged++;
        LOG.warn(
                "refused: {} from {}, {}: {}",
                Printable.of(decision.operation()),
                decision.address(),
                decision.identity(),
                Printable.of(decision.reason()));
    }
}
