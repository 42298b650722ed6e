package io.farpage.coordinator.server;

import io.farpage.config.Config;
import io.farpage.config.ConfigException;
import io.farpage.coordinator.access.AccessRecords;
import io.farpage.coordinator.config.Settings;
import io.farpage.coordinator.lead.Candidacy;
import io.farpage.coordinator.lead.Elections;
import io.farpage.coordinator.lead.Leader;
import io.farpage.coordinator.lead.Term;
import io.farpage.coordinator.store.MvStore;
import io.farpage.coordinator.store.Store;
import io.farpage.coordinator.store.StoreException;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;

/** A command's access to the store of a configuration while no coordinator runs on it. */
public final class StoreAccess implements AutoCloseable {

    /** An election takes as long as the lease of a leader that was killed, and some more. */
    private static final Duration ELECTION = Duration.ofSeconds(20);

    private final String name;
    private final Store store;
    private final BooleanSupplier isHeld;
    private final List<AutoCloseable> parts;

    private StoreAccess(String name, Store store, BooleanSupplier isHeld, List<AutoCloseable> parts) {
        this.name = name;
        this.store = store;
        this.isHeld = isHeld;
        this.parts = parts;
    }

    /**
     * Opens the store. One in etcd is opened as its leader, so that no coordinator that is started meanwhile writes to
     * it.
     *
     * @throws StoreException if it cannot be used, or a coordinator runs on it
     */
    public static StoreAccess open(Config config) {
        if (config.get(Settings.STORE_KIND) == Settings.StoreKind.EMBEDDED) {
            Path directory = config.get(Settings.DIRECTORY);
            Store store = MvStore.open(directory);
            return new StoreAccess("the store in " + directory, store, () -> true, List.of(store));
        }
        Candidacy candidacy = elections().open(config, own(config));
        try {
            Optional<Leader> leader = candidacy.leader();
            if (leader.isPresent()) {
                throw new StoreException(
                        ("the coordinator at %s leads on this store, or was killed within its lease; stop all"
                                        + " coordinators, or wait for the lease")
                                .formatted(leader.get().url()));
            }
            Term term = elected(candidacy);
            String name = "the store in etcd under " + config.get(Settings.ETCD_PREFIX);
            return new StoreAccess(name, term.store(), term::holds, List.of(term, candidacy));
        } catch (RuntimeException e) {
            candidacy.close();
            throw e;
        }
    }

    /** Where the tokens of a configuration are; may be used while coordinators run. */
    public static AccessRecords records(Config config) {
        return config.get(Settings.STORE_KIND) == Settings.StoreKind.EMBEDDED
                ? AccessRecords.in(config.get(Settings.DIRECTORY))
                : elections().access(config);
    }

    static Elections elections() {
        return ServiceLoader.load(Elections.class)
                .findFirst()
                .orElseThrow(() -> new ConfigException(List.of(
                        "store.kind: 'etcd' is not available: the module coordinator-etcd is not on the class path")));
    }

    /** Where clients reach the coordinator of a configuration. */
    public static URI own(Config config) {
        String scheme = config.isSet(io.farpage.tls.TlsKeys.CERTIFICATE) ? "https://" : "http://";
        return URI.create(config.get(Settings.URL).orElse(scheme + config.get(Settings.LISTEN)));
    }

    private static Term elected(Candidacy candidacy) {
        ExecutorService executor =
                Executors.newSingleThreadExecutor(Thread.ofPlatform().daemon().factory());
        try {
            Future<Term> term = executor.submit(candidacy::campaign);
            try {
                return term.get(ELECTION.toSeconds(), TimeUnit.SECONDS);
            } catch (TimeoutException e) {
                term.cancel(true);
                throw new StoreException(
                        ("etcd elected no leader within %d s; is a majority of store.etcd.endpoints up, and no"
                                        + " coordinator running?")
                                .formatted(ELECTION.toSeconds()),
                        e);
            } catch (ExecutionException e) {
                throw new StoreException("etcd: " + e.getCause(), e);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new StoreException("interrupted while waiting for the election", e);
            }
        } finally {
            executor.shutdownNow();
        }
    }

    /** What to call it in a message. */
    public String name() {
        return name;
    }

    public Store store() {
        return store;
    }

    /**
     * Checks after reading that nothing else can have written meanwhile.
     *
     * @throws StoreException if the lease that keeps coordinators from leading has ended
     */
    public void requireHeld() {
        if (!isHeld.getAsBoolean()) {
            throw new StoreException(
                    name + ": the lease of this command ended before all rows were read; run it again, and look after"
                            + " etcd if it happens often");
        }
    }

    /** Closes all parts, the others too if one fails. */
    @Override
    public void close() {
        List<Exception> failures = new ArrayList<>();
        for (AutoCloseable part : parts) {
            try {
                part.close();
            } catch (Exception e) {
                failures.add(e);
            }
        }
        if (!failures.isEmpty()) {
            Exception first = failures.getFirst();
            throw new StoreException(name + " could not be closed: " + first.getMessage(), first);
        }
    }
}
