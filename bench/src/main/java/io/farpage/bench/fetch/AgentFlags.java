package io.farpage.bench.fetch;

import io.farpage.bench.cluster.Idle;
import io.farpage.bench.node.NodeSettings;
import io.farpage.pool.hugepages.HugepageSize;
import java.util.LinkedHashMap;
import java.util.Map;

/** How the two agents of a scenario are configured, key to value. */
final class AgentFlags {
    static final String HOME = "bench-home";
    static final String NODE = "bench-node";

    private static final long UNIT = HugepageSize.TWO_MIB.bytes();
    private static final int LINKS = 4;
    private static final int MAX_READS = 255;

    private AgentFlags() {}

    /**
     * The home: its shard has nothing to do but to keep links, so it sleeps whatever the scenario; what answers requests waits
     * as the scenario says.
     */
    static Map<String, String> home(FetchPlan plan, Scenario scenario, String coordinator) {
        Map<String, String> flags = common(HOME, plan, scenario, coordinator);
        flags.put("pool.exported", Long.toString(exported(plan)));
        flags.put("pool.staging", Long.toString(UNIT));
        flags.put("shard.idle", Idle.BLOCK.label());
        flags.put("tcp.responder_idle", scenario.idle().label());
        flags.put("tcp.responder_cpu", Integer.toString(scenario.placement().homeCpu()));
        return flags;
    }

    /** The fetching node: it serves no peer, so its responders sleep. */
    static Map<String, String> node(FetchPlan plan, Scenario scenario, String coordinator, int slots) {
        Map<String, String> flags = common(NODE, plan, scenario, coordinator);
        flags.put("pool.exported", Long.toString(UNIT));
        flags.put("pool.staging", Long.toString(staging(plan, slots)));
        flags.put("shard.idle", scenario.idle().label());
        flags.put("shard.cpu", Integer.toString(scenario.placement().nodeCpu()));
        flags.put("tcp.responder_idle", Idle.BLOCK.label());
        flags.put("fetch.deadline", "5s");
        return flags;
    }

    private static Map<String, String> common(String id, FetchPlan plan, Scenario scenario, String coordinator) {
        int depth = Math.max(scenario.depth(), 16);
        Map<String, String> flags = new LinkedHashMap<>();
        flags.put("node.id", id);
        flags.put("api.listen", "127.0.0.1:0");
        flags.put("coordinator.url", coordinator);
        flags.put("transport.mode", plan.transport());
        plan.rdma().ifPresent(port -> {
            flags.put("rdma.device", port.device());
            port.gidIndex().ifPresent(index -> flags.put("rdma.gid_index", Integer.toString(index)));
        });
        flags.put("link.max", Integer.toString(LINKS));
        flags.put("link.grace", "0ms");
        flags.put("rdma.max_send_wr", Integer.toString(depth + 1));
        flags.put("rdma.max_rd_atomic", Integer.toString(Math.min(MAX_READS, depth)));
        return flags;
    }

    /** Hugepages of 2 MiB that both agents' pools take. */
    static long hugepages(FetchPlan plan, Scenario scenario) {
        int slots = Math.max(scenario.depth(), NodeSettings.FILL_WINDOW);
        long headers = 2 * UNIT;
        return (headers + exported(plan) + 2 * UNIT + staging(plan, slots)) / UNIT;
    }

    /** Hugepages of 2 MiB that the pages themselves take. */
    static long pageHugepages(FetchPlan plan) {
        return exported(plan) / UNIT;
    }

    private static long exported(FetchPlan plan) {
        return roundUp(plan.pages() * plan.pageSize());
    }

    /** The headers of peers' pools need some, and the page tool as much again. */
    private static long staging(FetchPlan plan, int slots) {
        return roundUp((long) slots * plan.pageSize()) + UNIT;
    }

    private static long roundUp(long bytes) {
        return Math.ceilDiv(bytes, UNIT) * UNIT;
    }
}
