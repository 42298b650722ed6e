package io.farpage.agent.data.shard;

/**
 * Addresses and keys of a peer's pool on one of its devices.
 *
 * @param pool incarnation of the agent that made the pool, by which extents name it
 * @param headerAddress first byte of the pool's header page, a virtual address at the peer
 * @param headerRkey the peer's key for the header page
 * @param device the peer's name of the device
 * @param granted the exported frames that the peer has granted to this node
 */
public record PeerMemory(long pool, long headerAddress, int headerRkey, String device, DeviceGrants granted) {
    /** As granted to a node that is attached to spaces, and pulls nothing. */
    public PeerMemory(long pool, long headerAddress, int headerRkey, String device, GrantedRanges attachments) {
        this(pool, headerAddress, headerRkey, device, new DeviceGrants(attachments, GrantedRanges.NOTHING));
    }

    /** Does not show the key. */
    @Override
    public String toString() {
        return "memory on " + device + ", " + granted.count() + " granted ranges";
    }
}
