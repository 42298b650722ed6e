package io.farpage.it.harness;

import java.net.URI;
import java.util.LinkedHashMap;
import java.util.Map;

/** The settings of an agent of a test: a small pool, and no real-time priority. */
final class AgentSettings {
    private static final Map<String, String> SMALL = Map.of(
            "api.listen", "127.0.0.1:0",
            "pool.exported", "8MiB",
            "pool.staging", "4MiB",
            "pool.hugepages", "off",
            "shard.idle", "block",
            // Each agent has a budget of half of every CPU, so two of them could leave nothing to the test.
            "shard.realtime_priority", "0");

    private AgentSettings() {}

    /** The settings of one node. Those in {@code others} override the usual ones. */
    static Map<String, String> of(String node, URI coordinator, Map<String, String> others) {
        Map<String, String> all = new LinkedHashMap<>(SMALL);
        all.put("node.id", node);
        all.put("coordinator.url", coordinator.toString());
        all.putAll(others);
        return all;
    }
}
