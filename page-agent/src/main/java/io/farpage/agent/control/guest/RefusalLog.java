package io.farpage.agent.control.guest;

import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Logs refused handoffs of one guest, at most one a second, since a VMM may try again in a loop. Used by one thread.
 */
final class RefusalLog {
    private static final Logger log = LoggerFactory.getLogger(RefusalLog.class);
    private static final long INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(1);

    private boolean hasLogged;
    private long loggedAt;
    private long suppressed;

    void refused(String space, Path path, String reason) {
        long now = System.nanoTime();
        if (hasLogged && now - loggedAt < INTERVAL_NANOS) {
            suppressed++;
            return;
        }
        log.warn(
                "space {}: a handoff on {} was refused: {}{}",
                space,
                path,
                reason,
                suppressed == 0 ? "" : "; " + suppressed + " more since the last one that was logged");
        hasLogged = true;
        loggedAt = now;
        suppressed = 0;
    }
}
