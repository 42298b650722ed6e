package io.farpage.it.simulation.world;

import io.farpage.coordinator.cluster.Keys;
import io.farpage.coordinator.model.Encryption;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.store.Table;
import io.farpage.it.simulation.engine.Engine;
import io.farpage.it.simulation.engine.SimulatedStore.Replaced;
import io.farpage.rest.Json;
import java.time.Duration;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * What a coordinator must know when it is rebuilt from the reports of all nodes after the loss of its store: every
 * space that existed for a while, without a lost page, and the attachment of every host that serves a guest.
 */
final class RebuildRules {
    /** A space may be lost that was made so shortly before the store was that no agent knew of it. */
    private static final Duration KNOWN = Duration.ofSeconds(5);

    private final Engine engine;
    private final Cluster cluster;
    /** The hosts that serve guests, by space. */
    private final Map<String, String> served;

    RebuildRules(Engine engine, Cluster cluster, Map<String, String> served) {
        this.engine = engine;
        this.cluster = cluster;
        this.served = served;
    }

    /** The rows that a rebuild has written, each with the one that was lost. It may have written them before. */
    void check(List<Replaced> written) {
        Map<String, Replaced> last = new LinkedHashMap<>();
        written.forEach(row -> last.put(row.table() + " " + row.key(), row));
        Collection<Replaced> rows = last.values();
        Set<String> attachments = new HashSet<>();
        for (Replaced row : rows) {
            switch (row.table()) {
                case SPACES ->
                    row.before()
                            .filter(lost -> isKnownToSomeNode(space(lost), rows))
                            .ifPresent(lost -> isBack(space(lost), row.after()));
                case EXTENTS -> isWhole(row);
                case ATTACHMENTS -> row.after().ifPresent(_ -> attachments.add(row.key()));
                default -> {}
            }
        }
        for (Replaced row : rows) {
            if (row.table() == Table.SPACES) {
                row.after().ifPresent(text -> isAttached(space(text), attachments));
            }
        }
    }

    /** A thin space without room and without a guest is known to no node, and nothing is lost with it. */
    private boolean isKnownToSomeNode(Space lost, Collection<Replaced> rows) {
        return !lost.isThin()
                || served.containsKey(lost.name())
                || rows.stream()
                        .filter(row -> row.table() == Table.EXTENTS && row.key().startsWith(Keys.id(lost.id()) + "/"))
                        .flatMap(row -> row.before().stream())
                        .anyMatch(row -> extent(row).places().findAny().isPresent());
    }

    private static Space space(String row) {
        return Json.LENIENT.readValue(row, Space.class);
    }

    private void isBack(Space lost, Optional<String> row) {
        boolean isKnown = lost.createdAt().plus(KNOWN).isBefore(cluster.storeLostAt());
        if (lost.deleting() || !isKnown) {
            return;
        }
        if (row.isEmpty()) {
            engine.fail("space '%s' is not rebuilt".formatted(lost.name()));
            return;
        }
        Space found = space(row.get());
        boolean isSame = found.name().equals(lost.name())
                && found.pages() == lost.pages()
                && found.pageSize() == lost.pageSize()
                && found.copies() == lost.copies()
                && found.encryption()
                        .map(Encryption::keyId)
                        .equals(lost.encryption().map(Encryption::keyId));
        if (!isSame) {
            engine.fail("space '%s' is rebuilt in another way: %s instead of %s".formatted(lost.name(), found, lost));
        }
    }

    /** All nodes have reported, so no extent may be lost that was not. */
    private void isWhole(Replaced row) {
        if (row.before().isEmpty() || row.after().isEmpty()) {
            return;
        }
        Extent lost = extent(row.before().get());
        Extent found = extent(row.after().get());
        if (found.state() == ExtentState.LOST && lost.state() != ExtentState.LOST) {
            engine.fail("the extent %s, by space and page, is lost by a rebuild".formatted(row.key()));
        }
    }

    private static Extent extent(String row) {
        return Json.LENIENT.readValue(row, Extent.class);
    }

    private void isAttached(Space space, Set<String> attachments) {
        String host = served.get(space.name());
        if (host != null && !attachments.contains(Keys.id(space.id()) + "/" + host)) {
            engine.fail("space '%s' is rebuilt as one that %s has not attached, which serves its guest"
                    .formatted(space.name(), host));
        }
    }
}
