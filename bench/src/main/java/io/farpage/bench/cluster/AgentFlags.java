package io.farpage.bench.cluster;

import io.farpage.pool.hugepages.HugepageSize;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * How the two agents of a scenario are configured, key to value.
 *
 * @param coordinator its URL
 * @param transport as {@code transport.mode} takes it
 * @param idle how the node's shard and the home's responders wait
 * @param bytes of all pages that the home holds
 * @param more what both are given in addition
 */
public record AgentFlags(String coordinator, String transport, Idle idle, long bytes, Map<String, String> more) {
    public static final String HOME = "bench-home";

    /** A home beside the first, of pages that have two. */
    public static final String SECOND_HOME = "bench-second-home";

    /** The node that fetches. */
    public static final String NODE = "bench-node";

    private static final long UNIT = HugepageSize.TWO_MIB.bytes();

    /** Whole hugepages of 2 MiB for {@code bytes}, in bytes. */
    public static long roundUp(long bytes) {
        return hugepages(bytes) * UNIT;
    }

    /** Hugepages of 2 MiB for {@code bytes}. */
    public static long hugepages(long bytes) {
        return Math.ceilDiv(bytes, UNIT);
    }

    /**
     * Hugepages of 2 MiB that both pools take: a header and the smallest part of each kind beside what the pages need.
     */
    public static long hugepages(long bytes, long staging) {
        return 4 + hugepages(bytes) + hugepages(staging);
    }

    /**
     * The home: its shard has nothing to do but to keep links, so it sleeps; what answers requests waits as the
     * scenario says.
     */
    public Map<String, String> home(int responderCpu) {
        Map<String, String> flags = common(HOME, roundUp(bytes), UNIT);
        flags.put("shard.idle", Idle.BLOCK.label());
        flags.put("tcp.responder_idle", idle.label());
        flags.put("tcp.responder_cpu", Integer.toString(responderCpu));
        return flags;
    }

    /** The second home of the same pages: what answers requests sleeps, since no CPU is left to spin on. */
    public Map<String, String> secondHome(int responderCpu, long ofThem) {
        Map<String, String> flags = common(SECOND_HOME, roundUp(ofThem), UNIT);
        flags.put("shard.idle", Idle.BLOCK.label());
        flags.put("tcp.responder_idle", Idle.BLOCK.label());
        flags.put("tcp.responder_cpu", Integer.toString(responderCpu));
        return flags;
    }

    /** The fetching node: it serves no peer, so its responders sleep. */
    public Map<String, String> node(int shardCpu, long staging) {
        Map<String, String> flags = common(NODE, UNIT, staging);
        flags.put("shard.idle", idle.label());
        flags.put("shard.cpu", Integer.toString(shardCpu));
        flags.put("tcp.responder_idle", Idle.BLOCK.label());
        flags.put("fetch.deadline", "5s");
        return flags;
    }

    private Map<String, String> common(String id, long exported, long staging) {
        Map<String, String> flags = new LinkedHashMap<>(more);
        flags.put("node.id", id);
        flags.put("api.listen", "127.0.0.1:0");
        flags.put("coordinator.url", coordinator);
        flags.put("transport.mode", transport);
        flags.put("link.grace", "0ms");
        flags.put("pool.exported", Long.toString(exported));
        flags.put("pool.staging", Long.toString(staging));
        return flags;
    }
}
