package io.farpage.agent.node;

import io.farpage.agent.client.AgentAddress;
import io.farpage.agent.config.AgentKeys;
import io.farpage.agent.config.AgentOptions;
import io.farpage.agent.config.Providers;
import io.farpage.agent.control.CloseStack;
import io.farpage.agent.control.LocalNode;
import io.farpage.agent.control.ShardPulse;
import io.farpage.agent.control.device.DeviceWatch;
import io.farpage.agent.control.device.Transports;
import io.farpage.agent.control.keeper.KeptMemory;
import io.farpage.agent.control.link.LinkControl;
import io.farpage.agent.control.member.CertificateRenewal;
import io.farpage.agent.control.member.Ending;
import io.farpage.agent.control.member.Membership;
import io.farpage.agent.control.member.RebuildReports;
import io.farpage.agent.control.space.Spaces;
import io.farpage.agent.data.shard.ShardLoop;
import io.farpage.config.Config;
import io.farpage.config.HostPort;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.model.Seen;
import io.farpage.pool.PagePool;
import io.farpage.pool.PoolException;
import io.farpage.rest.Health;
import io.farpage.tls.Tls;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One node: its pool, its devices, the shards that move pages, and the control plane around it. Opening it registers
 * the node; closing it drains and deregisters.
 */
public final class PageAgent implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(PageAgent.class);
    static final String VERSION = "0.1.0";
    private static final Duration DRAIN = Duration.ofSeconds(20);

    private final CloseStack parts;
    /** Closed first, and within {@link #DRAIN}. */
    private final CloseStack moving;

    private final Foundation base;
    private final Movers movers;
    private final Surface surface;
    private final AgentHealth health;
    private final Announcement announcement;
    private final Membership membership;
    private final RebuildReports reports;
    private final DeviceWatch devices;
    private final Optional<DrainOnStop> draining;

    private PageAgent(CloseStack parts, CloseStack moving, Start start) throws PoolException {
        this.parts = parts;
        this.moving = moving;
        base = Foundation.open(parts, start);
        Config config = base.config();
        LocalNode self = base.self();
        draining = config.get(AgentKeys.DRAIN_ON_STOP)
                ? Optional.of(new DrainOnStop(self.coordinator(), self.id(), config.get(AgentKeys.DRAIN_TIMEOUT)))
                : Optional.empty();
        movers = new Movers(moving, base);
        health = moving.add(new AgentHealth(
                new ShardPulse(shards()),
                new AgentHealth.Sources(
                        () -> coordinator().allegiance().status().refusal(),
                        links()::status,
                        () -> pool().backing() + base.keeping().describe(),
                        () -> config.get(AgentKeys.KEEPER_STANDBY)
                                ? base.keeping().keeper().map(KeptMemory::standby)
                                : Optional.empty()),
                InstantSource.system()));
        surface = new Surface(parts, base, movers, this::health, start.ended());
        announcement = new Announcement(
                self.incarnation(),
                AgentOptions.published(config, surface.address()),
                self.pool(),
                base.transports(),
                self.keys(),
                config.get(AgentKeys.NODE_DOMAIN),
                movers.guests().adopted());
        membership =
                parts.add(new Membership(self.coordinator(), self.id(), announcement.registration(), start.ended()));
        reports = moving.add(new RebuildReports(
                self.coordinator(),
                self.id(),
                announcement::registration,
                new RebuildReports.Known(
                        movers.hosting(), base.spaces(), links()::superseded, movers.guests()::left, movers.events())));
        base.doors().tls().ifPresent(this::follow);
        devices = moving.add(new DeviceWatch(
                base.transports(),
                new DeviceChanges(links(), membership, announcement, movers.hosting()),
                System::nanoTime));
        start();
    }

    /** Registers a renewed certificate, and renews it if configured. */
    private void follow(Tls tls) {
        tls.onChange(base.audit()::certificateChanged);
        // The link key is registered again, signed with the certificate that is in use now.
        tls.onChange(() -> membership.update(announcement.registration()));
        if (base.config().get(AgentKeys.TLS_RENEW)) {
            parts.add(new CertificateRenewal(coordinator(), node(), tls)).start();
        }
    }

    private void start() {
        health.start(membership::isRegistered);
        movers.start();
        devices.start();
        reports.start();
        base.keeping().begin();
        membership.start();
        movers.startGuests(membership::isRegistered);
        surface.start();
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
        CloseStack moving = new CloseStack();
        try {
            return new PageAgent(parts, moving, start);
        } catch (PoolException | RuntimeException e) {
            moving.closeAfter(e);
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

    /** The answer of {@code /health}, which the API gives before this agent is complete. */
    private Health health() {
        return Health.of(
                "page-agent",
                VERSION,
                Map.of(
                        "node", node(),
                        "incarnation", base.self().incarnation().toString(),
                        "registered", Boolean.toString(health.isRegistered()),
                        "seen",
                                coordinator()
                                        .allegiance()
                                        .status()
                                        .seen()
                                        .map(Seen::toString)
                                        .orElse("nothing"),
                        "coordinator",
                                coordinator()
                                        .allegiance()
                                        .status()
                                        .refusal()
                                        .map(reason -> "not obeyed: " + reason)
                                        .orElse("obeyed"),
                        "transport", transports().preferred().toString(),
                        "pool", pool().backing().toString()),
                health.parts());
    }

    public String node() {
        return base.self().id();
    }

    public PagePool pool() {
        return base.self().pool();
    }

    public Spaces spaces() {
        return base.spaces();
    }

    public CoordinatorClient coordinator() {
        return base.self().coordinator();
    }

    /** The threads that move pages, one or more. */
    public List<ShardLoop> shards() {
        return movers.shards().loops();
    }

    public LinkControl links() {
        return movers.links();
    }

    public Transports transports() {
        return base.transports();
    }

    /** Path of the Unix socket that serves the REST API. */
    public Path socket() {
        return surface.path();
    }

    /** TCP address of the REST API, if it is served on one. */
    public Optional<HostPort> listening() {
        return surface.address();
    }

    /** Where the REST API is served, as the option {@code --agent} takes it: the Unix socket first. */
    public List<String> urls() {
        return Stream.concat(
                        Stream.of(AgentAddress.UNIX + surface.path()),
                        surface.address().stream().map(_ -> surface.url()))
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
        surface.close();
        boolean stopped = moving.closeWithin(DRAIN) && movers.shards().haveStopped();
        if (stopped && !membership.isOver()) {
            spaces().detachAll();
        }
        membership.close();
        if (membership.isPoolVoid()) {
            base.keeping().drop();
        }
        if (stopped) {
            parts.closeLogged();
        } else {
            log.error("pages may still be moved {} after the agent began to end; its memory stays mapped", DRAIN);
        }
    }
}
