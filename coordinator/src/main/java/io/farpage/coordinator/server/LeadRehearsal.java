package io.farpage.coordinator.server;

import io.farpage.config.Config;
import io.farpage.config.ConfigException;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.cluster.Time;
import io.farpage.coordinator.config.Settings;
import io.farpage.coordinator.store.StoreException;
import io.farpage.rest.ListenException;
import io.farpage.tls.TlsKeys;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Starts and ends a coordinator on an empty store of its own while this process follows, so that what a leader runs is
 * loaded and partly compiled when this process is elected. The store is in {@code store.directory}, and the port, which
 * the system chooses, is on the loopback. It admits the same clients as the coordinator that is configured, since what
 * it serves reaches into this process: its log level, for one.
 */
final class LeadRehearsal {

    private static final Logger LOG = LoggerFactory.getLogger(LeadRehearsal.class);
    private static final Duration DEADLINE = Duration.ofSeconds(10);
    static final String STORE = "rehearsal";

    private LeadRehearsal() {}

    /**
     * Has one in the background, once the lease of a leader that was killed as this process began would have run out:
     * on one host it would take time from the coordinator that takes over.
     *
     * @param follows whether this process still follows a leader then; otherwise there is none
     */
    static void begin(Config configured, BooleanSupplier follows) {
        Duration pause = configured.get(Settings.ETCD_LEASE).multipliedBy(2);
        Thread.ofPlatform().daemon().name("lead-rehearsal").start(() -> {
            LockSupport.parkNanos(pause.toNanos());
            if (follows.getAsBoolean()) {
                run(configured);
            }
        });
    }

    /** Runs one. One that fails costs time later, and nothing else. Returns whether it came to its end. */
    static boolean run(Config configured) {
        long began = System.nanoTime();
        Path directory = configured.get(Settings.DIRECTORY).resolve(STORE);
        try {
            // A process that was killed in a rehearsal has left its own.
            delete(directory);
            try {
                rehearse(directory, configured);
            } finally {
                delete(directory);
            }
            LOG.info("rehearsed to lead in {} ms", (System.nanoTime() - began) / 1_000_000);
            return true;
        } catch (IOException | CoordinatorException | StoreException | ListenException | ConfigException e) {
            LOG.warn("this follower could not rehearse, so it will take over more slowly: {}", e.getMessage());
            return false;
        }
    }

    private static void rehearse(Path directory, Config configured) throws CoordinatorException {
        try (Coordinator coordinator = open(directory, configured)) {
            if (configured.isSet(TlsKeys.CERTIFICATE)) {
                return; // a client would need a certificate of its own
            }
            try (CoordinatorClient client = new CoordinatorClient(coordinator.url(), DEADLINE)) {
                client.nodes();
                client.spaces();
            }
        }
    }

    /** A coordinator with the certificates and tokens of the one that is configured, and a store of its own. */
    static Coordinator open(Path directory, Config configured) {
        return Coordinator.start(config(directory), Time.system(), Doors.open(configured));
    }

    private static Config config(Path directory) {
        return Settings.SCHEMA.load(
                Optional.empty(),
                Map.of(),
                Map.of(Settings.DIRECTORY.name(), directory.toString(), Settings.LISTEN.name(), "127.0.0.1:0"));
    }

    private static void delete(Path directory) throws IOException {
        if (!Files.exists(directory)) {
            return;
        }
        try (Stream<Path> all = Files.walk(directory)) {
            for (Path path : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(path);
            }
        }
    }
}
