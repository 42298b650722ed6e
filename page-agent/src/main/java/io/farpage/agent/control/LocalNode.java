package io.farpage.agent.control;

import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.pool.PagePool;

/**
 * This node, as the parts of its control plane know it.
 *
 * @param id its name in the cluster
 * @param incarnation of this agent
 * @param pool its memory
 * @param coordinator that it belongs to
 * @param keys of its links
 */
public record LocalNode(
        String id, Incarnation incarnation, PagePool pool, CoordinatorClient coordinator, LinkKeys keys) {
    /** The pool, as extents and releases name it: the incarnation that made it. */
    public Incarnation poolId() {
        return new Incarnation(pool.id());
    }
}
