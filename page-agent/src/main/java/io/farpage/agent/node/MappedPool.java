package io.farpage.agent.node;

import io.farpage.agent.control.device.Transports;
import io.farpage.pool.PagePool;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The pool as a component of the agent: it is unmapped only once no device and no shard can access it. A responder
 * could otherwise write to another mapping of this process.
 */
final class MappedPool implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(MappedPool.class);

    private final PagePool pool;
    private @Nullable Transports transports;
    private @Nullable Shards shards;

    MappedPool(PagePool pool) {
        this.pool = pool;
    }

    Transports usedBy(Transports users) {
        transports = users;
        return users;
    }

    Shards usedBy(Shards users) {
        shards = users;
        return users;
    }

    @Override
    public void close() {
        if ((transports == null || transports.isReleased()) && (shards == null || shards.haveStopped())) {
            pool.close();
        } else {
            log.error("the pool stays mapped until this process ends: a device or a shard may still use it");
        }
    }
}
