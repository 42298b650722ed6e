package io.farpage.agent.data.shard;

/**
 * Addresses and keys of a peer's pool on one of its devices.
 *
 * @param headerAddress first byte of the pool's header page, a virtual address at the peer
 * @param headerRkey the peer's key for the header page
 * @param exportedAddress first byte of the exported frames, a virtual address at the peer
 * @param exportedLength bytes of the exported frames
 * @param exportedRkey the peer's key for the exported frames
 */
public record PeerMemory(
        long headerAddress, int headerRkey, long exportedAddress, long exportedLength, int exportedRkey) {}
