package io.farpage.agent.doctor;

import io.farpage.agent.config.AgentKeys;
import io.farpage.config.Config;
import io.farpage.pool.HugepagePolicy;
import io.farpage.pool.LockPolicy;
import io.farpage.pool.hugepages.HugepageSize;
import java.util.Optional;

/**
 * What the configured pool asks of the host.
 *
 * @param bytes exported and staging part and the 2 MiB that the header has for itself
 */
record PoolNeed(
        long bytes, HugepagePolicy hugepages, HugepageSize hugepageSize, LockPolicy lock, Optional<Integer> numaNode) {
    private static final long HEADER = 2L << 20;

    static PoolNeed of(Config config) {
        return new PoolNeed(
                HEADER + config.get(AgentKeys.POOL_EXPORTED) + config.get(AgentKeys.POOL_STAGING),
                config.get(AgentKeys.POOL_HUGEPAGES),
                config.get(AgentKeys.POOL_HUGEPAGE_SIZE),
                config.get(AgentKeys.POOL_LOCK),
                config.get(AgentKeys.POOL_NUMA_NODE));
    }

    long pages() {
        return hugepageSize.pagesFor(bytes);
    }
}
