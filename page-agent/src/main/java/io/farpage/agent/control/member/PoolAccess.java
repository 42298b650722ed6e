package io.farpage.agent.control.member;

import io.farpage.coordinator.model.Hosted;

/** The access of other nodes to this node's pool. Called by one thread. */
public interface PoolAccess {
    /**
     * Revokes what attached nodes no longer need, and all access of incarnations that must be cut off; when this
     * returns, no request of them is executed. From then on each attached node is granted the spaces that it is
     * attached to as this list has them, and no other memory. Grants take time: this does not wait for them.
     *
     * @param hosted what the obeyed coordinator says now
     * @throws RuntimeException if a device does not revoke a key: to be tried again, and nothing may be acknowledged
     *     before
     */
    void follow(Hosted hosted);

    /** Revokes all access to a range of the exported frames; errors as of {@link #follow}. */
    void revoke(long offset, long length);
}
