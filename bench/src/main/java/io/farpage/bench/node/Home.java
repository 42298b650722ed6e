package io.farpage.bench.node;

import io.farpage.agent.data.shard.PeerLink;

/**
 * Where the pages live: in one run of bytes of one home's pool.
 *
 * @param link to the home
 * @param incarnation of the home
 * @param offset of page 0 from the start of the home's exported frames
 * @param pageSize in bytes
 */
record Home(PeerLink link, long incarnation, long offset, int pageSize) {
    long offsetOf(long page) {
        return offset + page * pageSize;
    }
}
