package io.farpage.coordinator.etcd;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.CmpTarget;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.PutOption;
import io.farpage.coordinator.lead.Candidacy;
import io.farpage.coordinator.lead.Leader;
import io.farpage.coordinator.lead.Term;
import io.farpage.coordinator.store.StoreException;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A candidate in an election after etcd's own recipe: each candidate has a lease and a key that belongs to it, and the
 * key that was created first leads. The candidate asks for that key again and again. A single call that waits for the
 * election would hang at a member that is cut off from the others, and the candidate would not learn that it leads.
 */
final class EtcdCandidacy implements Candidacy {

    private static final Logger LOG = LoggerFactory.getLogger(EtcdCandidacy.class);
    private static final String ELECTION = "leader/";
    private static final long POLL_MILLIS = 100;

    /** How long a candidate that may not stand waits until it looks again. */
    private static final long REFUSED_MILLIS = 1_000;

    /** For how long an answer to who leads is repeated. */
    private static final long FRESH_NANOS = Duration.ofSeconds(1).toNanos();

    private static final LongSupplier CLOCK = BootClock.open(Path.of("/proc/uptime"));

    private final Etcd etcd;
    private final URI own;
    private final Duration lease;
    private final LongSupplier clock;
    private volatile Known known = new Known(Optional.empty(), System.nanoTime() - FRESH_NANOS);

    /** The key that was created first, and when that was asked for. */
    private record Known(Optional<KeyValue> first, long nanos) {
        boolean isFresh() {
            return System.nanoTime() - nanos < FRESH_NANOS;
        }
    }

    EtcdCandidacy(Etcd etcd, URI own, Duration lease) {
        this(etcd, own, lease, CLOCK);
    }

    /** @param clock that its leases go by, as of {@link LeaseTime} */
    EtcdCandidacy(Etcd etcd, URI own, Duration lease, LongSupplier clock) {
        this.etcd = etcd;
        this.own = own;
        this.lease = lease;
        this.clock = clock;
    }

    @Override
    public Term campaign() throws InterruptedException {
        boolean refused = false;
        while (true) {
            try {
                Optional<String> refusal = Format.refusal(etcd);
                if (refusal.isEmpty()) {
                    return stand();
                }
                if (!refused) {
                    refused = true;
                    LOG.error("it does not stand for election: {}", refusal.get());
                }
                Thread.sleep(REFUSED_MILLIS);
            } catch (StoreException e) {
                LOG.warn("no election yet: {}", e.getMessage());
                Thread.sleep(ThreadLocalRandom.current().nextLong(200, 600));
            }
        }
    }

    /** Stands with a lease of its own until elected, or until the lease cannot be kept. */
    private Term stand() throws InterruptedException {
        EtcdLease kept = EtcdLease.grant(etcd, lease, clock);
        try {
            ByteSequence key = etcd.key(ELECTION + Long.toHexString(kept.id()));
            put(key, kept.id());
            while (kept.holds()) {
                Optional<KeyValue> first =
                        look().filter(leader -> leader.getKey().equals(key));
                if (first.isPresent()) {
                    return EtcdTerm.begin(etcd, kept, first.get());
                }
                Thread.sleep(POLL_MILLIS);
            }
            throw new StoreException("etcd: the lease of this candidate was not renewed within " + lease);
        } catch (RuntimeException | InterruptedException e) {
            kept.close();
            throw e;
        }
    }

    /** Puts the candidate's key if it is missing, and so may be repeated without losing its place. */
    private void put(ByteSequence key, long leaseId) {
        Cmp missing = new Cmp(key, Cmp.Op.EQUAL, CmpTarget.version(0));
        Op put = Op.put(
                key,
                Etcd.bytes(own.toString()),
                PutOption.builder().withLeaseId(leaseId).build());
        etcd.ask(
                "stand for election",
                client -> client.getKVClient().txn().If(missing).Then(put).commit());
    }

    /** The key that was created first, as the majority of members has it. */
    private Optional<KeyValue> look() {
        ByteSequence all = etcd.key(ELECTION);
        GetOption oldest = GetOption.builder()
                .withRange(Etcd.prefixEnd(all))
                .withSortField(GetOption.SortTarget.CREATE)
                .withSortOrder(GetOption.SortOrder.ASCEND)
                .withLimit(1)
                .build();
        long asked = System.nanoTime();
        List<KeyValue> found = etcd.ask("leader", client -> client.getKVClient().get(all, oldest))
                .getKvs();
        Optional<KeyValue> first = found.stream().findFirst();
        known = new Known(first, asked);
        return first;
    }

    @Override
    public Optional<Leader> leader() {
        Known now = known;
        return (now.isFresh() ? now.first() : ask())
                .map(pair -> new Leader(URI.create(Etcd.text(pair.getValue())), pair.getCreateRevision()));
    }

    /** Asks once for all requests that want to know at the same time; that etcd does not answer is remembered too. */
    private synchronized Optional<KeyValue> ask() {
        Known now = known;
        if (now.isFresh()) {
            return now.first();
        }
        try {
            return look();
        } catch (StoreException e) {
            LOG.debug("no leader is known: {}", e.getMessage());
            known = new Known(Optional.empty(), System.nanoTime());
            return Optional.empty();
        }
    }

    @Override
    public void close() {
        etcd.members().close();
    }
}
