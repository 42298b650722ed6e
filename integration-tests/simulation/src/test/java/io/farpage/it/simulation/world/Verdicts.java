package io.farpage.it.simulation.world;

import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.store.Table;
import io.farpage.it.simulation.engine.Engine;
import io.farpage.it.simulation.engine.SimulatedStore.Replaced;
import io.farpage.it.simulation.verbs.Fabric;
import io.farpage.rest.Json;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What the system decides about its members must have a reason: a home without a fault is not dropped, and a node
 * without one does not fail.
 */
final class Verdicts {
    private static final Pattern DROPPED = Pattern.compile("node (\\w+) is dropped from the homes");
    /** How long a fault may have consequences. */
    private static final long AFTERMATH = 15_000_000_000L;

    private static final long SECOND = 1_000_000_000L;

    private final Engine engine;
    private final Map<String, Long> excusedUntil = new HashMap<>();
    /** Nodes that were cut off, which find the links of their other guests down, too. */
    private final Map<String, Long> cutOffUntil = new HashMap<>();

    private long coordinatorExcusedUntil;
    private long dropsExcusedUntil;
    /** Spaces that are being deleted. */
    private int deletions;

    private long deletedUntil;

    Verdicts(Engine engine) {
        this.engine = engine;
    }

    /** Something is wrong with a node for so long. */
    void excuse(String node, long nanos) {
        excusedUntil.merge(node, engine.now() + nanos + AFTERMATH, Math::max);
    }

    /** A node is cut off by homes for so long, and may drop them from the spaces that it has beside. */
    void excuseDropsBy(String node, long nanos) {
        cutOffUntil.merge(node, engine.now() + nanos + AFTERMATH, Math::max);
    }

    /** Calls of the coordinator may not be answered for so long. */
    void excuseCoordinator(long nanos) {
        coordinatorExcusedUntil = Math.max(coordinatorExcusedUntil, engine.now() + nanos + AFTERMATH);
    }

    /** No link is made for so long, and no key handed out. */
    void excuseDrops(long nanos) {
        dropsExcusedUntil = Math.max(dropsExcusedUntil, engine.now() + nanos + AFTERMATH);
    }

    /** The deletion of a space begins: its homes revoke its keys, also while nodes read with them. */
    void deleting() {
        deletions++;
    }

    /** A space is deleted. */
    void deleted() {
        deletions--;
        deletedUntil = engine.now() + SECOND;
    }

    private boolean isExcused(String node) {
        return excusedUntil.getOrDefault(node, 0L) > engine.now();
    }

    /**
     * Without the coordinator no link is made and no key is handed out, so a home may not be reached for lack of those.
     */
    private boolean isCoordinatorExcused() {
        return coordinatorExcusedUntil > engine.now();
    }

    /** An error that a process has logged. */
    void logged(String by, String text) {
        engine.trail().note(engine.elapsed(), by + " logs: " + text);
        Matcher dropped = DROPPED.matcher(text);
        if (dropped.find()
                && !isExcused(dropped.group(1))
                && cutOffUntil.getOrDefault(by, 0L) < engine.now()
                && !isCoordinatorExcused()
                && dropsExcusedUntil < engine.now()) {
            engine.fail("%s drops %s, which has no fault: %s".formatted(by, dropped.group(1), text));
        }
    }

    /**
     * A home has refused a request for its key. A node has nothing under way to frames when it lets them go, and no
     * home revokes its key before that, unless it cuts the node off, or the space is deleted. The key of a pull is
     * revoked a second after the pull has ended, whether the node that pulls has learned that or not. The link
     * breaks then, which is a reason to drop a home.
     */
    void refused(Fabric.Refusal refusal) {
        if (!refusal.isOfPull()
                && cutOffUntil.getOrDefault(refusal.by().name(), 0L) < engine.now()
                && deletions == 0
                && deletedUntil < engine.now()) {
            engine.fail("%s refuses a %s of %s, which has no fault: %s"
                    .formatted(refusal.home(), refusal.isWrite() ? "WRITE" : "READ", refusal.by(), refusal.reason()));
        }
        excuse(refusal.home().name(), 0);
        excuse(refusal.by().name(), 0);
    }

    /** Rows that the coordinator has changed: of nodes that it takes to have failed. */
    void committed(List<Replaced> rows) {
        for (Replaced row : rows) {
            if (row.table() == Table.NODES
                    && hasFailed(row.after())
                    && !hasFailed(row.before())
                    && !isExcused(row.key())
                    && !isCoordinatorExcused()) {
                engine.fail("node " + row.key() + " is taken to have failed, and has no fault");
            }
        }
    }

    private static boolean hasFailed(Optional<String> row) {
        return row.map(text -> Json.LENIENT.readValue(text, Node.class).status())
                .filter(NodeStatus.FAILED::equals)
                .isPresent();
    }
}
