package io.farpage.agent.config;

import io.farpage.agent.control.guest.GuestKeeping;
import io.farpage.agent.control.guest.GuestOptions;
import io.farpage.agent.control.link.AllowedPeers;
import io.farpage.agent.control.link.LinkEncryption;
import io.farpage.agent.control.link.LinkOptions;
import io.farpage.agent.control.pins.PinPolicy;
import io.farpage.agent.control.pull.Pulls;
import io.farpage.agent.control.seal.Seals;
import io.farpage.agent.control.space.Drops;
import io.farpage.agent.data.pager.page.VictimMemory;
import io.farpage.agent.data.shard.IdleStrategy;
import io.farpage.config.Config;
import io.farpage.config.HostPort;
import io.farpage.linux.ThreadScheduling;
import io.farpage.pool.PoolConfig;
import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.Mtu;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.soft.SoftOptions;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;

/** Makes the options of each part from the configuration. */
public final class AgentOptions {
    private static final int MAX_NODE_ID = 63;

    private AgentOptions() {}

    /**
     * The node's id: as configured, or the host name.
     *
     * @throws IllegalArgumentException if the host name is not a valid node id
     */
    public static String nodeId(Config config, String hostname) {
        Optional<String> configured = config.get(AgentKeys.NODE_ID);
        if (configured.isPresent()) {
            return configured.get();
        }
        String id = hostname.toLowerCase(Locale.ROOT);
        if (id.isEmpty() || id.length() > MAX_NODE_ID || !id.matches("[a-z0-9]([a-z0-9.-]*[a-z0-9])?")) {
            throw new IllegalArgumentException(
                    "the host name '" + hostname + "' cannot be a node id (1 to 63 of a-z, 0-9, . and -); set node.id");
        }
        return id;
    }

    /** The options of the pool. */
    public static PoolConfig pool(Config config, String nodeId, long incarnation) {
        PoolConfig pool = PoolConfig.of(
                        nodeId, incarnation, config.get(AgentKeys.POOL_EXPORTED), config.get(AgentKeys.POOL_STAGING))
                .withHugepages(config.get(AgentKeys.POOL_HUGEPAGES), config.get(AgentKeys.POOL_HUGEPAGE_SIZE))
                .withLock(config.get(AgentKeys.POOL_LOCK));
        Optional<Integer> numaNode = config.get(AgentKeys.POOL_NUMA_NODE);
        return numaNode.isPresent() ? pool.withNumaNode(numaNode.get()) : pool;
    }

    /**
     * The address of the REST API that the node registers.
     *
     * @param listening the TCP address on which it is served; empty: the address of the node's pages with port 0, which
     *     says that it is not served over TCP
     */
    public static HostPort published(Config config, Optional<HostPort> listening) {
        String host = config.get(AgentKeys.API_ADVERTISE)
                .or(() -> listening.map(HostPort::host))
                .orElseGet(() -> config.get(AgentKeys.TCP_ADDRESS));
        return new HostPort(host, listening.map(HostPort::port).orElse(0));
    }

    /**
     * The options of queue pairs that carry no messages: they post no receives, move a page with one entry and send
     * nothing inline.
     */
    public static QpOptions queuePairs(Config config) {
        return new QpOptions(
                new QpOptions.Sizes(
                        config.get(AgentKeys.RDMA_MAX_SEND_WR), 1, 1, 0, config.get(AgentKeys.RDMA_MAX_RD_ATOMIC)),
                new QpOptions.Retries(
                        config.get(AgentKeys.RDMA_TIMEOUT),
                        config.get(AgentKeys.RDMA_RETRY_CNT),
                        config.get(AgentKeys.RDMA_RNR_RETRY),
                        config.get(AgentKeys.RDMA_MIN_RNR_TIMER)),
                new QpOptions.Path(
                        Mtu.ofBytes(config.get(AgentKeys.RDMA_MTU)),
                        config.get(AgentKeys.RDMA_HOP_LIMIT),
                        config.get(AgentKeys.RDMA_TRAFFIC_CLASS),
                        config.get(AgentKeys.RDMA_SERVICE_LEVEL)),
                EnumSet.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE));
    }

    /** The options of every guest. */
    public static GuestOptions guests(Config config, GuestKeeping keeping) {
        return new GuestOptions(
                config.get(AgentKeys.GUEST_DEPTH),
                config.get(AgentKeys.FETCH_DEADLINE),
                config.get(AgentKeys.GUEST_FLUSH_DEADLINE),
                config.get(AgentKeys.GUEST_PARK_AFTER),
                new PinPolicy(config.get(AgentKeys.GUEST_PINS), config.get(AgentKeys.GUEST_PIN_LINGER)),
                new Seals(seals(config)),
                new Drops.Options(
                        config.get(AgentKeys.MIRROR_HEDGE),
                        config.get(AgentKeys.MIRROR_DROP_AFTER),
                        config.get(AgentKeys.MIRROR_REPAIR_RATE)),
                keeping,
                VictimMemory.ofBytes(config.get(AgentKeys.GUEST_VICTIM_CACHE)));
    }

    /** How this node pulls extents that no agent is attached to. */
    public static Pulls.Options pulls(Config config) {
        return new Pulls.Options(config.get(AgentKeys.MIRROR_REPAIR_RATE), config.get(AgentKeys.FETCH_DEADLINE));
    }

    /** The directory with the tags of encrypted spaces; empty if this agent has no keys, and so none of them. */
    public static Optional<Path> sealDirectory(Config config) {
        boolean keys = config.get(AgentKeys.SEAL_KEYS).isPresent()
                || !config.get(AgentKeys.SEAL_KEY_COMMAND).isEmpty();
        return keys ? Optional.of(config.get(AgentKeys.SEAL_DIRECTORY)) : Optional.empty();
    }

    private static Seals.Options seals(Config config) {
        return new Seals.Options(
                config.get(AgentKeys.SEAL_DIRECTORY),
                config.get(AgentKeys.SEAL_KEYS),
                config.get(AgentKeys.SEAL_KEY_COMMAND),
                config.get(AgentKeys.SEAL_KEY_DEADLINE),
                config.get(AgentKeys.SEAL_LIBRARY),
                config.get(AgentKeys.SEAL_REQUIRE));
    }

    /** The options of links. */
    public static LinkOptions links(Config config) {
        return LinkOptions.of(
                        queuePairs(config),
                        config.get(AgentKeys.LINK_MAX),
                        config.get(AgentKeys.LINK_GRACE),
                        config.get(AgentKeys.LINK_RDMA_PAUSE))
                .withMode(config.get(AgentKeys.LINK_MODE))
                .withAllowed(new AllowedPeers(
                        Set.copyOf(config.get(AgentKeys.LINK_ALLOWED_PEERS)),
                        config.get(AgentKeys.RDMA_ALLOWED_GIDS),
                        config.get(AgentKeys.TCP_ALLOWED_ADDRESSES)));
    }

    /** Whether no link may go in the clear. */
    static boolean requiresEncryption(Config config) {
        return config.get(AgentKeys.LINK_ENCRYPTION) == LinkEncryption.REQUIRE;
    }

    /**
     * The CPU of each shard's thread, if threads are bound to CPUs.
     *
     * @throws IllegalArgumentException if there are CPUs, but not one for each shard
     */
    public static List<OptionalInt> shardCpus(Config config) {
        int shards = config.get(AgentKeys.SHARD_COUNT);
        List<Integer> cpus = config.get(AgentKeys.SHARD_CPU);
        if (cpus.isEmpty()) {
            return Collections.nCopies(shards, OptionalInt.empty());
        }
        if (cpus.size() != shards) {
            throw new IllegalArgumentException(
                    "shard.cpu names %d CPUs, %s, but shard.count is %d; name one for each shard, or leave it out"
                            .formatted(cpus.size(), cpus, shards));
        }
        return cpus.stream().map(OptionalInt::of).toList();
    }

    /**
     * The options of the fallback over TCP.
     *
     * @throws IllegalArgumentException if the address does not resolve
     */
    public static SoftOptions soft(Config config) {
        String address = config.get(AgentKeys.TCP_ADDRESS);
        InetAddress resolved;
        try {
            resolved = InetAddress.getByName(address);
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException("tcp.address '" + address + "' does not resolve; give an IP address", e);
        }
        return new SoftOptions(
                new SoftOptions.Listening(
                        new InetSocketAddress(resolved, config.get(AgentKeys.TCP_PORT)), Optional.of(resolved), 0),
                new SoftOptions.Responders(
                        idle(config),
                        config.get(AgentKeys.SHARD_SPIN),
                        config.get(AgentKeys.TCP_RESPONDER_CPU).map(List::of).orElse(List.of()),
                        config.get(AgentKeys.SHARD_PRIORITY).orElse(AUTO_PRIORITY)),
                SoftOptions.DEFAULT.admission().withAllowed(config.get(AgentKeys.TCP_ALLOWED_ADDRESSES)),
                new SoftOptions.Encryption(requiresEncryption(config), config.get(AgentKeys.LINK_SSL_LIBRARY)));
    }

    /** The lowest: above every ordinary thread, below every other real-time priority. */
    private static final int AUTO_PRIORITY = 1;

    /** How the threads of shards are scheduled. Each call makes a new one, for one thread. */
    public static ThreadScheduling shardScheduling(Config config) {
        boolean spins = config.get(AgentKeys.SHARD_IDLE) == IdleStrategy.SPIN;
        int priority = config.get(AgentKeys.SHARD_PRIORITY).orElse(spins ? 0 : AUTO_PRIORITY);
        if (priority == 0) {
            return ThreadScheduling.ordinary();
        }
        return spins ? ThreadScheduling.unbounded(priority) : ThreadScheduling.realTime(priority);
    }

    private static io.farpage.verbs.soft.IdleStrategy idle(Config config) {
        return switch (config.get(AgentKeys.TCP_RESPONDER_IDLE).orElse(config.get(AgentKeys.SHARD_IDLE))) {
            case SPIN -> io.farpage.verbs.soft.IdleStrategy.SPIN;
            case ADAPTIVE -> io.farpage.verbs.soft.IdleStrategy.ADAPTIVE;
            case BLOCK -> io.farpage.verbs.soft.IdleStrategy.BLOCK;
        };
    }

    /**
     * The coordinators' URLs.
     *
     * @throws IllegalArgumentException if one of them is not a URL
     */
    public static List<URI> coordinators(Config config) {
        return Arrays.stream(config.get(AgentKeys.COORDINATOR_URL).split(",", -1))
                .map(String::strip)
                .map(URI::create)
                .toList();
    }
}
