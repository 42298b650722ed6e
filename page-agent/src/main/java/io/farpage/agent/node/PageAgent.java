package io.farpage.agent.node;

import io.farpage.agent.client.AgentAddress;
import io.farpage.agent.config.AgentKeys;
import io.farpage.agent.config.AgentOptions;
import io.farpage.agent.config.FaultTraceKeys;
import io.farpage.agent.config.LatencyKeys;
import io.farpage.agent.config.Providers;
import io.farpage.agent.config.QueuePairMemory;
import io.farpage.agent.control.CloseStack;
import io.farpage.agent.control.LinkKeys;
import io.farpage.agent.control.LocalNode;
import io.farpage.agent.control.ShardPulse;
import io.farpage.agent.control.device.DeviceWatch;
import io.farpage.agent.control.device.Transports;
import io.farpage.agent.control.grant.HomeGrants;
import io.farpage.agent.control.grant.ReceivedGrants;
import io.farpage.agent.control.guest.FigureReports;
import io.farpage.agent.control.guest.Guests;
import io.farpage.agent.control.keeper.KeptMemory;
import io.farpage.agent.control.latency.FetcherLatencies;
import io.farpage.agent.control.latency.LatencyLog;
import io.farpage.agent.control.latency.LatencySeries;
import io.farpage.agent.control.link.LinkControl;
import io.farpage.agent.control.link.LinkEncryption;
import io.farpage.agent.control.member.CertificateRenewal;
import io.farpage.agent.control.member.CopyReports;
import io.farpage.agent.control.member.Ending;
import io.farpage.agent.control.member.EventWatch;
import io.farpage.agent.control.member.Hosting;
import io.farpage.agent.control.member.Membership;
import io.farpage.agent.control.member.RebuildReports;
import io.farpage.agent.control.page.PageTool;
import io.farpage.agent.control.page.SpaceImage;
import io.farpage.agent.control.pull.Pulls;
import io.farpage.agent.control.seal.SealSweep;
import io.farpage.agent.control.space.Spaces;
import io.farpage.agent.control.trace.FaultTraces;
import io.farpage.agent.data.shard.ShardLoop;
import io.farpage.agent.rest.AgentApi;
import io.farpage.agent.rest.AgentMetrics;
import io.farpage.agent.rest.AgentOperations;
import io.farpage.agent.rest.ApiSocket;
import io.farpage.agent.rest.CoordinatorMetrics;
import io.farpage.agent.rest.FaultTraceMetrics;
import io.farpage.agent.rest.GuestApi;
import io.farpage.agent.rest.GuestMetrics;
import io.farpage.agent.rest.ImageApi;
import io.farpage.agent.rest.LatencyApi;
import io.farpage.agent.rest.LatencyLogMetrics;
import io.farpage.agent.rest.ShardApi;
import io.farpage.agent.rest.ShardMetrics;
import io.farpage.config.Config;
import io.farpage.config.HostPort;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.model.Event;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Seen;
import io.farpage.linux.DescriptorReserve;
import io.farpage.pool.PagePool;
import io.farpage.pool.PoolException;
import io.farpage.rest.Health;
import io.farpage.rest.Metrics;
import io.farpage.rest.RestServer;
import io.farpage.rest.Route;
import io.farpage.trace.TraceKeys;
import io.farpage.trace.Tracer;
import io.farpage.verbs.soft.SoftProvider;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One node: its pool, its devices, the shards that move pages, and the control plane around it. Opening it registers
 * the node; closing it drains and deregisters.
 */
public final class PageAgent implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(PageAgent.class);
    private static final int MAX_BODY = 4 << 20;
    private static final String VERSION = "0.1.0";
    private static final Duration DRAIN = Duration.ofSeconds(20);

    private final CloseStack parts;
    /** The components that move pages. Closed first, and within {@link #DRAIN}. */
    private final CloseStack movers;

    private final String node;
    private final Incarnation incarnation;
    private final PoolKeeping keeping;
    private final PagePool pool;
    private final Transports transports;
    private final CoordinatorClient coordinator;
    private final Optional<DrainOnStop> draining;
    private final Spaces spaces;
    private final Shards shards;
    private final LinkControl links;
    private final Hosting hosting;
    private final Optional<SealSweep> seals;
    private final Membership membership;
    private final ApiSocket socket;
    private final RestServer rest;
    private final Announcement announcement;
    private final AgentHealth health;

    private PageAgent(CloseStack parts, CloseStack movers, Start start) throws PoolException {
        Config config = start.config();
        Providers providers = start.providers();
        Consumer<Ending> ended = start.ended();
        this.parts = parts;
        this.movers = movers;
        Doors doors = parts.add(Doors.open(config));
        node = doors.node();
        Optional<Tracer> tracer = TraceKeys.begin(config, "page-agent", node).map(parts::add);
        AgentAudit audit = new AgentAudit(doors.audit());
        List<OptionalInt> cpus = AgentOptions.shardCpus(config);
        QueuePairMemory.of(config).shortage().ifPresent(log::warn);
        incarnation = Incarnation.draw();
        keeping = parts.add(PoolKeeping.open(config, node, incarnation, start.claimed()));
        pool = keeping.pool();
        MappedPool mapped = parts.add(new MappedPool(pool));
        if (providers.tcp() instanceof SoftProvider soft) {
            soft.onRefusal(audit);
        }
        transports = mapped.usedBy(parts.add(Transports.open(
                config.get(AgentKeys.TRANSPORT_MODE), providers.rdma(), providers.tcp(), pool, System::nanoTime)));
        if (config.get(AgentKeys.LINK_ENCRYPTION) == LinkEncryption.REQUIRE) {
            log.info("every link of this agent is encrypted (TLS 1.3), and RDMA is not used: link.encryption is"
                    + " require");
        }
        coordinator = parts.add(new CoordinatorClient(
                doors.coordinators(),
                config.get(AgentKeys.COORDINATOR_TIMEOUT),
                keeping.allegiance(),
                doors.credentials()));
        draining = config.get(AgentKeys.DRAIN_ON_STOP)
                ? Optional.of(new DrainOnStop(coordinator, node, config.get(AgentKeys.DRAIN_TIMEOUT)))
                : Optional.empty();
        spaces = parts.add(new Spaces(coordinator, node, incarnation));

        Notifier noticed = new Notifier();
        shards = mapped.usedBy(movers.add(new Shards(config, cpus, pool, transports, noticed)));
        LinkKeys keys = LinkKeys.generate(node, incarnation, doors.tls());
        LocalNode self = new LocalNode(node, incarnation, pool, coordinator, keys);
        links = movers.add(new LinkControl(self, transports, shards.all(), AgentOptions.links(config)));
        noticed.setTarget(links::noticed);
        links.onChange(audit);
        Pulls pulls = movers.add(
                new Pulls(self, shards.loops().getFirst(), peer -> links.link(peer, 0), AgentOptions.pulls(config)));
        // Closed after the guests, which may wait for a grant to write their last pages.
        ReceivedGrants grants = movers.add(new ReceivedGrants(self, links));
        links.onGrantRefused(refused -> {
            grants.refused(refused.link().peer(), refused.incarnation(), refused.offset(), refused.rkey());
            spaces.refresh();
        });
        PageTool pages = new PageTool(
                self,
                shards.loops().getFirst(),
                peer -> links.link(peer, 0),
                config.get(AgentKeys.FETCH_DEPTH),
                config.get(AgentKeys.FETCH_DEADLINE));
        Guests guests = movers.add(new Guests(
                self,
                spaces,
                shards.loops(),
                links::link,
                AgentOptions.guests(config, keeping.guests(node, incarnation))));
        guests.onChange(audit);
        FigureReports figures = movers.add(new FigureReports(self, guests));
        CopyReports copies = movers.add(new CopyReports(
                self,
                () -> Stream.concat(guests.copies().stream(), pulls.copies().stream())
                        .toList()));
        HomeGrants given = movers.add(new HomeGrants(self, transports));
        hosting = movers.add(new Hosting(self, links, given, pulls));
        hosting.succeed(keeping.hosted(), keeping::hosts);
        seals = AgentOptions.sealDirectory(config).map(directory -> parts.add(new SealSweep(directory, coordinator)));
        EventWatch events = movers.add(new EventWatch(coordinator, node, links::watched, new Events()));

        health = movers.add(new AgentHealth(
                new ShardPulse(shards.loops()),
                new AgentHealth.Sources(
                        this::isRegistered,
                        () -> coordinator.allegiance().status().refusal(),
                        links::status,
                        () -> pool.backing() + keeping.describe(),
                        () -> config.get(AgentKeys.KEEPER_STANDBY)
                                ? keeping.keeper().map(KeptMemory::standby)
                                : Optional.empty()),
                InstantSource.system()));
        Metrics metrics = new Metrics("farpage_agent");
        Map<String, FetcherLatencies> fetchers =
                FetcherLatencies.of(Map.of("page-tool", pages.fetcher(), "pull", pulls.fetcher()));
        Supplier<List<LatencySeries>> latencies = () -> FetcherLatencies.with(fetchers, guests.series());
        // Closed after the guests, whose last faults it logs.
        Optional<LatencyLog> latencyLog = LatencyKeys.log(config)
                .map(options -> parts.add(new LatencyLog(options, node, latencies, Instant::now)));
        AgentMetrics.register(metrics.registry(), fetchers, () -> links, () -> pool);
        CoordinatorMetrics.register(metrics.registry(), coordinator::allegiance);
        GuestMetrics.register(metrics.registry(), () -> guests);
        ShardApi shardApi = new ShardApi(shards.loops());
        ShardMetrics.register(metrics.registry(), shards::loops);
        Optional<FaultTraces> faultTraces = tracer.map(
                traced -> parts.add(new FaultTraces(traced, FaultTraceKeys.sampling(config), guests::traced)));
        FaultTraceMetrics.register(metrics.registry(), () -> faultTraces);
        LatencyLogMetrics.register(metrics.registry(), () -> latencyLog);
        Handover handover = new Handover(keeping.keeper(), guests, ended);
        socket = parts.add(doors.socket());
        rest = parts.add(RestServer.start(
                new RestServer.Options(
                        "page-agent",
                        VERSION,
                        doors.entrance(socket),
                        MAX_BODY,
                        () -> DescriptorReserve.leavesRoom(DescriptorReserve.ORDINARY)),
                Stream.of(
                                new AgentApi(transports, links, spaces, pages).routes(),
                                new GuestApi(guests).routes(),
                                shardApi.routes(),
                                new LatencyApi(latencies).routes(),
                                List.of(Route.answering(AgentOperations.HAND_OVER, ctx -> handover.begin())),
                                new ImageApi(spaces, new SpaceImage(spaces, pages)).routes())
                        .flatMap(List::stream)
                        .toList(),
                metrics,
                this::health,
                RestServer.Around.NOTHING));
        socket.publish();
        announcement = new Announcement(
                incarnation,
                AgentOptions.published(config, rest.address()),
                pool,
                transports,
                keys,
                config.get(AgentKeys.NODE_DOMAIN),
                guests.adopted());
        membership = parts.add(new Membership(coordinator, node, announcement.registration(), ended));

        RebuildReports reports = movers.add(new RebuildReports(
                coordinator,
                node,
                announcement::registration,
                new RebuildReports.Known(hosting, spaces, links::superseded, guests::left, events)));
        doors.tls().ifPresent(tls -> {
            tls.onChange(audit::certificateChanged);
            // The link key is registered again, signed with the certificate that is in use now.
            tls.onChange(() -> membership.update(announcement.registration()));
            if (config.get(AgentKeys.TLS_RENEW)) {
                parts.add(new CertificateRenewal(coordinator, node, tls)).start();
            }
        });
        health.start();
        DeviceWatch devices = movers.add(new DeviceWatch(
                transports, new DeviceChanges(links, membership, announcement, hosting), System::nanoTime));
        shards.start();
        devices.start();
        pulls.start();
        given.start();
        hosting.start();
        reports.start();
        spaces.start(grants);
        seals.ifPresent(SealSweep::start);
        keeping.begin();
        membership.start();
        guests.adopt(membership::isRegistered);
        figures.start();
        copies.start();
        latencyLog.ifPresent(LatencyLog::start);
        faultTraces.ifPresent(FaultTraces::start);
        links.start();
        events.start();
    }

    /**
     * Opens an agent and starts it. It registers as soon as the coordinator answers.
     *
     * @param ended called when this agent must be closed because the cluster has ended this incarnation
     * @throws PoolException if the pool cannot be opened as configured
     * @throws io.farpage.verbs.VerbsException if the transport cannot be opened as configured
     * @throws io.farpage.rest.ListenException if the REST API's socket or port is taken
     * @throws IllegalArgumentException if a configured value does not fit this machine
     */
    public static PageAgent open(Config config, Providers providers, Consumer<Ending> ended) throws PoolException {
        return open(new Start(config, providers, ended, Optional.empty()));
    }

    /**
     * What an agent begins with.
     *
     * @param ended called when the agent must be closed
     * @param claimed what it was given at its keeper as a standby
     */
    public record Start(Config config, Providers providers, Consumer<Ending> ended, Optional<KeptMemory> claimed) {}

    /** As {@link #open(Config, Providers, Consumer)}. What was claimed is closed if this fails. */
    public static PageAgent open(Start start) throws PoolException {
        CloseStack parts = new CloseStack();
        CloseStack movers = new CloseStack();
        try {
            return new PageAgent(parts, movers, start);
        } catch (PoolException | RuntimeException e) {
            movers.closeAfter(e);
            parts.closeAfter(e);
            start.claimed().ifPresent(KeptMemory::close);
            throw e;
        }
    }

    /** Whether the coordinator answered the last call and knows this node. */
    public boolean isRegistered() {
        return membership.isRegistered();
    }

    /** As {@link AgentHealth#stalled}. */
    public Optional<String> stalled() {
        return health.stalled();
    }

    private Health health() {
        boolean registered = membership.isRegistered();
        return Health.of(
                "page-agent",
                VERSION,
                Map.of(
                        "node", node,
                        "incarnation", incarnation.toString(),
                        "registered", Boolean.toString(registered),
                        "seen",
                                coordinator
                                        .allegiance()
                                        .status()
                                        .seen()
                                        .map(Seen::toString)
                                        .orElse("nothing"),
                        "coordinator",
                                coordinator
                                        .allegiance()
                                        .status()
                                        .refusal()
                                        .map(reason -> "not obeyed: " + reason)
                                        .orElse("obeyed"),
                        "transport", transports.preferred().toString(),
                        "pool", pool.backing().toString()),
                health.parts());
    }

    public String node() {
        return node;
    }

    public PagePool pool() {
        return pool;
    }

    public Spaces spaces() {
        return spaces;
    }

    public CoordinatorClient coordinator() {
        return coordinator;
    }

    /** The threads that move pages, one or more. */
    public List<ShardLoop> shards() {
        return shards.loops();
    }

    public LinkControl links() {
        return links;
    }

    public Transports transports() {
        return transports;
    }

    /** Path of the Unix socket that serves the REST API. */
    public Path socket() {
        return socket.path();
    }

    /** TCP address of the REST API, if it is served on one. */
    public Optional<HostPort> listening() {
        return rest.address();
    }

    /** Where the REST API is served, as the option {@code --agent} takes it: the Unix socket first. */
    public List<String> urls() {
        return Stream.concat(
                        Stream.of(AgentAddress.UNIX + socket.path()),
                        rest.address().stream().map(_ -> rest.url()))
                .toList();
    }

    /** Empties the node if {@code drain.on_stop} says so, and waits for that. Any thread, while the agent serves. */
    public void drainIfConfigured() {
        draining.ifPresent(DrainOnStop::await);
    }

    /**
     * Drains and deregisters. The order keeps another node from attaching to a space, and a home from reusing its
     * frames, while WRITEs of this node can still arrive: the agent takes no more requests, ends guests, links and
     * shards, and only then detaches from its spaces and deregisters. If the shards do not end in time, it deregisters
     * without detaching, and the homes cut it off.
     */
    @Override
    public void close() {
        membership.leave();
        rest.close();
        socket.close();
        boolean stopped = movers.closeWithin(DRAIN) && shards.haveStopped();
        if (stopped && !membership.isOver()) {
            spaces.detachAll();
        }
        membership.close();
        if (membership.isPoolVoid()) {
            keeping.drop();
        }
        if (stopped) {
            parts.closeLogged();
        } else {
            log.error("pages may still be moved {} after the agent began to end; its memory stays mapped", DRAIN);
        }
    }

    private final class Events implements EventWatch.Listener {
        @Override
        public void event(Event event) {
            switch (event.kind()) {
                case NODE_REGISTERED, NODE_CHANGED, NODE_FAILED, NODE_REVIVED, NODE_REMOVED ->
                    event.node().ifPresent(links::nodeChanged);
                case ENDPOINT_PUBLISHED, ENDPOINT_WITHDRAWN -> {
                    if (event.peer().filter(node::equals).isPresent()) {
                        event.node().ifPresent(links::offerChanged);
                    }
                }
                case SPACE_DELETING, SPACE_DELETED -> {
                    if (hosting.mayHold(event.spaceId())) {
                        hosting.refresh();
                    }
                    event.spaceId().ifPresent(spaces::changed);
                    seals.ifPresent(SealSweep::refresh);
                }
                case EXTENTS_LOST, HOMES_CHANGED, SPACE_ALLOWED -> {
                    hosting.refresh();
                    event.spaceId().ifPresent(spaces::changed);
                }
                case SPACE_TAKEN_OVER -> ifOfThisNode(event, spaces::refresh);
                case RELEASES_PENDING, FENCES_CHANGED, ATTACHMENTS_CHANGED -> ifOfThisNode(event, hosting::refresh);
                case GRANT_PUBLISHED -> event.peer().filter(node::equals).ifPresent(_ -> spaces.refresh());
                case SPACE_CREATED, SPACE_TORN, SPACE_SEALED -> hosting.refresh();
                case CLUSTER_FORMED,
                        CLUSTER_DISSOLVED,
                        EXTENTS_REPAIRED,
                        DRAIN_CHANGED,
                        NODE_DRAINED,
                        GUEST_ADOPTED,
                        UNKNOWN -> {}
            }
        }

        private void ifOfThisNode(Event event, Runnable task) {
            if (event.node().filter(node::equals).isPresent()) {
                task.run();
            }
        }

        @Override
        public void resync() {
            links.resync();
            spaces.refresh();
            hosting.refresh();
            seals.ifPresent(SealSweep::refresh);
        }
    }
}
