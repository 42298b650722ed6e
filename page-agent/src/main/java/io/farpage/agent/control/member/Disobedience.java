package io.farpage.agent.control.member;

import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorNotObeyedException;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Handles a coordinator that is not obeyed: repeats a request that changes nothing until the coordinator is obeyed
 * again, and logs once a minute. Used by one thread.
 */
final class Disobedience {
    private static final Logger log = LoggerFactory.getLogger(Disobedience.class);
    private static final long LOG_INTERVAL_NANOS = Duration.ofMinutes(1).toNanos();

    private final CoordinatorClient coordinator;
    private final String node;
    private boolean refusing;
    private long loggedAt;

    Disobedience(CoordinatorClient coordinator, String node) {
        this.coordinator = coordinator;
        this.node = node;
    }

    /**
     * If the last answer was not obeyed, asks for this node's registration. Returns if the coordinator is obeyed now.
     */
    void probe() throws CoordinatorException {
        if (!refusing) {
            return;
        }
        var _ = coordinator.node(node);
        refusing = false;
        log.info("coordinator {} has the cluster's whole history again and is obeyed", coordinator.base());
    }

    /** An answer was not obeyed. */
    void refused(CoordinatorNotObeyedException e) {
        long now = System.nanoTime();
        if (!refusing || now - loggedAt > LOG_INTERVAL_NANOS) {
            log.error(
                    "{}; pool, links and guests stay as they are. Start the coordinator with the newest store, or with"
                            + " --rebuild",
                    e.getMessage());
            loggedAt = now;
        }
        refusing = true;
    }
}
