package io.farpage.agent.node;

import io.farpage.config.Quantities;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.model.Drain;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Requests a drain of this node from the coordinator before its agent ends, so that no page is lost with the pool. One
 * thread.
 */
final class DrainOnStop {
    private static final Logger log = LoggerFactory.getLogger(DrainOnStop.class);
    private static final Duration POLL = Duration.ofMillis(100);

    private final CoordinatorClient coordinator;
    private final String node;
    private final Duration timeout;

    /** @param timeout after which the agent ends although the node holds pages */
    DrainOnStop(CoordinatorClient coordinator, String node, Duration timeout) {
        this.coordinator = coordinator;
        this.node = node;
        this.timeout = timeout;
    }

    /** Waits until the node holds nothing, is no longer registered, or the time is over. Logs what is left. */
    void await() {
        log.info("draining node {} before the agent ends, for {} at most", node, Quantities.format(timeout));
        long begun = System.nanoTime();
        boolean hasBegun = false;
        @Nullable String obstacle = null;
        do {
            try {
                Drain now = hasBegun ? coordinator.drained(node) : coordinator.drain(node);
                hasBegun = true;
                if (now.drained()) {
                    log.info("node {} is drained: it holds nothing", node);
                    return;
                }
                obstacle = "it holds %d bytes: %s".formatted(now.bytes(), String.join("; ", now.reasons()));
            } catch (CoordinatorRefusedException e) {
                if (e.isNotFound()) {
                    log.warn("node {} is not drained: {}", node, e.getMessage());
                    return;
                }
                obstacle = e.getMessage();
            } catch (CoordinatorException e) {
                obstacle = e.getMessage();
            }
            try {
                Thread.sleep(POLL);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return;
            }
        } while (System.nanoTime() - begun < timeout.toNanos());
        log.error(
                "node {} is not drained after {} (drain.timeout), and pages without another home are lost with it: {}",
                node,
                Quantities.format(timeout),
                obstacle);
    }
}
