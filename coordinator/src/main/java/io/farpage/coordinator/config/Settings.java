package io.farpage.coordinator.config;

import io.farpage.audit.AuditKeys;
import io.farpage.config.Config;
import io.farpage.config.ConfigException;
import io.farpage.config.HostPort;
import io.farpage.config.Key;
import io.farpage.config.Quantities;
import io.farpage.config.Schema;
import io.farpage.config.ValueTypes;
import io.farpage.coordinator.model.operation.SpaceOperations;
import io.farpage.limit.LimitKeys;
import io.farpage.log.LogKeys;
import io.farpage.tls.Exposure;
import io.farpage.tls.TlsKeys;
import io.farpage.trace.TraceKeys;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** The coordinator's configuration keys. */
public final class Settings {

    /** Where the REST interface listens. */
    public static final Key<HostPort> LISTEN = Key.hostPort(
            "server.listen",
            "127.0.0.1:7400",
            "Where the REST interface listens; port 0 lets the system choose. Any other address than loopback takes"
                    + " `tls.certificate`.");

    /** Longest request body. */
    public static final Key<Long> MAX_BODY = Key.bytes(
            "server.max_body",
            "4MiB",
            "1KiB",
            "256MiB",
            "Longest request body; a longer one is refused with status 413.");

    /** Where the store is. */
    public static final Key<Path> DIRECTORY = Key.path(
            "store.directory",
            "/var/lib/farpage/coordinator",
            "Where the coordinator keeps its state; created if missing. One coordinator at a time can use it.");

    /** Where the state is kept. */
    public enum StoreKind {
        /** In a file of this host: one coordinator. */
        EMBEDDED,
        /** In an etcd cluster, which several coordinators share. */
        ETCD
    }

    /** Kind of store. */
    public static final Key<StoreKind> STORE_KIND = Key.choice(
            "store.kind",
            StoreKind.EMBEDDED,
            "Where the state is kept: `embedded`, in a file under `store.directory`; `etcd`, in an etcd cluster that"
                    + " several coordinators share. One of them leads.");

    /** Members of the etcd cluster. */
    public static final Key<List<String>> ETCD_ENDPOINTS = Key.texts(
            "store.etcd.endpoints",
            "http://127.0.0.1:2379",
            "With `store.kind: etcd`: the client URLs of all members of the etcd cluster; `https://` if `store.etcd.ca`"
                    + " is set, and `http://` if not.");

    /** CAs of the members' certificates. */
    public static final Key<Optional<Path>> ETCD_CA = Key.optional(
            "store.etcd.ca",
            ValueTypes.path(),
            "PEM file with the certificates of the CAs of etcd. It turns on TLS to etcd; each member's certificate must"
                    + " name the host of its endpoint.");

    /** What the coordinator shows to etcd. */
    public static final Key<Optional<Path>> ETCD_CERTIFICATE = Key.optional(
            "store.etcd.certificate",
            ValueTypes.path(),
            "PEM file with the certificate that the coordinator shows to etcd, issued by a CA in `store.etcd.ca`. It is"
                    + " read at the start.");

    /** Its key. */
    public static final Key<Optional<Path>> ETCD_KEY = Key.optional(
            "store.etcd.key",
            ValueTypes.path(),
            "PEM file with the private key of `store.etcd.certificate`, PKCS #8, not encrypted.");

    /** Who the coordinator is to etcd. */
    public static final Key<Optional<String>> ETCD_USER = Key.optional(
            "store.etcd.user",
            ValueTypes.text(),
            "User of etcd as which the coordinator reads and writes, where etcd has authentication on (`etcdctl auth"
                    + " enable`). Its role needs reading and writing of all keys with the prefix `store.etcd.prefix`.");

    /** That user's password. */
    public static final Key<Optional<Path>> ETCD_PASSWORD_FILE = Key.optional(
            "store.etcd.password_file",
            ValueTypes.path(),
            "File with the password of `store.etcd.user`, which its owner alone can read (mode 0600). It is read at the"
                    + " start.");

    /** Prefix of all keys in etcd. */
    public static final Key<String> ETCD_PREFIX = Key.text(
            "store.etcd.prefix",
            "/farpage",
            "With `store.kind: etcd`: what all keys of this cluster begin with. Coordinators with the same prefix keep"
                    + " the same cluster.");

    /** How long a leader that is not heard of keeps the lead. */
    public static final Key<Duration> ETCD_LEASE = Key.duration(
            "store.etcd.lease",
            "3s",
            "2s",
            "60s",
            "With `store.kind: etcd`: how long after its last sign of life a leader is succeeded; parts of a second"
                    + " count as a whole one.");

    /** How long an operation of etcd may take. */
    public static final Key<Duration> ETCD_DEADLINE = Key.duration(
            "store.etcd.deadline",
            "2s",
            "100ms",
            "60s",
            "With `store.kind: etcd`: how long one operation may take before it counts as failed.");

    /** Where clients reach this coordinator. */
    public static final Key<Optional<String>> URL = Key.optional(
            "server.url",
            ValueTypes.matching("https?://[^/\\s]+", "http://host:port or https://host:port"),
            "With `store.kind: etcd`: where agents and commands reach this coordinator; followers name it to their"
                    + " clients while it leads. Left out, it is the address of `server.listen`.");

    /** How long a lease holds. */
    public static final Key<Duration> LEASE = Key.duration(
            "lease.duration",
            "15s",
            "100ms",
            "1h",
            "How long after its last heartbeat a node is taken to have failed; after a restart of the coordinator every"
                    + " node has that long again.");

    /** How often heartbeats should come. */
    public static final Key<Duration> HEARTBEAT = Key.duration(
            "lease.heartbeat_interval",
            "5s",
            "10ms",
            "20m",
            "How often agents are told to send heartbeats; at most half of lease.duration.");

    /** How many events are kept. */
    public static final Key<Integer> EVENTS = Key.integer(
            "events.retained",
            10_000,
            16,
            10_000_000,
            "How many events are kept in memory. A watcher that is further behind reads everything anew.");

    /** Names of the service. */
    public static final Key<List<String>> NAMES = Key.texts(
            "server.names",
            "",
            "Host names under which clients reach the coordinator without TLS, beside addresses, `localhost` and this"
                    + " host's own name. Requests with another Host are refused, since a web page may have sent them.");

    /** Whether a node's certificate is enough to make a space. */
    public static final Key<Boolean> NODES_CREATE_SPACES = Key.bool(
            SpaceOperations.NODES_CREATE_SPACES,
            true,
            "Whether agents may create spaces by their own certificates, as `page-agent space create`, `page-agent"
                    + " attach --size` and a VMM that names a size have them do. If false, an operator creates them:"
                    + " `coordinator space create`.");

    /** The CA's key. */
    public static final Key<Optional<Path>> CA_KEY = Key.optional(
            "tls.ca_key",
            ValueTypes.path(),
            "PEM file with the private key of the first CA in `tls.ca`. With it the coordinator issues certificates to"
                    + " nodes that join, and renews them. Left out, certificates are issued by hand.");

    /** How long issued certificates hold. */
    public static final Key<Duration> LIFETIME = Key.duration(
            "tls.lifetime",
            "90d",
            "10s",
            "3650d",
            "How long certificates are valid that the coordinator issues. Agents with `tls.renew` renew theirs after"
                    + " two thirds of it.");

    /** How long a node may be away before its homes are replaced. */
    public static final Key<Duration> REPAIR_GRACE = Key.duration(
            "repair.grace",
            "60s",
            "0s",
            "24h",
            "How long after its lease has run out a node may be back before other nodes take the place of its homes,"
                    + " which costs a copy of all their pages. A home that a guest's agent has dropped, or whose pages"
                    + " are lost, is replaced at once. A restart of the coordinator begins it anew.");

    /** How far thin spaces may be promised room that is not there. */
    public static final Key<Integer> OVERCOMMIT = Key.integer(
            "pool.overcommit",
            100,
            100,
            10_000,
            "Per cent of all pools that may be in use by spaces or promised to thin ones; a space that would exceed it"
                    + " is not made. With more than 100 a thin space may get no room when it asks: its guest then keeps"
                    + " what it writes in local memory, above its limit, until there is some.");

    /** Whether extents move by themselves. */
    public static final Key<Boolean> REBALANCE = Key.bool(
            "rebalance.enabled",
            false,
            "Whether extents that a guest uses move between homes by themselves: away from homes under pressure, near"
                    + " to the guest, and from full pools to empty ones. Spaces that are made meanwhile are divided"
                    + " into about 64 extents. If false, extents move by repair and `coordinator drain` alone.");

    /** How often it is decided what moves. */
    public static final Key<Duration> REBALANCE_INTERVAL = Key.duration(
            "rebalance.interval",
            "10s",
            "100ms",
            "1h",
            "How often the coordinator decides which extents move, four at a time at most.");

    /** Load of a home that is not under pressure. */
    public static final Key<Integer> REBALANCE_IDLE = Key.integer(
            "rebalance.idle_faults",
            1_000,
            0,
            1_000_000_000,
            "Faults a second that a home may serve without being under pressure, even if the other homes serve none:"
                    + " each home more that a space without `replicas` is spread over is one more whose failure costs"
                    + " pages of it.");

    private static final List<Key<?>> OWN = List.of(
            TlsKeys.INSECURE,
            LISTEN,
            URL,
            NAMES,
            MAX_BODY,
            NODES_CREATE_SPACES,
            TlsKeys.CERTIFICATE,
            TlsKeys.KEY,
            TlsKeys.CA,
            CA_KEY,
            LIFETIME,
            TlsKeys.RELOAD,
            DIRECTORY,
            STORE_KIND,
            ETCD_ENDPOINTS,
            ETCD_PREFIX,
            ETCD_CA,
            ETCD_CERTIFICATE,
            ETCD_KEY,
            ETCD_USER,
            ETCD_PASSWORD_FILE,
            ETCD_LEASE,
            ETCD_DEADLINE,
            LEASE,
            HEARTBEAT,
            EVENTS,
            REPAIR_GRACE,
            OVERCOMMIT,
            REBALANCE,
            REBALANCE_INTERVAL,
            REBALANCE_IDLE);

    /** All of them. */
    public static final Schema SCHEMA = Schema.of(
            "coordinator",
            Stream.of(OWN, LimitKeys.ALL, AuditKeys.ALL, TraceKeys.ALL, LogKeys.ALL)
                    .flatMap(List::stream)
                    .toList());

    private Settings() {}

    /**
     * Checks what concerns several keys.
     *
     * @throws ConfigException if they do not fit
     */
    public static Config check(Config config) {
        if (config.get(HEARTBEAT).multipliedBy(2).compareTo(config.get(LEASE)) > 0) {
            throw new ConfigException(
                    List.of("%s: '%s' from %s is not valid: allowed is at most half of %s, which is %s (%s)"
                            .formatted(
                                    HEARTBEAT,
                                    Quantities.format(config.get(HEARTBEAT)),
                                    config.origin(HEARTBEAT),
                                    LEASE,
                                    Quantities.format(config.get(LEASE)),
                                    config.origin(LEASE))));
        }
        if (TlsKeys.files(config).isEmpty()) {
            HostPort listen = config.get(LISTEN);
            Exposure.check(config, List.of(new Exposure.Address(LISTEN.name(), listen.toString(), listen.host())));
        }
        return config;
    }
}
