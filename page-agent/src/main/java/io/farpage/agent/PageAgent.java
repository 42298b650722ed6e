package io.farpage.agent;

import io.farpage.agent.config.AgentKeys;
import io.farpage.agent.config.AgentOptions;
import io.farpage.agent.config.Providers;
import io.farpage.agent.control.CloseStack;
import io.farpage.agent.control.LinkKeys;
import io.farpage.agent.control.LocalNode;
import io.farpage.agent.control.device.DeviceWatch;
import io.farpage.agent.control.device.OpenDevice;
import io.farpage.agent.control.device.Transports;
import io.farpage.agent.control.guest.Guests;
import io.farpage.agent.control.link.LinkControl;
import io.farpage.agent.control.member.CertificateRenewal;
import io.farpage.agent.control.member.Ending;
import io.farpage.agent.control.member.EventWatch;
import io.farpage.agent.control.member.Fences;
import io.farpage.agent.control.member.Hosting;
import io.farpage.agent.control.member.Membership;
import io.farpage.agent.control.member.RebuildReports;
import io.farpage.agent.control.member.Releases;
import io.farpage.agent.control.page.PageTool;
import io.farpage.agent.control.page.SpaceImage;
import io.farpage.agent.control.space.Spaces;
import io.farpage.agent.data.shard.Fetcher;
import io.farpage.agent.data.shard.ShardLoop;
import io.farpage.agent.rest.AgentApi;
import io.farpage.agent.rest.AgentMetrics;
import io.farpage.agent.rest.CoordinatorMetrics;
import io.farpage.agent.rest.GuestApi;
import io.farpage.agent.rest.GuestMetrics;
import io.farpage.agent.rest.ImageApi;
import io.farpage.agent.rest.ShardApi;
import io.farpage.config.Config;
import io.farpage.config.HostPort;
import io.farpage.coordinator.client.Allegiance;
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
import java.security.SecureRandom;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One node: its pool, its devices, the shards that move pages, and the control plane around it. Opening it registers the node; closing it
 * drains and deregisters.
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
    private final PagePool pool;
    private final Transports transports;
    private final CoordinatorClient coordinator;
    private final Spaces spaces;
    private final Shards shards;
    private final LinkControl links;
    private final Hosting hosting;
    private final Releases releases;
    private final Fences fences;
    private final Membership membership;
    private final RestServer rest;
    private final Announcement announcement;

    private PageAgent(CloseStack parts, CloseStack movers, Config config, Providers providers, Consumer<Ending> ended)
            throws PoolException {
        this.parts = parts;
        this.movers = movers;
        Doors doors = parts.add(Doors.open(config));
        node = doors.node();
        List<OptionalInt> cpus = AgentOptions.shardCpus(config);
        incarnation = newIncarnation();
        pool = PagePool.open(AgentOptions.pool(config, node, incarnation.value()));
        MappedPool mapped = parts.add(new MappedPool(pool));
        transports = mapped.usedBy(parts.add(
                Transports.open(config.get(AgentKeys.TRANSPORT_MODE), providers.rdma(), providers.tcp(), pool)));
        coordinator = parts.add(new CoordinatorClient(
                doors.coordinator(), config.get(AgentKeys.COORDINATOR_TIMEOUT), new Allegiance(), doors.credentials()));
        spaces = parts.add(new Spaces(coordinator, node, incarnation));

        Notifier noticed = new Notifier();
        shards = mapped.usedBy(movers.add(new Shards(config, cpus, pool, transports, noticed::run)));
        LinkKeys keys = LinkKeys.generate(node, incarnation, doors.tls());
        LocalNode self = new LocalNode(node, incarnation, pool, coordinator, keys);
        links = movers.add(new LinkControl(self, transports, shards.all(), AgentOptions.links(config)));
        noticed.target = links::noticed;
        PageTool pages = new PageTool(
                self,
                shards.loops().getFirst(),
                peer -> links.link(peer, 0),
                config.get(AgentKeys.FETCH_DEPTH),
                config.get(AgentKeys.FETCH_DEADLINE));
        Guests guests = movers.add(new Guests(self, spaces, shards.loops(), links::link, AgentOptions.guests(config)));
        hosting = movers.add(new Hosting(coordinator, node, incarnation));
        releases = movers.add(new Releases(coordinator, node, incarnation, pool, hosting));
        fences = movers.add(new Fences(coordinator, node, incarnation, links));
        EventWatch events = movers.add(new EventWatch(coordinator, new Events()));

        Metrics metrics = new Metrics("farpage_agent");
        Map<String, Fetcher> fetchers = Map.of("page-tool", pages.fetcher());
        AgentMetrics.register(metrics.registry(), fetchers, links, pool);
        CoordinatorMetrics.register(metrics.registry(), coordinator.allegiance());
        GuestMetrics.register(metrics.registry(), guests);
        ShardApi shardApi = new ShardApi(shards.loops());
        shardApi.register(metrics.registry());
        rest = parts.add(RestServer.start(
                new RestServer.Options(
                        "page-agent",
                        VERSION,
                        doors.entrance(),
                        MAX_BODY,
                        () -> DescriptorReserve.leavesRoom(DescriptorReserve.ORDINARY)),
                Stream.of(
                                new AgentApi(transports, links, spaces, pages).routes(),
                                new GuestApi(guests).routes(),
                                shardApi.routes(),
                                new ImageApi(spaces, new SpaceImage(spaces, pages)).routes())
                        .flatMap(List::stream)
                        .toList(),
                metrics,
                this::health));
        HostPort listening = rest.listening();
        announcement = new Announcement(
                incarnation,
                new HostPort(config.get(AgentKeys.API_ADVERTISE).orElse(listening.host()), listening.port()),
                pool,
                transports,
                keys);
        membership = parts.add(
                new Membership(coordinator, node, announcement.registration(), announcement.regions(), ended));

        RebuildReports reports = movers.add(new RebuildReports(
                coordinator,
                node,
                announcement::registration,
                new RebuildReports.Known(hosting, spaces, fences, links::superseded)));
        // The link key is registered again, signed with the certificate that is in use now.
        doors.tls()
                .ifPresent(tls ->
                        tls.onChange(() -> membership.update(announcement.registration(), announcement.regions())));
        if (config.get(AgentKeys.TLS_RENEW)) {
            doors.tls()
                    .ifPresent(tls -> parts.add(new CertificateRenewal(coordinator, node, tls))
                            .start());
        }
        DeviceWatch devices = movers.add(new DeviceWatch(transports, new Devices()));
        shards.start();
        devices.start();
        releases.start();
        hosting.start();
        reports.start();
        fences.start();
        spaces.start();
        membership.start();
        links.start();
        events.start();
    }

    /**
     * Opens an agent and starts it. It registers as soon as the coordinator answers.
     *
     * @param ended called when this agent must be closed because the cluster has ended this incarnation
     * @throws PoolException if the pool cannot be opened as configured
     * @throws io.farpage.verbs.VerbsException if the transport cannot be opened as configured
     * @throws io.farpage.rest.ListenException if the REST API's port is taken
     * @throws IllegalArgumentException if a configured value does not fit this machine
     */
    public static PageAgent open(Config config, Providers providers, Consumer<Ending> ended) throws PoolException {
        CloseStack parts = new CloseStack();
        CloseStack movers = new CloseStack();
        try {
            return new PageAgent(parts, movers, config, providers, ended);
        } catch (PoolException | RuntimeException e) {
            movers.closeAfter(e);
            parts.closeAfter(e);
            throw e;
        }
    }

    private static Incarnation newIncarnation() {
        long value = 0;
        while (value == 0) {
            value = new SecureRandom().nextLong();
        }
        return new Incarnation(value);
    }

    private Health health() {
        boolean registered = membership.isRegistered();
        return new Health(
                true,
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
                        "pool", pool.backing().toString()));
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

    /** URL of the REST API, for a client on this machine. */
    public String url() {
        return rest.url();
    }

    /** Where the REST API listens. */
    public HostPort listening() {
        return rest.listening();
    }

    /**
     * Drains and deregisters. The order keeps another node from attaching to a space, and a home from reusing its frames, while WRITEs of this node
     * can still arrive: the agent takes no more requests, ends guests, links and shards, and only then detaches from its spaces and
     * deregisters. If the shards do not end in time, it deregisters without detaching, and the homes cut it off.
     */
    @Override
    public void close() {
        membership.leave();
        rest.close();
        boolean stopped = movers.closeWithin(DRAIN) && shards.haveStopped();
        if (stopped && !membership.isOver()) {
            spaces.detachAll();
        }
        membership.close();
        if (stopped) {
            parts.closeLogged();
        } else {
            log.error("pages may still be moved {} after the agent began to end; its memory stays mapped", DRAIN);
        }
    }

    /** Breaks the cycle between the shards, which signal notices to the links, and the links, which need the shards. */
    private static final class Notifier {
        private volatile Runnable target = () -> {};

        void run() {
            target.run();
        }
    }

    private final class Devices implements DeviceWatch.Listener {
        @Override
        public void found(OpenDevice device) {
            shards.add(device);
            informPeers();
            links.devicesChanged();
        }

        @Override
        public void removed(OpenDevice device) {
            informPeers();
        }

        private void informPeers() {
            if (!transports.devices().isEmpty()) {
                membership.update(announcement.registration(), announcement.regions());
            }
        }

        @Override
        public void changed(OpenDevice device) {
            links.devicesChanged();
        }

        @Override
        public CompletableFuture<Void> abandon(OpenDevice device) {
            return links.abandon(device);
        }
    }

    private final class Events implements EventWatch.Listener {
        @Override
        public void event(Event event) {
            switch (event.kind()) {
                case NODE_REGISTERED, NODE_CHANGED, NODE_FAILED, NODE_REVIVED, NODE_REMOVED -> links.nodesChanged();
                case REGION_PUBLISHED -> event.node().ifPresent(links::regionsChanged);
                case ENDPOINT_PUBLISHED, ENDPOINT_WITHDRAWN -> {
                    if (event.peer().filter(node::equals).isPresent()) {
                        event.node().ifPresent(links::offerChanged);
                    }
                }
                case SPACE_DELETING, SPACE_DELETED -> {
                    hosting.refresh();
                    event.spaceId().ifPresent(spaces::deleted);
                }
                case EXTENTS_LOST -> {
                    hosting.refresh();
                    event.spaceId().ifPresent(spaces::changed);
                }
                case RELEASES_PENDING -> {
                    if (event.node().filter(node::equals).isPresent()) {
                        releases.refresh();
                    }
                }
                case FENCES_CHANGED -> {
                    if (event.node().filter(node::equals).isPresent()) {
                        fences.refresh();
                    }
                }
                case SPACE_CREATED, SPACE_TORN, SPACE_SEALED -> hosting.refresh();
                case CLUSTER_FORMED, CLUSTER_DISSOLVED, UNKNOWN -> {}
            }
        }

        @Override
        public void resync() {
            links.nodesChanged();
            spaces.resync();
            releases.refresh();
            fences.refresh();
            hosting.refresh();
        }
    }
}
