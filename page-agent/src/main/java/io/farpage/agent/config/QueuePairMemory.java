package io.farpage.agent.config;

import com.sun.management.HotSpotDiagnosticMXBean;
import io.farpage.agent.control.device.TransportMode;
import io.farpage.agent.data.shard.MessageMemory;
import io.farpage.config.Config;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.ibverbs.IbverbsProvider;
import io.farpage.verbs.soft.SoftProvider;
import java.lang.management.ManagementFactory;
import java.util.Locale;
import java.util.Optional;

/**
 * The native memory of the queue pairs of links, and what the JVM permits. At the limit the JVM collects garbage on the
 * thread that wants more, and then throws an OutOfMemoryError.
 *
 * @param purpose the settings that the need comes from
 * @param needed bytes, if the agent has all links that it may have
 * @param permitted bytes of native memory that this process may allocate, for queue pairs and all else
 */
public record QueuePairMemory(String purpose, long needed, long permitted) {
    private static final String FLAG = "MaxDirectMemorySize";

    /** The need of a configuration in this JVM. */
    public static QueuePairMemory of(Config config) {
        return of(config, permittedHere());
    }

    static QueuePairMemory of(Config config, long permitted) {
        QpOptions options = AgentOptions.queuePairs(config);
        TransportMode mode = config.get(AgentKeys.TRANSPORT_MODE);
        boolean messages = config.get(AgentKeys.COHERENCE_PEERS) > 0;
        long ofFirstShard = bytes(mode, messages ? MessageMemory.enlarged(options) : options);
        int shards = config.get(AgentKeys.SHARD_COUNT);
        return new QueuePairMemory(
                "link.max %d peers at each of shard.count %d shards with rdma.max_send_wr %d"
                        .formatted(config.get(AgentKeys.LINK_MAX), shards, config.get(AgentKeys.RDMA_MAX_SEND_WR)),
                (ofFirstShard + (shards - 1) * bytes(mode, options))
                        * AgentOptions.links(config).queuePairsOfAShard(),
                permitted);
    }

    private static long bytes(TransportMode mode, QpOptions queuePair) {
        return (mode == TransportMode.RDMA ? 0 : SoftProvider.nativeBytes(queuePair))
                + (mode == TransportMode.TCP ? 0 : IbverbsProvider.nativeBytes(queuePair));
    }

    /** Without the flag the JVM permits as much as the largest heap. */
    private static long permittedHere() {
        String flag = ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class)
                .getVMOption(FLAG)
                .getValue();
        long set = Long.parseLong(flag);
        return set > 0 ? set : Runtime.getRuntime().maxMemory();
    }

    /** Need and limit; if a quarter of the limit would not be left for all else, also what to change. */
    public Optional<String> shortage() {
        if (needed <= permitted / 4 * 3) {
            return Optional.empty();
        }
        return Optional.of(
                ("%s may need %s of native memory, and -XX:%s permits %s; a quarter of that is kept for all else; lower"
                                + " one of these settings, or start the JVM with %s")
                        .formatted(purpose, mebibytes(needed), FLAG, mebibytes(permitted), flag()));
    }

    /** The flag of the JVM with which the memory suffices. */
    public String flag() {
        return "-XX:%s=%dm".formatted(FLAG, Math.ceilDiv(needed, 3L << 20) * 4);
    }

    private static String mebibytes(long bytes) {
        return String.format(Locale.ROOT, "%d MiB", Math.ceilDiv(bytes, 1L << 20));
    }

    @Override
    public String toString() {
        return "%s of native memory for queue pairs, %s permitted".formatted(mebibytes(needed), mebibytes(permitted));
    }
}
