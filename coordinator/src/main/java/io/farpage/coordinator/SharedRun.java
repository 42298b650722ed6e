package io.farpage.coordinator;

import io.farpage.config.Config;
import io.farpage.config.ConfigException;
import io.farpage.coordinator.cluster.Time;
import io.farpage.coordinator.lead.Candidacy;
import io.farpage.coordinator.lead.Term;
import io.farpage.coordinator.store.StoreException;
import io.farpage.supervise.Supervision;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One of several coordinators: it follows until it is elected, leads until its term ends, and follows again. */
final class SharedRun {

    private static final Logger LOG = LoggerFactory.getLogger(SharedRun.class);

    private final Config config;
    private final @Nullable Path portFile;
    private final AtomicReference<AutoCloseable> ending = new AtomicReference<>(() -> {});
    private final AtomicReference<Optional<Coordinator>> leading = new AtomicReference<>(Optional.empty());
    private final Supervision supervision;

    SharedRun(Config config, @Nullable Path portFile, boolean rebuild) {
        if (rebuild) {
            throw new ConfigException(
                    List.of("--rebuild is for store.kind embedded; rebuild there, or restore a snapshot of etcd"));
        }
        if (config.get(Settings.LISTEN).port() == 0) {
            throw new ConfigException(
                    List.of(
                            "server.listen: port 0 is not allowed with store.kind etcd: the other coordinators name this one's URL"));
        }
        this.config = config;
        this.portFile = portFile;
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
                lead(term, own);
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
                if (candidacy.leader().isPresent()) { // otherwise this one is elected at once
                    LeadRehearsal.begin(config);
                }
            }
            LOG.info("{} follows until it is elected", own);
            Term term = candidacy.campaign();
            LOG.info("{} is elected for term {} and takes over", own, term.number());
            return term;
        }
    }

    /** Leads with the state that the last leader left; every node has a whole lease from now on. */
    private void lead(Term term, URI own) throws InterruptedException {
        try (term) {
            ending.set(term);
            Coordinator coordinator;
            try {
                coordinator = Coordinator.start(config, Time.system(), Doors.open(config), term, own);
            } catch (StoreException e) {
                LOG.warn("this coordinator was elected and cannot lead: {}", e.getMessage());
                return;
            }
            leading.set(Optional.of(coordinator));
            try (coordinator) {
                LOG.info("leads in term {}: {}", term.number(), coordinator.standing());
                term.awaitEnd();
                LOG.warn("leads no longer; it follows again");
            }
        } finally {
            leading.set(Optional.empty());
            ending.set(() -> {});
        }
    }
}
