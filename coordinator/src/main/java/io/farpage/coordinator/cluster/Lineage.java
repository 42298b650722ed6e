package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.ClusterId;
import io.farpage.coordinator.model.Epoch;
import io.farpage.coordinator.model.Seen;
import io.farpage.coordinator.model.Stamp;
import io.farpage.coordinator.store.Change;
import io.farpage.coordinator.store.Store;
import io.farpage.coordinator.store.StoreException;
import io.farpage.coordinator.store.Table;
import io.farpage.rest.ProblemException;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReference;

/**
 * The identity of this coordinator's state: the cluster id, the epoch of this start, and for every earlier epoch the
 * revision at which it ended. With these the coordinator decides whether it knows all that an agent has seen.
 * Thread-safe.
 */
public final class Lineage {

    /** Key of the cluster id among the counters. */
    public static final String CLUSTER_ID = "cluster-id";

    /** Key of the epoch among the counters. */
    public static final String EPOCH = "epoch";

    /** Key, among the counters, of what a rebuild added to the number of commits of the store. */
    public static final String REVISION_BASE = "revision-base";

    /** Earlier epochs that are kept; an agent that has last seen an older one is refused. */
    static final int KEPT = 4_096;

    private static final SecureRandom RANDOM = new SecureRandom();

    private final ClusterId cluster;
    private final Epoch epoch;
    private final long start;
    private final Map<String, Long> ends;
    private final AtomicReference<Optional<String>> behind = new AtomicReference<>(Optional.empty());

    private Lineage(ClusterId cluster, Epoch epoch, long start, Map<String, Long> ends) {
        this.cluster = cluster;
        this.epoch = epoch;
        this.start = start;
        this.ends = Map.copyOf(ends);
    }

    /**
     * Begins the next epoch of a store, durably. Draws the cluster id if the store has none.
     *
     * @throws StoreException if the store cannot be read or written
     */
    public static Lineage begin(Store store) {
        Map<String, String> counters = store.rows(Table.COUNTERS);
        long start = base(counters) + store.revision();
        List<Change> changes = new ArrayList<>();
        Map<String, Long> ends = new TreeMap<>();
        store.rows(Table.EPOCHS).forEach((key, end) -> ends.put(key, number(key, end)));
        Optional<Epoch> before = Optional.ofNullable(counters.get(EPOCH)).map(Lineage::epoch);
        before.ifPresent(last -> {
            ends.put(last.toString(), start);
            changes.add(new Change(Table.EPOCHS, last.toString(), Optional.of(Long.toString(start))));
        });
        forgetOldest(ends, changes);
        Epoch epoch = new Epoch(before.map(Epoch::number).orElse(0L) + 1, RANDOM.nextLong());
        changes.add(new Change(Table.COUNTERS, EPOCH, Optional.of(epoch.toString())));
        ClusterId cluster = Optional.ofNullable(counters.get(CLUSTER_ID))
                .map(Lineage::clusterId)
                .orElseGet(Lineage::draw);
        changes.add(new Change(Table.COUNTERS, CLUSTER_ID, Optional.of(cluster.toString())));
        store.commit(changes);
        return new Lineage(cluster, epoch, start, ends);
    }

    /**
     * Changes made durable since the cluster began, as a store has them.
     *
     * @throws StoreException if the store cannot be read
     */
    public static long revision(Store store) {
        return base(store.rows(Table.COUNTERS)) + store.revision();
    }

    private static long base(Map<String, String> counters) {
        return number(REVISION_BASE, counters.getOrDefault(REVISION_BASE, "0"));
    }

    private static void forgetOldest(Map<String, Long> ends, List<Change> changes) {
        List<String> oldest = ends.keySet().stream()
                .sorted((a, b) -> Long.compare(epoch(a).number(), epoch(b).number()))
                .limit(Math.max(0, ends.size() - KEPT))
                .toList();
        for (String key : oldest) {
            ends.remove(key);
            changes.add(new Change(Table.EPOCHS, key, Optional.empty()));
        }
    }

    private static ClusterId draw() {
        byte[] bytes = new byte[16];
        RANDOM.nextBytes(bytes);
        return new ClusterId(HexFormat.of().formatHex(bytes));
    }

    private static ClusterId clusterId(String text) {
        try {
            return new ClusterId(text);
        } catch (IllegalArgumentException e) {
            throw new StoreException(
                    "counter '%s' in the store is damaged: %s".formatted(CLUSTER_ID, e.getMessage()), e);
        }
    }

    private static Epoch epoch(String text) {
        try {
            return Epoch.parse(text);
        } catch (IllegalArgumentException e) {
            throw new StoreException("an epoch in the store is damaged: %s".formatted(e.getMessage()), e);
        }
    }

    private static long number(String key, String text) {
        try {
            return Long.parseLong(text);
        } catch (NumberFormatException e) {
            throw new StoreException("the revision of '%s' in the store is damaged: '%s'".formatted(key, text), e);
        }
    }

    /** What an answer carries that was made of the state at a revision or an earlier one. */
    public Stamp stamp(long revision) {
        return new Stamp(cluster, epoch, start, revision);
    }

    /**
     * Checks that this coordinator knows all that an agent has seen. If it does not, every change is refused from then
     * on, with two exceptions that end only the agent's own request: a node that is not registered, which this store
     * has nothing of, and an epoch older than all that are kept.
     *
     * @param registered whether the agent may be a node that is registered
     * @throws ProblemException 409 {@code other-cluster} or {@code behind} if it does not
     */
    public void require(Seen seen, boolean registered) {
        if (!seen.cluster().equals(cluster)) {
            throw ProblemException.conflict(
                    "other-cluster",
                    ("this coordinator keeps cluster %s, and the request is of an agent of cluster %s; correct its"
                                    + " coordinator.url")
                            .formatted(cluster, seen.cluster()));
        }
        if (seen.epoch().equals(epoch)) {
            return;
        }
        Long end = ends.get(seen.epoch().toString());
        if (end != null && end >= seen.revision()) {
            return;
        }
        String difference =
                ("this coordinator is in epoch %s, which began at revision %d, and an agent has seen revision %d of"
                                + " epoch %s")
                        .formatted(epoch, start, seen.revision(), seen.epoch());
        if (!registered) {
            throw ProblemException.conflict(
                    "behind",
                    difference
                            + ": the agent's node is not registered; if the cluster was rebuilt without it, its pages"
                            + " are lost: end the agent and its keeper and start them anew; if not, the store is an"
                            + " older copy");
        }
        if (isForgotten(seen)) {
            throw ProblemException.conflict(
                    "behind",
                    difference
                            + ", which is older than all epochs that are kept: the agent was away for too long; end the"
                            + " agent and its keeper and start them anew");
        }
        String detail = difference
                + ": the store is an older copy, or another coordinator runs on a copy of it; stop this one and start"
                + " the newest store, or start it with --rebuild";
        behind.compareAndSet(Optional.empty(), Optional.of(detail));
        throw ProblemException.conflict("behind", detail);
    }

    /** Whether an epoch is older than all that are kept, and the revision seen is at most the end of the oldest one. */
    private boolean isForgotten(Seen seen) {
        return ends.entrySet().stream()
                .min(Comparator.comparingLong(kept -> epoch(kept.getKey()).number()))
                .filter(oldest -> seen.epoch().number() < epoch(oldest.getKey()).number())
                .filter(oldest -> seen.revision() <= oldest.getValue())
                .isPresent();
    }

    /** Why this coordinator must change nothing: an agent has seen more than the store has. Empty if none has. */
    public Optional<String> behind() {
        return behind.get();
    }

    /** The cluster. */
    public ClusterId cluster() {
        return cluster;
    }

    /** This start. */
    public Epoch epoch() {
        return epoch;
    }
}
