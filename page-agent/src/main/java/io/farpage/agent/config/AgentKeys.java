package io.farpage.agent.config;

import io.farpage.agent.control.device.TransportMode;
import io.farpage.agent.control.keeper.KeeperMode;
import io.farpage.agent.control.link.LinkEncryption;
import io.farpage.agent.control.link.LinkMode;
import io.farpage.agent.control.link.LinkOptions;
import io.farpage.agent.control.pins.PinPolicy;
import io.farpage.agent.data.shard.IdleStrategy;
import io.farpage.audit.AuditKeys;
import io.farpage.config.HostPort;
import io.farpage.config.Key;
import io.farpage.config.Schema;
import io.farpage.config.ValueType;
import io.farpage.config.ValueTypes;
import io.farpage.limit.LimitKeys;
import io.farpage.log.LogKeys;
import io.farpage.pool.HugepagePolicy;
import io.farpage.pool.LockPolicy;
import io.farpage.pool.hugepages.HugepageSize;
import io.farpage.tls.TlsKeys;
import io.farpage.trace.TraceKeys;
import io.farpage.verbs.GidRange;
import io.farpage.verbs.Mtu;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/** Every key of {@code page-agent}. */
public final class AgentKeys {
    public static final Key<Optional<String>> NODE_ID = Key.optional(
            "node.id",
            ValueTypes.matching("[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?", "1 to 63 of a-z, 0-9, . and -"),
            "Name of this node in the cluster. The one in `tls.certificate` if left out, or the host name.");
    public static final Key<Optional<String>> NODE_DOMAIN = Key.optional(
            "node.domain",
            ValueTypes.matching("[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?", "1 to 63 of a-z, 0-9, . and -"),
            "Failure domain, such as a rack: copies of a page are placed in different ones. The node itself if left"
                    + " out.");
    public static final Key<Optional<HostPort>> API_LISTEN = Key.optional(
            "api.listen",
            ValueTypes.hostPort(),
            "TCP address on which the agent serves its REST API besides its Unix socket, such as 127.0.0.1:7401 for"
                    + " Prometheus. Port 0 lets the system choose. None if left out.");
    public static final Key<Optional<Path>> API_SOCKET = Key.optional(
            "api.socket",
            ValueTypes.path(),
            "Unix socket on which the agent serves its REST API, at most 107 bytes long. If left out: `NODE.sock` in"
                    + " `/run/farpage` if the agent runs as root, otherwise in `$XDG_RUNTIME_DIR/farpage`, or in"
                    + " `/tmp/farpage-UID` without that.");
    public static final Key<String> API_SOCKET_MODE = Key.of(
            "api.socket_mode",
            ValueTypes.matching("0?[0-7]{3}", "three octal digits, such as 0660"),
            "0600",
            "Permissions of that socket: users that may write to it may connect.");
    public static final Key<Optional<String>> API_SOCKET_OWNER = Key.optional(
            "api.socket_owner",
            ValueTypes.text(),
            "Owner of that socket as `USER`, `USER:GROUP` or `:GROUP`, by name or number; the agent's user and group if"
                    + " left out.");
    public static final Key<List<String>> API_SOCKET_ROLES = Key.of(
            "api.socket_roles",
            ValueTypes.listOf(ValueTypes.matching(
                    ":?[^=:]+=(admin|operator|viewer|metrics)",
                    "USER=ROLE or :GROUP=ROLE, with the role admin, operator, viewer or metrics")),
            "",
            "What users may do that connect to that socket, such as `prometheus=metrics,:kvm=operator`; the highest of"
                    + " several roles counts. Root and the agent's user may do everything, users without a role"
                    + " nothing.");
    public static final Key<Optional<String>> API_ADVERTISE = Key.optional(
            "api.advertise",
            ValueTypes.text(),
            "Host name or address under which others reach the REST API, if it is not the one in `api.listen`.");

    public static final Key<List<String>> API_NAMES = Key.texts(
            "api.names",
            "",
            "Host names under which clients reach the REST API without TLS, beside addresses, `localhost` and this"
                    + " host's own name. Requests with another Host are refused, since a web page may have sent them.");

    public static final Key<Boolean> TLS_RENEW = Key.bool(
            "tls.renew",
            false,
            "Whether the agent asks the coordinator for a new certificate after two thirds of its certificate's life,"
                    + " for the same key. The coordinator needs `tls.ca_key`.");

    public static final Key<String> COORDINATOR_URL = Key.text(
            "coordinator.url",
            "http://127.0.0.1:7400",
            "Where the coordinator is; https:// where it has certificates. With several coordinators, all their URLs,"
                    + " separated by commas.");
    public static final Key<Duration> COORDINATOR_TIMEOUT =
            Key.duration("coordinator.timeout", "5s", "100ms", "1m", "How long one call to the coordinator may take.");

    public static final Key<Long> POOL_EXPORTED =
            Key.bytes("pool.exported", "256MiB", "2MiB", "16TiB", "Memory for other nodes' pages; a multiple of 2MiB.");
    public static final Key<Long> POOL_STAGING = Key.bytes(
            "pool.staging", "32MiB", "2MiB", "64GiB", "Memory that fetched pages land in first; a multiple of 2MiB.");
    public static final Key<HugepagePolicy> POOL_HUGEPAGES = Key.choice(
            "pool.hugepages",
            HugepagePolicy.PREFER,
            "`require`: hugetlb pages only. `prefer`: ordinary pages if there are too few, and the log says how many"
                    + " are missing. `off`: ordinary pages.");
    public static final Key<HugepageSize> POOL_HUGEPAGE_SIZE =
            Key.of("pool.hugepage_size", hugepageSize(), "2MiB", "Size of a hugepage.");
    public static final Key<LockPolicy> POOL_LOCK =
            Key.choice("pool.lock", LockPolicy.PREFER, "Whether the pool must be locked in memory (mlock).");
    public static final Key<Optional<Integer>> POOL_NUMA_NODE = Key.optional(
            "pool.numa_node",
            ValueTypes.integer(0, 1023),
            "NUMA node that the pool is bound to, such as the device's.");

    public static final Key<KeeperMode> KEEPER_MODE = Key.choice(
            "keeper.mode",
            KeeperMode.OFF,
            "Where the pool, and what guests need, outlive the agent's process. `off`: nowhere; pages in the pool of an"
                    + " agent that is killed are lost. `process`: at the `page-agent keeper` that listens at"
                    + " `keeper.socket`; an agent that is killed and started again has all pages, and serves its guests"
                    + " again.");
    public static final Key<Optional<Path>> KEEPER_SOCKET = Key.optional(
            "keeper.socket",
            ValueTypes.path(),
            "Unix socket of this node's keeper, at most 107 bytes long. If left out: `NODE.keeper` in the directory of"
                    + " `api.socket`'s default.");

    public static final Key<Boolean> KEEPER_STANDBY = Key.bool(
            "keeper.standby",
            false,
            "Whether `page-agent run` becomes a warm standby while another process of this node is the agent, instead"
                    + " of ending with an error. A standby has loaded its classes and checked its configuration, and"
                    + " takes over at once when the agent is killed or hands over (`page-agent upgrade`). Run two such"
                    + " services with the same configuration. Needs `keeper.mode` `process`.");

    public static final Key<Optional<Path>> MOUNT_SOCKET = Key.optional(
            "mount.socket",
            ValueTypes.path(),
            "Unix socket on which `page-agent mount` passes its file system to this node's agent, at most 107 bytes"
                    + " long. If left out: `NODE.mounts` beside `api.socket`.");

    public static final Key<TransportMode> TRANSPORT_MODE = Key.choice(
            "transport.mode",
            TransportMode.AUTO,
            "`auto`: RDMA where both ends have it, TCP elsewhere. `rdma`: the agent does not start without RDMA. `tcp`:"
                    + " TCP only.");

    public static final Key<IdleStrategy> SHARD_IDLE = Key.choice(
            "shard.idle",
            IdleStrategy.ADAPTIVE,
            "What threads that move pages do when idle: `spin` takes a CPU each, `block` sleeps at once, `adaptive`"
                    + " spins for `shard.spin` and then sleeps.");
    public static final Key<Duration> SHARD_SPIN =
            Key.duration("shard.spin", "50us", "0ns", "1s", "How long `adaptive` spins before it sleeps.");
    public static final Key<Integer> SHARD_COUNT = Key.integer(
            "shard.count",
            1,
            1,
            LinkOptions.MAX_SHARDS,
            "Threads that move pages. Guests are spread over them, and so are the parts of a guest whose VMM hands over"
                    + " several userfaultfds.");
    public static final Key<List<Integer>> SHARD_CPU = Key.of(
            "shard.cpu",
            ValueTypes.listOf(ValueTypes.integer(0, 1023)),
            "",
            "CPUs that the threads that move pages are bound to: one for each of `shard.count`, such as `2,3`, or"
                    + " none.");

    public static final Key<Optional<Integer>> SHARD_PRIORITY = Key.of(
            "shard.realtime_priority",
            ValueTypes.orWord("auto", ValueTypes.integer(0, 99)),
            "auto",
            "Real-time priority (SCHED_FIFO) of threads that move pages, which keeps faults short on a busy host."
                    + " `auto`: 1 for threads that do not spin, where permitted. 0: none. Threads that do not spin"
                    + " leave half of every CPU to others; a thread that spins takes the priority only if one is given."
                    + " Several agents on one host have a budget each: set 0, as `farpage up --local` does.");

    public static final Key<Integer> GUEST_DEPTH =
            Key.integer("guest.depth", 64, 4, 4096, "Transfers under way at once for each pager of a guest.");
    public static final Key<PinPolicy.Mode> GUEST_PINS = Key.choice(
            "guest.pins",
            PinPolicy.Mode.HOLD,
            "What a guest gets if its VMM may pin its memory (O_DIRECT, VFIO, RDMA). `hold`: pages that may be pinned"
                    + " stay resident, beyond the limit if need be. `refuse`: the handoff is refused.");
    public static final Key<Duration> GUEST_PIN_LINGER = Key.duration(
            "guest.pin_linger",
            "10s",
            "0ns",
            "10m",
            "How long pages stay resident after the last descriptor that may pin them was closed: I/O may still be"
                    + " under way.");
    public static final Key<Duration> GUEST_FLUSH_DEADLINE = Key.duration(
            "guest.flush_deadline",
            "10m",
            "5s",
            "1d",
            "How long the unwritten pages of a VMM that has ended are kept while none of them reaches a home; then they"
                    + " are discarded.");
    public static final Key<Duration> GUEST_PARK_AFTER = Key.duration(
            "guest.park_after",
            "0ns",
            "0ns",
            "30d",
            "How long a guest has to be idle (two faults a second at most, and 5 % of a processor in its VMM) until it"
                    + " is parked: all but 1 MiB of its memory leaves for its homes. 0: never by itself.");
    public static final Key<Long> GUEST_VICTIM_CACHE = Key.bytes(
            "guest.victim_cache",
            "0",
            "0",
            "1TiB",
            "Memory of the agent for pages of all guests that were evicted a moment ago, and need no fetch if they are"
                    + " touched again. Each guest gives a sixteenth of its limit for it at most. 0: none.");
    public static final Key<Path> SEAL_DIRECTORY = Key.path(
            "seal.directory",
            "/var/lib/farpage/seal",
            "Where the tags of encrypted spaces are kept between two guests; created if missing. Another node that is"
                    + " to use a space needs the file of that space in its own directory.");
    public static final Key<Optional<Path>> SEAL_KEYS = Key.optional(
            "seal.keys",
            ValueTypes.path(),
            "Directory with the keys of encrypted spaces: files `*.key` of mode 0600, each with 32 bytes or 64 hex"
                    + " digits. New spaces take `default.key`, or the only key.");
    public static final Key<List<String>> SEAL_KEY_COMMAND = Key.texts(
            "seal.key_command",
            "",
            "Program that prints a key of encrypted spaces, and its first arguments, instead of `seal.keys`. The last"
                    + " argument is the id of the key, or `current` for the key of new spaces.");
    public static final Key<Duration> SEAL_KEY_DEADLINE =
            Key.duration("seal.key_deadline", "10s", "100ms", "5m", "How long `seal.key_command` may take.");
    public static final Key<Optional<Path>> SEAL_LIBRARY = Key.optional(
            "seal.library", ValueTypes.path(), "libcrypto to load; the system's `libcrypto.so.3`, if left out.");
    public static final Key<Boolean> SEAL_REQUIRE =
            Key.bool("seal.require", false, "Whether guests of this agent get encrypted spaces only.");

    public static final Key<Integer> FETCH_DEPTH =
            Key.integer("fetch.depth", 64, 1, 4096, "Transfers under way at once for the page tool.");
    public static final Key<Duration> FETCH_DEADLINE = Key.duration(
            "fetch.deadline",
            "2s",
            "10ms",
            "10m",
            "How long a transfer may take, waiting for a link that is being rebuilt included.");

    public static final Key<Duration> MIRROR_HEDGE = Key.duration(
            "mirror.hedge",
            "20ms",
            "1ms",
            "10m",
            "How long a home of a page that has several may take to send it before another one is asked as well; about"
                    + " three times the 99th percentile.");
    public static final Key<Duration> MIRROR_DROP_AFTER = Key.duration(
            "mirror.drop_after",
            "1s",
            "10ms",
            "10m",
            "How long a home of a page that has several may leave a write-back unanswered before it is dropped. One"
                    + " whose link breaks is dropped at once if the page cannot be evicted otherwise.");

    public static final Key<Long> MIRROR_REPAIR_RATE = Key.bytes(
            "mirror.repair_rate",
            "100MiB",
            "64KiB",
            "1TiB",
            "Bytes a second, at most, that each pager of a guest copies to a home that joins an extent: to replace one"
                    + " that was lost, or one on a node that is drained; and that this node copies to its own pool"
                    + " where it joins extents that no guest uses.");

    public static final Key<Boolean> DRAIN_ON_STOP = Key.bool(
            "drain.on_stop",
            false,
            "Whether the agent, told to end (SIGTERM), first has the coordinator move what its pool holds to other"
                    + " nodes.");
    public static final Key<Duration> DRAIN_TIMEOUT = Key.duration(
            "drain.timeout",
            "10m",
            "1s",
            "24h",
            "How long that may take; then the agent ends, and pages without another home are lost. Below what the"
                    + " service manager waits before it kills.");

    public static final Key<Integer> COHERENCE_PEERS = Key.integer(
            "coherence.peers",
            16,
            0,
            1024,
            "Peers that this agent exchanges messages with at once, as members and homes of a space do that several"
                    + " nodes use together. Each takes 272 KiB of `pool.staging`, while there are messages. 0: none.");

    public static final Key<Integer> LINK_MAX =
            Key.integer("link.max", 64, 1, 1024, "Peers that this agent may be linked with at once.");
    public static final Key<LinkMode> LINK_MODE = Key.choice(
            "link.mode",
            LinkMode.MESH,
            "`mesh`: the agent links with every other node. `demand`: with the homes of the spaces that it has"
                    + " attached, with nodes that start a link, and with those that `POST /api/v1/links/{peer}` names;"
                    + " all agents of a cluster with more nodes than `link.max` need it.");

    public static final Key<Duration> LINK_GRACE = Key.duration(
            "link.grace",
            "500ms",
            "0ns",
            "1m",
            "How long the node with the larger id waits for the other one to start a link. Either may start.");

    public static final Key<Duration> LINK_RDMA_PAUSE = Key.duration(
            "link.rdma_pause",
            "5s",
            "100ms",
            "5m",
            "How long a link stays on TCP after RDMA failed before RDMA is tried beside it; doubles up to 5m.");

    public static final Key<List<String>> LINK_ALLOWED_PEERS = Key.texts(
            "link.allowed_peers",
            "",
            "Ids of the nodes that this agent links with, whatever the coordinator says; all of the cluster, if left"
                    + " out.");
    public static final Key<LinkEncryption> LINK_ENCRYPTION = Key.choice(
            "link.encryption",
            LinkEncryption.OFF,
            "`require`: this agent's links are encrypted (TLS 1.3), and none of them uses RDMA, which does not encrypt."
                    + " `off`: a link is encrypted if its peer requires that.");
    public static final Key<Optional<Path>> LINK_SSL_LIBRARY = Key.optional(
            "link.ssl_library", ValueTypes.path(), "libssl to load; the system's `libssl.so.3`, if left out.");

    public static final Key<String> TCP_ADDRESS = Key.text(
            "tcp.address",
            "127.0.0.1",
            "IP address to listen on, under which peers reach this node's memory over TCP.");
    public static final Key<Integer> TCP_PORT = Key.port(
            "tcp.port", 0, "TCP port for peers. 0 lets the system choose; peers learn it from the coordinator.");
    public static final Key<List<GidRange>> TCP_ALLOWED_ADDRESSES = Key.of(
            "tcp.allowed_addresses",
            ValueTypes.listOf(gidRange()),
            "",
            "Addresses and prefixes, such as `10.0.0.0/8`, that peers reach this node's memory from and offer theirs"
                    + " under over TCP; all, if left out.");
    public static final Key<Optional<IdleStrategy>> TCP_RESPONDER_IDLE = Key.optional(
            "tcp.responder_idle",
            ValueTypes.choice(IdleStrategy.class),
            "What the threads answering peers do when idle, one thread for each link; as `shard.idle`, if left out.");
    public static final Key<Optional<Integer>> TCP_RESPONDER_CPU = Key.optional(
            "tcp.responder_cpu", ValueTypes.integer(0, 1023), "CPU that the threads answering peers are bound to.");

    public static final Key<Optional<Path>> RDMA_LIBRARY = Key.optional(
            "rdma.library", ValueTypes.path(), "libibverbs to load; the system's `libibverbs.so.1`, if left out.");
    public static final Key<List<String>> RDMA_DEVICE =
            Key.texts("rdma.device", "", "RDMA devices to use, such as `mlx5_0`; all usable ones, if left out.");
    public static final Key<Optional<Integer>> RDMA_PORT = Key.of(
            "rdma.port",
            ValueTypes.orWord("auto", ValueTypes.integer(1, 255)),
            "auto",
            "Port of the device; `auto` takes the first that is ACTIVE.");
    public static final Key<Optional<Integer>> RDMA_GID_INDEX = Key.of(
            "rdma.gid_index",
            ValueTypes.orWord("auto", ValueTypes.integer(0, 255)),
            "auto",
            "Index into the port's GID table; `auto` prefers RoCE v2 with an IPv4-mapped address.");
    public static final Key<List<GidRange>> RDMA_ALLOWED_GIDS = Key.of(
            "rdma.allowed_gids",
            ValueTypes.listOf(gidRange()),
            "",
            "GIDs and prefixes, such as `fe80::/10` or `10.0.0.0/8`, of peers' RDMA ports that queue pairs are"
                    + " connected to; all, if left out.");
    public static final Key<Integer> RDMA_MTU = Key.of(
            "rdma.mtu",
            mtu(),
            "4096",
            "Path MTU in bytes, at most the port's. A queue pair takes the smaller value of its two ends.");
    public static final Key<Integer> RDMA_MAX_SEND_WR =
            Key.integer("rdma.max_send_wr", 128, 1, 16384, "Transfers outstanding on one queue pair.");
    public static final Key<Integer> RDMA_MAX_RD_ATOMIC = Key.integer(
            "rdma.max_rd_atomic",
            16,
            1,
            255,
            "READs in flight on one queue pair, in either direction. A queue pair takes the smaller value of its two"
                    + " ends.");
    public static final Key<Integer> RDMA_TIMEOUT = Key.integer(
            "rdma.timeout", 14, 1, 31, "Local ACK timeout: 4.096 us times two to the power of this; 14 is 67 ms.");
    public static final Key<Integer> RDMA_RETRY_CNT =
            Key.integer("rdma.retry_cnt", 7, 0, 7, "Attempts after a timeout.");
    public static final Key<Integer> RDMA_RNR_RETRY =
            Key.integer("rdma.rnr_retry", 7, 0, 7, "Attempts after receiver-not-ready; 7 is without limit.");
    public static final Key<Integer> RDMA_MIN_RNR_TIMER = Key.integer(
            "rdma.min_rnr_timer", 12, 0, 31, "What a sender is told to wait when no receive is posted; 12 is 0.64 ms.");
    public static final Key<Integer> RDMA_HOP_LIMIT =
            Key.integer("rdma.hop_limit", 64, 1, 255, "Hop limit of the global route header.");
    public static final Key<Integer> RDMA_TRAFFIC_CLASS = Key.integer(
            "rdma.traffic_class", 0, 0, 255, "Traffic class of the global route header (RoCE: DSCP and ECN).");
    public static final Key<Integer> RDMA_SERVICE_LEVEL =
            Key.integer("rdma.service_level", 0, 0, 15, "Service level (RoCE: VLAN priority).");

    private static final List<Key<?>> OWN = List.of(
            TlsKeys.INSECURE,
            NODE_ID,
            NODE_DOMAIN,
            API_LISTEN,
            API_SOCKET,
            API_SOCKET_MODE,
            API_SOCKET_OWNER,
            API_SOCKET_ROLES,
            API_ADVERTISE,
            API_NAMES,
            TlsKeys.CERTIFICATE,
            TlsKeys.KEY,
            TlsKeys.CA,
            TlsKeys.RELOAD,
            TLS_RENEW,
            COORDINATOR_URL,
            COORDINATOR_TIMEOUT,
            POOL_EXPORTED,
            POOL_STAGING,
            POOL_HUGEPAGES,
            POOL_HUGEPAGE_SIZE,
            POOL_LOCK,
            POOL_NUMA_NODE,
            KEEPER_MODE,
            KEEPER_SOCKET,
            KEEPER_STANDBY,
            MOUNT_SOCKET,
            TRANSPORT_MODE,
            SHARD_COUNT,
            SHARD_IDLE,
            SHARD_SPIN,
            SHARD_CPU,
            SHARD_PRIORITY,
            GUEST_DEPTH,
            GUEST_PINS,
            GUEST_PIN_LINGER,
            GUEST_FLUSH_DEADLINE,
            GUEST_PARK_AFTER,
            GUEST_VICTIM_CACHE,
            SEAL_DIRECTORY,
            SEAL_KEYS,
            SEAL_KEY_COMMAND,
            SEAL_KEY_DEADLINE,
            SEAL_LIBRARY,
            SEAL_REQUIRE,
            FETCH_DEPTH,
            FETCH_DEADLINE,
            MIRROR_HEDGE,
            MIRROR_DROP_AFTER,
            MIRROR_REPAIR_RATE,
            DRAIN_ON_STOP,
            DRAIN_TIMEOUT,
            COHERENCE_PEERS,
            LINK_MAX,
            LINK_MODE,
            LINK_GRACE,
            LINK_RDMA_PAUSE,
            LINK_ALLOWED_PEERS,
            LINK_ENCRYPTION,
            LINK_SSL_LIBRARY,
            TCP_ADDRESS,
            TCP_PORT,
            TCP_ALLOWED_ADDRESSES,
            TCP_RESPONDER_IDLE,
            TCP_RESPONDER_CPU,
            RDMA_LIBRARY,
            RDMA_DEVICE,
            RDMA_PORT,
            RDMA_GID_INDEX,
            RDMA_ALLOWED_GIDS,
            RDMA_MTU,
            RDMA_MAX_SEND_WR,
            RDMA_MAX_RD_ATOMIC,
            RDMA_TIMEOUT,
            RDMA_RETRY_CNT,
            RDMA_RNR_RETRY,
            RDMA_MIN_RNR_TIMER,
            RDMA_HOP_LIMIT,
            RDMA_TRAFFIC_CLASS,
            RDMA_SERVICE_LEVEL);

    private static final Schema KEYS = Schema.of(
            "page-agent",
            Stream.of(
                            OWN,
                            LatencyKeys.ALL,
                            LimitKeys.ALL,
                            AuditKeys.ALL,
                            TraceKeys.ALL,
                            FaultTraceKeys.ALL,
                            LogKeys.ALL)
                    .flatMap(List::stream)
                    .toList());

    /** All keys, in the order of the reference page. */
    public static final Schema SCHEMA = KEYS.withRetired(Map.of(
            "rdma.max_recv_wr",
            "agents post the receives that their messages need; remove it",
            "rdma.max_sge",
            "agents move a page with one scatter/gather entry; remove it",
            "rdma.max_inline_data",
            "a page is larger than what can be sent inline; remove it"));

    private AgentKeys() {}

    private static ValueType<HugepageSize> hugepageSize() {
        return ValueTypes.of("choice", "2MiB or 1GiB", text -> switch (text) {
            case "2MiB" -> HugepageSize.TWO_MIB;
            case "1GiB" -> HugepageSize.ONE_GIB;
            default -> throw new IllegalArgumentException("");
        });
    }

    private static ValueType<GidRange> gidRange() {
        return ValueTypes.of(
                "prefix",
                "an address or GID, or a prefix such as 10.0.0.0/8 or fe80::/10 without bits set behind it",
                GidRange::parse);
    }

    private static ValueType<Integer> mtu() {
        return ValueTypes.of(
                "choice",
                "256, 512, 1024, 2048 or 4096",
                text -> Stream.of(Mtu.values())
                        .map(Mtu::bytes)
                        .filter(bytes -> text.equals(Integer.toString(bytes)))
                        .findFirst()
                        .orElseThrow(() -> new IllegalArgumentException("")));
    }
}
