package io.farpage.coordinator;

import io.farpage.config.Config;
import io.farpage.config.HostPort;
import io.farpage.coordinator.api.Api;
import io.farpage.coordinator.api.Guard;
import io.farpage.coordinator.cluster.Heat;
import io.farpage.coordinator.cluster.Ledger;
import io.farpage.coordinator.cluster.Lineage;
import io.farpage.coordinator.cluster.Membership;
import io.farpage.coordinator.cluster.Spaces;
import io.farpage.coordinator.cluster.Time;
import io.farpage.coordinator.store.MvStore;
import io.farpage.coordinator.store.Store;
import io.farpage.coordinator.store.StoreException;
import io.farpage.rest.Health;
import io.farpage.rest.ListenException;
import io.farpage.rest.Metrics;
import io.farpage.rest.RestServer;
import java.net.URI;
import java.time.Duration;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A running coordinator. Closing it ends it; all that was answered is in the store already. */
public final class Coordinator implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(Coordinator.class);
    private static final Duration SHORTEST_CHECK = Duration.ofMillis(10);

    private static final Duration STORE_PAUSE = Duration.ofSeconds(1);

    private final Store store;
    private final Lineage lineage;
    private final Ledger ledger;
    private final RestServer server;
    private final Thread leaseWatch;
    private volatile boolean closed;

    private Coordinator(
            Store store,
            Lineage lineage,
            Ledger ledger,
            RestServer server,
            Membership membership,
            Duration checkEvery) {
        this.store = store;
        this.lineage = lineage;
        this.ledger = ledger;
        this.server = server;
        this.leaseWatch =
                Thread.ofPlatform().daemon().name("lease-watch").unstarted(() -> watch(membership, checkEvery));
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
        Store store = MvStore.open(config.get(Settings.DIRECTORY));
        try {
            Coordinator coordinator = start(config, time, store, doors);
            coordinator.leaseWatch.start();
            return coordinator;
        } catch (RuntimeException e) {
            store.close();
            throw e;
        }
    }

    private static Coordinator start(Config config, Time time, Store store, Doors doors) {
        Metrics metrics = new Metrics("farpage_coordinator");
        CoordinatorMetrics own = new CoordinatorMetrics(metrics.registry());
        Lineage lineage = Lineage.begin(store);
        Ledger ledger = new Ledger(store, config.get(Settings.EVENTS), own::committed);
        Membership membership =
                new Membership(ledger, time, config.get(Settings.LEASE), config.get(Settings.HEARTBEAT));
        Heat heat = new Heat();
        Spaces spaces = new Spaces(ledger, time, heat);
        own.watch(ledger, spaces);
        own.watch(lineage, ledger);
        RestServer.Options options = doors.options(config, doors.serving());
        Api api = new Api(
                ledger,
                time,
                membership,
                new Api.Memory(spaces, heat),
                new Api.Doors(doors.issuer(config), options.entrance().control()));
        RestServer server = RestServer.start(
                options,
                api.routes(),
                metrics,
                () -> health(options, lineage, ledger),
                new Guard(lineage, ledger).around());
        Duration shorter = config.get(Settings.LEASE).dividedBy(20);
        return new Coordinator(
                store,
                lineage,
                ledger,
                server,
                membership,
                shorter.compareTo(SHORTEST_CHECK) < 0 ? SHORTEST_CHECK : shorter);
    }

    private static Health health(RestServer.Options options, Lineage lineage, Ledger ledger) {
        return new Health(
                ledger.failure().isEmpty() && lineage.behind().isEmpty(),
                options.service(),
                options.version(),
                Map.of(
                        "cluster", lineage.cluster().toString(),
                        "epoch", lineage.epoch().toString(),
                        "revision", Long.toString(ledger.revision()),
                        "history", lineage.behind().orElse("ok"),
                        "index", Long.toString(ledger.state().index()),
                        "nodes", Integer.toString(ledger.state().nodes().size()),
                        "store", ledger.failure().orElse("ok")));
    }

    private void watch(Membership membership, Duration every) {
        while (!closed) {
            try {
                ledger.probe();
                membership
                        .expire()
                        .forEach(node -> LOG.warn("node {} missed its lease and is taken to have failed", node));
                Thread.sleep(every);
            } catch (InterruptedException e) {
                return;
            } catch (StoreException e) {
                // The store says why with each request that fails; the health page repeats it.
                LOG.debug("the store cannot be written yet: {}", e.getMessage());
                pause(STORE_PAUSE);
            } catch (RuntimeException e) {
                LOG.error("leases could not be checked; trying again in {} ms", every.toMillis(), e);
                pause(every);
            }
        }
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
        ledger.events().close();
        server.close();
        store.close();
    }
}
