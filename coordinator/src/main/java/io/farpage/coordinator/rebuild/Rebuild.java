package io.farpage.coordinator.rebuild;

import io.farpage.coordinator.cluster.Lineage;
import io.farpage.coordinator.model.NodeReport;
import io.farpage.coordinator.model.RebuildStatus;
import io.farpage.coordinator.model.Seen;
import io.farpage.coordinator.store.Store;
import io.farpage.coordinator.store.Table;
import io.farpage.rest.ProblemException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Collects the reports of agents, merges them and writes the result to the store. Thread-safe. */
final class Rebuild {

    private static final Logger LOG = LoggerFactory.getLogger(Rebuild.class);

    private final Store store;
    private final Set<String> expected;
    private final Map<String, NodeReport> reports = new TreeMap<>();
    private Merge merge = new Merge(Map.of());
    private boolean finished;

    /**
     * @param store empty, or an older copy of the cluster's
     * @param expected nodes without which it does not finish; when all have reported, it finishes by itself. Empty: a
     *     person finishes it
     */
    Rebuild(Store store, Set<String> expected) {
        this.store = store;
        this.expected = Set.copyOf(expected);
    }

    /**
     * Adds the report of an agent, in place of its earlier report.
     *
     * @throws ProblemException 409 if it is of another cluster than the store, or contradicts other reports
     */
    synchronized RebuildStatus report(String node, NodeReport report) {
        report.lastSeen().ifPresent(this::checkCluster);
        if (!finished && !report.equals(reports.get(node))) {
            add(node, report);
        }
        // Also if an agent repeats its report: the commit may have failed.
        if (!finished
                && !expected.isEmpty()
                && missing().isEmpty()
                && merge.conflicts().isEmpty()) {
            finish(Set.of());
        }
        return status();
    }

    private void add(String node, NodeReport report) {
        List<String> before = merge.conflicts();
        reports.put(node, report);
        merge = new Merge(reports);
        List<String> conflicts = new ArrayList<>(merge.conflicts());
        conflicts.removeAll(before);
        LOG.info(
                "node {} has reported; it hosts {} spaces",
                node,
                report.hosted().spaces().size());
        conflicts.forEach(conflict -> LOG.error("the report of node {} conflicts: {}", node, conflict));
        if (!conflicts.isEmpty()) {
            throw ProblemException.conflict(
                    "rebuild-conflict", "the report of node '%s': %s".formatted(node, String.join("; ", conflicts)));
        }
    }

    private void checkCluster(Seen seen) {
        String own = store.rows(Table.COUNTERS).get(Lineage.CLUSTER_ID);
        if (own != null && !own.equals(seen.cluster().toString())) {
            throw ProblemException.conflict(
                    "other-cluster",
                    "the store is of cluster %s and the report of cluster %s; rebuild in an empty directory"
                            .formatted(own, seen.cluster()));
        }
    }

    /** How far it is. */
    synchronized RebuildStatus status() {
        return new RebuildStatus(
                List.copyOf(reports.keySet()),
                List.copyOf(missing()),
                merge.spaces().values().stream()
                        .map(space -> space.space().name())
                        .toList(),
                merge.conflicts(),
                finished);
    }

    private Set<String> missing() {
        Set<String> missing = new TreeSet<>(expected);
        missing.addAll(merge.silentHomes());
        missing.removeAll(reports.keySet());
        return missing;
    }

    /**
     * Writes the result.
     *
     * @param without nodes to give up
     * @throws ProblemException 409 if a node is missing, or reports contradict each other
     */
    synchronized RebuildStatus finish(Set<String> without) {
        if (finished) {
            return status();
        }
        Set<String> missing = missing();
        missing.removeAll(without);
        if (!missing.isEmpty()) {
            throw ProblemException.conflict(
                    "rebuild-incomplete",
                    "not reported yet: %s; wait for them, or finish --without them, which loses what they hold"
                            .formatted(String.join(", ", missing)));
        }
        if (!merge.conflicts().isEmpty()) {
            throw ProblemException.conflict("rebuild-conflict", String.join("; ", merge.conflicts()));
        }
        without.stream().filter(reports::containsKey).findFirst().ifPresent(node -> {
            throw ProblemException.conflict(
                    "rebuild-conflict", "node '%s' has reported and cannot be given up".formatted(node));
        });
        if (reports.values().stream().allMatch(report -> report.lastSeen().isEmpty())) {
            throw ProblemException.conflict(
                    "rebuild-incomplete",
                    "no node has reported that has joined a cluster; start without --rebuild to begin a new cluster");
        }
        store.commit(new RebuiltState(reports, merge, without).changes(store));
        finished = true;
        LOG.info(
                "rebuilt from nodes {}: {} spaces",
                reports.keySet(),
                merge.spaces().size());
        return status();
    }

    synchronized boolean isFinished() {
        return finished;
    }
}
