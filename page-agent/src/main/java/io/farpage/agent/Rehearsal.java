package io.farpage.agent;

import io.farpage.agent.config.AgentKeys;
import io.farpage.agent.config.Providers;
import io.farpage.config.Config;
import io.farpage.pool.PoolException;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An agent that runs for a moment in a standby, with a small pool of its own a coordinator that knows it alone, and without a keeper, so that the JVM has loaded
 * and linked what an agent needs.
 */
final class Rehearsal {
    private static final Logger log = LoggerFactory.getLogger(Rehearsal.class);
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private Rehearsal() {}

    /** Runs one. A rehearsal that fails costs time later, and nothing else. */
    static void run() {
        long began = System.nanoTime();
        try {
            Path directory = Files.createTempDirectory("farpage-standby");
            Preload.run();
            try (RehearsalCoordinator coordinator = new RehearsalCoordinator()) {
                Config config = config(directory.resolve("s"), coordinator.url());
                try (PageAgent agent = PageAgent.open(config, Providers.of(config), _ -> {})) {
                    awaitRegistered(agent);
                }
            } finally {
                Files.deleteIfExists(directory.resolve("s"));
                Files.delete(directory);
            }
            log.info("rehearsed the start of an agent in {} ms", (System.nanoTime() - began) / 1_000_000);
        } catch (IOException | PoolException | RuntimeException e) {
            log.warn("the rehearsal of this standby failed, so it will take over more slowly", e);
        }
    }

    private static void awaitRegistered(PageAgent agent) {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (!agent.isRegistered() && System.nanoTime() < deadline) {
            LockSupport.parkNanos(Duration.ofMillis(20).toNanos());
        }
    }

    private static Config config(Path socket, URI coordinator) {
        Map<String, String> flags = new LinkedHashMap<>();
        flags.put(AgentKeys.NODE_ID.name(), "rehearsal");
        flags.put(AgentKeys.COORDINATOR_URL.name(), coordinator.toString());
        flags.put(AgentKeys.API_SOCKET.name(), socket.toString());
        flags.put(AgentKeys.POOL_EXPORTED.name(), "2MiB");
        flags.put(AgentKeys.POOL_STAGING.name(), "2MiB");
        flags.put(AgentKeys.POOL_HUGEPAGES.name(), "off");
        flags.put(AgentKeys.TRANSPORT_MODE.name(), "tcp");
        flags.put(AgentKeys.SHARD_IDLE.name(), "block");
        flags.put(AgentKeys.SHARD_PRIORITY.name(), "0");
        return AgentKeys.SCHEMA.load(Optional.empty(), Map.of(), flags);
    }
}
