package io.farpage.bench.fault;

import io.farpage.bench.cluster.Idle;
import io.farpage.pool.hugepages.HugepageSize;
import java.util.LinkedHashMap;
import java.util.Map;

/** How the two agents are configured, key to value. */
final class FaultFlags {
    static final String HOME = "bench-home";
    static final String NODE = "bench-node";

    private static final long UNIT = HugepageSize.TWO_MIB.bytes();
    private static final long STAGING = 8 * UNIT;

    private FaultFlags() {}

    /** The home: its shard has nothing to do but to keep links, so it sleeps; what answers requests waits as the scenario says. */
    static Map<String, String> home(FaultPlan plan, Idle idle, FaultPlacement placement, String coordinator) {
        Map<String, String> flags = common(HOME, plan, coordinator);
        flags.put("pool.exported", Long.toString(exported(plan)));
        flags.put("pool.staging", Long.toString(UNIT));
        flags.put("shard.idle", Idle.BLOCK.label());
        flags.put("tcp.responder_idle", idle.label());
        flags.put("tcp.responder_cpu", Integer.toString(placement.homeCpu()));
        return flags;
    }

    /** The node whose agent resolves faults: it serves no peer, so its responders sleep. */
    static Map<String, String> node(FaultPlan plan, Idle idle, FaultPlacement placement, String coordinator) {
        Map<String, String> flags = common(NODE, plan, coordinator);
        flags.put("pool.exported", Long.toString(UNIT));
        flags.put("pool.staging", Long.toString(STAGING));
        flags.put("shard.idle", idle.label());
        flags.put("shard.cpu", Integer.toString(placement.handlerCpu()));
        flags.put("tcp.responder_idle", Idle.BLOCK.label());
        flags.put("fetch.deadline", "5s");
        return flags;
    }

    private static Map<String, String> common(String id, FaultPlan plan, String coordinator) {
        Map<String, String> flags = new LinkedHashMap<>();
        flags.put("node.id", id);
        flags.put("api.listen", "127.0.0.1:0");
        flags.put("coordinator.url", coordinator);
        flags.put("transport.mode", plan.transport());
        flags.put("link.grace", "0ms");
        return flags;
    }

    /** Hugepages of 2 MiB that both agents' pools and the baseline's pages take. */
    static long hugepages(FaultPlan plan) {
        long headers = 2;
        return headers + 2 * exported(plan) / UNIT + 2 + STAGING / UNIT;
    }

    private static long exported(FaultPlan plan) {
        return Math.ceilDiv(plan.bytes(), UNIT) * UNIT;
    }
}
