package io.farpage.coordinator.server;

import io.farpage.audit.Audit;
import io.farpage.audit.AuditEvent;
import io.farpage.config.Config;
import io.farpage.config.HostPort;
import io.farpage.coordinator.api.Api;
import io.farpage.coordinator.api.Guard;
import io.farpage.coordinator.cluster.Heat;
import io.farpage.coordinator.cluster.Ledger;
import io.farpage.coordinator.cluster.Lineage;
import io.farpage.coordinator.cluster.Membership;
import io.farpage.coordinator.cluster.Moves;
import io.farpage.coordinator.cluster.Rebalancer;
import io.farpage.coordinator.cluster.Repairs;
import io.farpage.coordinator.cluster.Spaces;
import io.farpage.coordinator.cluster.StoreProbe;
import io.farpage.coordinator.cluster.Time;
import io.farpage.coordinator.config.Settings;
import io.farpage.coordinator.lead.Term;
import io.farpage.coordinator.store.MvStore;
import io.farpage.coordinator.store.Store;
import io.farpage.coordinator.store.StoreException;
import io.farpage.rest.Health;
import io.farpage.rest.ListenException;
import io.farpage.rest.Liveness;
import io.farpage.rest.Metrics;
import io.farpage.rest.RestServer;
import io.farpage.rest.Route;
import io.farpage.supervise.LoopPulse;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A running coordinator. Closing it ends it; all that was answered is in the store already. */
public final class Coordinator implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(Coordinator.class);

    private static final Duration STORE_PAUSE = Duration.ofSeconds(1);
    /** How long leases may take to be checked, a commit on a slow disk included. */
    private static final Duration LONGEST_STEP = Duration.ofSeconds(20);

    private final Store store;
    private final Lineage lineage;
    private final Ledger ledger;
    private final RestServer server;
    private final Doors doors;
    private final Audit audit;
    private final Thread leaseWatch;
    private final Thread repairs;
    private final LoopPulse pulse;
    private volatile boolean closed;

    /** What is written, and what has been. */
    private record Records(Store store, Lineage lineage, Ledger ledger) {}

    /** What is done from time to time. */
    private record Routine(LeaseCheck leases, Rebalancer rebalancer, Repairs repairs, LoopPulse pulse) {}

    private Coordinator(Config config, Records records, RestServer server, Routine routine, Doors doors) {
        this.store = records.store();
        this.lineage = records.lineage();
        this.ledger = records.ledger();
        this.server = server;
        this.doors = doors;
        this.audit = doors.audit(config);
        this.pulse = routine.pulse();
        Duration checkEvery = routine.leases().longest();
        this.leaseWatch = Thread.ofPlatform().daemon().name("lease-watch").unstarted(() -> watch(routine, checkEvery));
        this.repairs = Thread.ofPlatform().daemon().name("repairs").unstarted(() -> repair(routine, checkEvery));
    }

    /**
     * Opens the store and starts the service.
     *
     * @throws io.farpage.coordinator.store.StoreException if the store cannot be used
     * @throws ListenException if it cannot listen where it should
     */
    public static Coordinator start(Config config, Time time) {
        return start(config, time, Doors.open(config));
    }

    static Coordinator start(Config config, Time time, Doors doors) {
        return start(config, time, MvStore.open(config.get(Settings.DIRECTORY)), doors, Lead.ALONE);
    }

    /**
     * Starts the service of a coordinator that leads for a term; it answers nothing that may contradict the leader of
     * the next one.
     */
    static Coordinator start(Config config, Time time, Doors doors, Term term, URI own) {
        return start(config, time, term.store(), doors, Lead.during(term, own));
    }

    private static Coordinator start(Config config, Time time, Store store, Doors doors, Lead lead) {
        try {
            Coordinator coordinator = assemble(config, time, store, doors, lead);
            coordinator.pulse.beat(LONGEST_STEP);
            coordinator.leaseWatch.start();
            coordinator.repairs.start();
            return coordinator;
        } catch (RuntimeException e) {
            store.close();
            doors.close();
            throw e;
        }
    }

    private static Coordinator assemble(Config config, Time time, Store store, Doors doors, Lead lead) {
        Metrics metrics = new Metrics("farpage_coordinator");
        CoordinatorMetrics own = new CoordinatorMetrics(metrics.registry());
        Lineage lineage = Lineage.begin(store);
        Ledger ledger = new Ledger(store, config.get(Settings.EVENTS), own::committed);
        Membership membership =
                new Membership(ledger, time, config.get(Settings.LEASE), config.get(Settings.HEARTBEAT));
        Heat heat = new Heat(System::nanoTime);
        Spaces spaces = new Spaces(
                ledger,
                time,
                heat,
                new Spaces.Options(config.get(Settings.REBALANCE), config.get(Settings.OVERCOMMIT)));
        Moves moves = new Moves(time);
        Repairs repairs = new Repairs(ledger, time, moves, config.get(Settings.REPAIR_GRACE));
        Rebalancer rebalancer = new Rebalancer(ledger, time, heat, moves, rebalancing(config));
        own.watchLead(lead.holds());
        own.watch(() -> ledger);
        own.watchMoves(() -> moves);
        own.watchLineage(() -> lineage, () -> ledger);
        RestServer.Options options = doors.options(config);
        Api api = new Api(
                ledger,
                time,
                membership,
                new Api.Memory(spaces, heat, repairs),
                new Api.Doors(
                        doors.issuer(config), doors.keys(), options.entrance().control()));
        StoreProbe probe = new StoreProbe(ledger);
        LoopPulse pulse = new LoopPulse("the check of leases", System::nanoTime);
        pulse.beat(LONGEST_STEP);
        List<Route> routes = new ArrayList<>(api.routes());
        routes.add(Liveness.route(pulse::stalled));
        RestServer server = RestServer.start(
                options,
                routes,
                metrics,
                () -> health(options, lineage, ledger, probe.part()).with(lead.details()),
                Following.both(lead.around(), new Guard(lineage, ledger).around()));
        return new Coordinator(
                config,
                new Records(store, lineage, ledger),
                server,
                new Routine(
                        new LeaseCheck(lineage, ledger, membership, config.get(Settings.LEASE)),
                        rebalancer,
                        repairs,
                        pulse),
                doors);
    }

    private static Rebalancer.Options rebalancing(Config config) {
        return new Rebalancer.Options(
                config.get(Settings.REBALANCE),
                config.get(Settings.REBALANCE_INTERVAL),
                config.get(Settings.REBALANCE_IDLE));
    }

    private static Health health(RestServer.Options options, Lineage lineage, Ledger ledger, Health.Part store) {
        return Health.of(
                options.service(),
                options.version(),
                Map.of(
                        "cluster", lineage.cluster().toString(),
                        "epoch", lineage.epoch().toString(),
                        "revision", Long.toString(ledger.revision()),
                        "history", lineage.behind().orElse("ok"),
                        "index", Long.toString(ledger.state().index()),
                        "nodes", Integer.toString(ledger.state().nodes().size()),
                        "store", ledger.failure().orElse("ok")),
                List.of(
                        store,
                        lineage.behind()
                                .map(reason -> Health.Part.failed("history", reason))
                                .orElseGet(() -> Health.Part.ok("history", "no agent has seen more"))));
    }

    private void watch(Routine routine, Duration every) {
        while (!closed) {
            pulse.beat(LONGEST_STEP.plus(STORE_PAUSE));
            try {
                Duration pause = routine.leases().step(this::failed);
                pulse.beat(pause.plus(LONGEST_STEP));
                Thread.sleep(pause);
            } catch (InterruptedException e) {
                return;
            } catch (StoreException e) {
                // The store says why with each request that fails; the health page repeats it.
                LOG.debug("the store cannot be written yet: {}", e.getMessage());
                pause(STORE_PAUSE);
            } catch (RuntimeException e) {
                LOG.error("leases could not be checked; trying again in {} ms", every.toMillis(), e);
                pulse.beat(every.plus(LONGEST_STEP));
                pause(every);
            }
        }
    }

    /** Planning takes the longer the more extents there are, and must not hold up the check of leases. */
    private void repair(Routine routine, Duration every) {
        while (!closed) {
            try {
                if (lineage.behind().isEmpty()) {
                    routine.rebalancer().step();
                    int joined = routine.repairs().step();
                    if (joined > 0) {
                        LOG.info("{} extents are given another home, to which their pages are copied", joined);
                    }
                }
                Thread.sleep(every);
            } catch (InterruptedException e) {
                return;
            } catch (StoreException e) {
                LOG.debug("the store cannot be written yet: {}", e.getMessage());
                pause(STORE_PAUSE);
            } catch (RuntimeException e) {
                LOG.error("extents could not be given other homes; trying again in {} ms", every.toMillis(), e);
                pause(every);
            }
        }
    }

    private void failed(String node) {
        String reason = "it missed its lease and is taken to have failed";
        LOG.warn("node {}: {}", node, reason);
        audit.record(new AuditEvent(
                AuditEvent.Actor.PROGRAM, "node.fail", node, AuditEvent.Outcome.OK, Map.of("cause", reason)));
    }

    private static void pause(Duration time) {
        try {
            Thread.sleep(time);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Which cluster, epoch and revision, for the log. */
    String standing() {
        return "cluster %s, epoch %s, revision %d".formatted(lineage.cluster(), lineage.epoch(), ledger.revision());
    }

    /** Why leases are not checked, which is what this program must never stop doing; empty while they are. */
    Optional<String> stalled() {
        return pulse.stalled();
    }

    /** Where it listens, with the port that the system chose. */
    public HostPort listening() {
        return server.listening();
    }

    /** The URL for a client on this machine. */
    public URI url() {
        return URI.create(server.url());
    }

    /** The routes that are registered, for tests. */
    RestServer server() {
        return server;
    }

    @Override
    public void close() {
        closed = true;
        leaseWatch.interrupt();
        repairs.interrupt();
        ledger.events().close();
        server.close();
        store.close();
        doors.close();
    }
}
