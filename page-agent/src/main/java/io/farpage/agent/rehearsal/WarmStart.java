package io.farpage.agent.rehearsal;

import io.farpage.agent.config.AgentKeys;
import io.farpage.agent.config.AgentOptions;
import io.farpage.agent.config.Providers;
import io.farpage.agent.control.keeper.KeeperMode;
import io.farpage.agent.control.keeper.KeptMemory;
import io.farpage.agent.control.keeper.Standby;
import io.farpage.agent.node.Doors;
import io.farpage.agent.node.PoolKeeping;
import io.farpage.config.Config;
import io.farpage.config.ConfigException;
import io.farpage.pool.PagePool;
import io.farpage.pool.PoolConfig;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How {@code page-agent run} begins with {@code keeper.standby}: if another process is the agent of this node, this one
 * gets ready and waits for that one's end.
 */
public final class WarmStart {
    private static final Logger log = LoggerFactory.getLogger(WarmStart.class);

    private WarmStart() {}

    /**
     * Waits until this process is the agent.
     *
     * @param providers of this process
     * @param onWarm called when this process has become a standby that is warm
     * @return what it is the holder of; empty if standbys are not configured
     * @throws ConfigException if the configuration has no keeper
     * @throws io.farpage.agent.control.keeper.KeeperException if this process cannot succeed the agent, or no keeper
     *     answers
     */
    public static Optional<KeptMemory> await(Config config, Providers providers, Runnable onWarm)
            throws InterruptedException {
        if (!config.get(AgentKeys.KEEPER_STANDBY)) {
            return Optional.empty();
        }
        if (config.get(AgentKeys.KEEPER_MODE) != KeeperMode.PROCESS) {
            throw new ConfigException(
                    List.of("keeper.standby: 'true' is not valid with keeper.mode off: set keeper.mode to process"));
        }
        String node = Doors.nodeOf(config);
        PoolConfig pool = AgentOptions.pool(config, node, 0);
        Standby standby = new Standby(PoolKeeping.socket(config, node), length -> PagePool.mayHaveLength(pool, length));
        Optional<KeptMemory> claimed = standby.claim();
        if (claimed.isPresent()) {
            return claimed;
        }
        log.info("another process is the agent of '{}': this one becomes its standby", node);
        // Loads the native libraries, and reports now what is wrong with the devices.
        providers.rdma().probe();
        Rehearsal.run(config, providers);
        onWarm.run();
        KeptMemory given = standby.await();
        log.info("the agent has ended: this process takes over");
        return Optional.of(given);
    }
}
