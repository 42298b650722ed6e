package io.farpage.coordinator.etcd;

import io.etcd.jetcd.election.CampaignResponse;
import io.etcd.jetcd.election.LeaderKey;
import io.farpage.coordinator.lead.Candidacy;
import io.farpage.coordinator.lead.Term;
import io.farpage.coordinator.store.StoreException;
import java.net.URI;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A candidate of etcd's election: a lease, and a key that belongs to it and names the candidate's URL. */
final class EtcdCandidacy implements Candidacy {

    private static final Logger LOG = LoggerFactory.getLogger(EtcdCandidacy.class);
    private static final String ELECTION = "leader";
    private static final long POLL_MILLIS = 20;

    private final Etcd etcd;
    private final URI own;
    private final Duration lease;

    EtcdCandidacy(Etcd etcd, URI own, Duration lease) {
        this.etcd = etcd;
        this.own = own;
        this.lease = lease;
    }

    @Override
    public Term campaign() throws InterruptedException {
        while (true) {
            try {
                return stand();
            } catch (StoreException e) {
                LOG.warn("no election yet: {}", e.getMessage());
                Thread.sleep(ThreadLocalRandom.current().nextLong(200, 600));
            }
        }
    }

    /** Stands with a lease of its own until elected, or until the lease cannot be kept. */
    private Term stand() throws InterruptedException {
        EtcdLease kept = EtcdLease.grant(etcd, lease);
        CompletableFuture<CampaignResponse> elected =
                etcd.client().getElectionClient().campaign(etcd.key(ELECTION), kept.id(), Etcd.bytes(own.toString()));
        try {
            while (kept.holds()) {
                Optional<LeaderKey> won = won(elected);
                if (won.isPresent()) {
                    return EtcdTerm.begin(etcd, kept, won.get());
                }
            }
            throw new StoreException("etcd: the lease of this candidate was not renewed within " + lease);
        } catch (ExecutionException e) {
            kept.close();
            throw new StoreException("etcd, campaign: " + e.getCause(), e);
        } catch (RuntimeException | InterruptedException e) {
            elected.cancel(true);
            kept.close();
            throw e;
        }
    }

    /** The key of this candidate once it is elected; empty while another coordinator leads. */
    private static Optional<LeaderKey> won(CompletableFuture<CampaignResponse> elected)
            throws InterruptedException, ExecutionException {
        try {
            return Optional.of(elected.get(POLL_MILLIS, TimeUnit.MILLISECONDS).getLeader());
        } catch (TimeoutException e) {
            return Optional.empty();
        }
    }

    @Override
    public Optional<URI> leader() {
        try {
            return Optional.of(URI.create(Etcd.text(
                    etcd.await("leader", etcd.client().getElectionClient().leader(etcd.key(ELECTION)))
                            .getKv()
                            .getValue())));
        } catch (StoreException e) {
            LOG.debug("no leader is known: {}", e.getMessage());
            return Optional.empty();
        }
    }

    @Override
    public void close() {
        etcd.client().close();
    }
}
