package io.farpage.coordinator.server;

import io.farpage.config.Config;
import io.farpage.config.ConfigException;
import io.farpage.coordinator.cluster.Time;
import io.farpage.coordinator.config.Settings;
import io.farpage.coordinator.lead.Candidacy;
import io.farpage.coordinator.lead.Term;
import io.farpage.coordinator.rebuild.RebuildServer;
import io.farpage.coordinator.store.StoreException;
import io.farpage.supervise.Supervision;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One of several coordinators: it follows until it is elected, leads until its term ends, and follows again. */
final class SharedRun {

    private static final Logger LOG = LoggerFactory.getLogger(SharedRun.class);

    /** How often a coordinator that takes reports looks whether it still leads. */
    private static final Duration REBUILD_CHECK = Duration.ofMillis(200);

    /** How often a leader looks whether its loop goes on. */
    private static final Duration STALL_CHECK = Duration.ofSeconds(1);

    private final Config config;
    private final @Nullable Path portFile;
    private final AtomicReference<AutoCloseable> ending = new AtomicReference<>(() -> {});
    private final AtomicReference<Optional<Coordinator>> leading = new AtomicReference<>(Optional.empty());
    private final Supervision supervision;
    private Optional<Set<String>> rebuild;

    /**
     * @param rebuild the nodes that are to report before this coordinator serves in its first term; empty without
     *     {@code --rebuild}
     */
    SharedRun(Config config, @Nullable Path portFile, Optional<Set<String>> rebuild) {
        if (config.get(Settings.LISTEN).port() == 0) {
            throw new ConfigException(
                    List.of("server.listen: port 0 is not allowed with store.kind etcd: the other coordinators name"
                            + " this one's URL"));
        }
        this.config = config;
        this.portFile = portFile;
        this.rebuild = rebuild;
        this.supervision =
                Supervision.begin(System.getenv(), () -> leading.get().flatMap(Coordinator::stalled));
    }

    int run(PrintWriter out) throws IOException, InterruptedException {
        URI own = StoreAccess.own(config);
        try (Candidacy candidacy = StoreAccess.elections().open(config, own)) {
            Runtime.getRuntime()
                    .addShutdownHook(Thread.ofPlatform().name("shutdown").unstarted(this::end));
            boolean first = true;
            while (true) {
                Term term = follow(candidacy, first, out, own);
                first = false;
                lead(term, own, out);
            }
        }
    }

    private void end() {
        supervision.stopping();
        try {
            ending.get().close();
        } catch (Exception e) {
            LOG.debug("the term ends by its lease: {}", e.getMessage());
        }
        Runtime.getRuntime().halt(0);
    }

    private Term follow(Candidacy candidacy, boolean first, PrintWriter out, URI own)
            throws IOException, InterruptedException {
        try (Following following = Following.start(config, Doors.open(config), candidacy)) {
            if (first) {
                if (portFile != null) {
                    RunOptions.writePort(portFile, following.listening().port());
                }
                out.println("coordinator listening on " + following.url());
                out.flush();
                supervision.ready("listening on " + following.url());
                LeadRehearsal.begin(
                        config,
                        () -> leading.get().isEmpty() && candidacy.leader().isPresent());
            }
            LOG.info("{} follows until it is elected", own);
            Term term = candidacy.campaign();
            LOG.info("{} is elected for term {} and takes over", own, term.number());
            return term;
        }
    }

    /** Takes reports until a requested rebuild is finished. True without a rebuild; false if the term ends first. */
    private boolean isRebuilt(Term term, PrintWriter out) throws InterruptedException {
        if (rebuild.isEmpty()) {
            return true;
        }
        Doors doors = Doors.open(config);
        try (RebuildServer server = new RebuildServer(doors.options(config), term.store(), rebuild.get())) {
            out.println("coordinator takes reports for its rebuild on " + server.url());
            out.flush();
            boolean finished = false;
            while (!finished && term.holds()) {
                finished = server.awaitFinished(REBUILD_CHECK);
            }
            if (finished) {
                rebuild = Optional.empty();
            }
            return finished;
        } finally {
            doors.close();
        }
    }

    /**
     * Waits for the end of a term, and ends it if the leader's loop stands still: the lease is renewed all the same, so
     * no other could be elected.
     */
    static void awaitEnd(Term term, Supplier<Optional<String>> stalled) throws InterruptedException {
        while (!term.awaitEnd(STALL_CHECK)) {
            Optional<String> reason = stalled.get();
            if (reason.isPresent()) {
                LOG.error("it gives up its lead: {}", reason.get());
                term.close();
                return;
            }
        }
    }

    /** Leads with the state that the last leader left; every node has a whole lease from now on. */
    private void lead(Term term, URI own, PrintWriter out) throws InterruptedException {
        try (term) {
            ending.set(term);
            Coordinator coordinator;
            try {
                if (!isRebuilt(term, out)) {
                    LOG.warn("leads no longer; it takes reports for its rebuild when it is elected again");
                    return;
                }
                coordinator = Coordinator.start(config, Time.system(), Doors.open(config), term, own);
            } catch (StoreException e) {
                LOG.warn("this coordinator was elected and cannot lead: {}", e.getMessage());
                return;
            }
            leading.set(Optional.of(coordinator));
            try (coordinator) {
                LOG.info("leads in term {}: {}", term.number(), coordinator.standing());
                awaitEnd(term, coordinator::stalled);
                LOG.warn("leads no longer; it follows again");
            }
        } finally {
            leading.set(Optional.empty());
            ending.set(() -> {});
        }
    }
}
