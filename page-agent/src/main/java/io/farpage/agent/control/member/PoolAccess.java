package io.farpage.agent.control.member;

import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Hosted;
import io.farpage.coordinator.model.Incarnation;

/** The access of other nodes to this node's pool. Any thread. */
public interface PoolAccess {
    /** What lies in the pool is asked for now. Not at the same time as {@link #grant}. */
    void refreshing();

    /**
     * Revokes what attached nodes no longer need. When this returns, no request of them is executed.
     *
     * @param hosted what the obeyed coordinator says now
     * @throws RuntimeException if a device does not revoke a key: to be tried again, and nothing may be acknowledged
     *     before
     */
    void revokeOthers(Hosted hosted);

    /**
     * Grants each attached node the spaces that it is attached to, and no other memory. A range that {@link #revoke}
     * has named since {@link #refreshing} is not granted, since the answer may be older than the release of the range.
     *
     * @return false to be called again soon; grants that are refused are tried again with the next refresh
     */
    boolean grant(Hosted hosted) throws CoordinatorException;

    /** Revokes all access to a range of the exported frames; errors as of {@link #revokeOthers}. */
    void revoke(long offset, long length);

    /**
     * Revokes all access of an incarnation of a node, and grants it none until {@link #lift}; errors as of
     * {@link #revokeOthers}.
     */
    void bar(String node, Incarnation incarnation);

    /** Allows access of an incarnation again. */
    void lift(String node, Incarnation incarnation);
}
