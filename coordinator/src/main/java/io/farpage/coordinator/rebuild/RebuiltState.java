package io.farpage.coordinator.rebuild;

import io.farpage.coordinator.cluster.Keys;
import io.farpage.coordinator.cluster.Ledger;
import io.farpage.coordinator.cluster.Lineage;
import io.farpage.coordinator.cluster.State;
import io.farpage.coordinator.extent.ExtentCommand;
import io.farpage.coordinator.extent.ExtentLife;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.Epoch;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Fence;
import io.farpage.coordinator.model.HostedAttachment;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeReport;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.Release;
import io.farpage.coordinator.model.Seen;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.coordinator.model.Torn;
import io.farpage.coordinator.store.Change;
import io.farpage.coordinator.store.Store;
import io.farpage.coordinator.store.Table;
import io.farpage.rest.Json;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The rows that a rebuild leaves. The cluster and the retired incarnations of an older store stay. Agents report the
 * rest.
 */
final class RebuiltState {

    /** Skips ids that may have been assigned although no live agent knows them. */
    private static final long ID_MARGIN = 1_000;

    private static final List<Table> REPLACED =
            List.of(Table.NODES, Table.SPACES, Table.EXTENTS, Table.RELEASES, Table.ATTACHMENTS, Table.FENCES);

    private final Map<String, NodeReport> reports;
    private final Merge merge;
    private final EndedAttachments ended;
    private final Set<String> without;
    private final List<Change> changes = new ArrayList<>();
    private final Map<String, SortedSet<String>> retired = new TreeMap<>();
    private final Instant now = Instant.now();
    private long nextId;

    /** @param without nodes that are given up */
    RebuiltState(Map<String, NodeReport> reports, Merge merge, Set<String> without) {
        this.reports = reports;
        this.merge = merge;
        ended = new EndedAttachments(reports, merge);
        this.without = without;
    }

    /** From what is in the store to what the reports say, in one commit. */
    List<Change> changes(Store store) {
        for (Table table : REPLACED) {
            store.rows(table).keySet().forEach(key -> changes.add(new Change(table, key, Optional.empty())));
        }
        reports.forEach((id, report) ->
                put(Table.NODES, id, Node.of(id, report.registration().withStatus(NodeStatus.ACTIVE), now)));
        nextId = Math.max(counter(store.rows(Table.COUNTERS), Ledger.NEXT_ID, 1), highestId() + ID_MARGIN);
        merge.spaces().values().forEach(this::space);
        releases();
        forgotten();
        RebuiltFences fences = new RebuiltFences(reports, merge, ended);
        fences.fences().forEach(this::fence);
        attachments(fences);
        superseded(fences);
        Map<String, String> before = store.rows(Table.RETIRED);
        retired.forEach((node, incarnations) -> retire(Optional.ofNullable(before.get(node)), node, incarnations));
        counters(store.rows(Table.COUNTERS), store.revision());
        return List.copyOf(changes);
    }

    /** What is cut off, or was seen replaced, must not register again. */
    private void superseded(RebuiltFences fences) {
        Stream.concat(
                        fences.cutOff().stream(),
                        reports.values().stream().flatMap(report -> report.superseded().stream()))
                .filter(old -> !isRegistered(old))
                .forEach(old -> retired.computeIfAbsent(old.node(), node -> new TreeSet<>())
                        .add(old.incarnation().toString()));
    }

    private boolean isRegistered(NodeReport.Superseded old) {
        return Optional.ofNullable(reports.get(old.node()))
                .filter(report -> report.registration().incarnation().equals(old.incarnation()))
                .isPresent();
    }

    private void put(Table table, String key, Object row) {
        changes.add(new Change(table, key, Optional.of(Json.STRICT.writeValueAsString(row))));
    }

    private void space(SpaceExtents said) {
        List<Extent> extents = new ArrayList<>();
        boolean anyLost = false;
        for (Extent reported : said.extents()) {
            // A joining home does not serve pages yet, nor does one that was filled. Its frames are reserved until the
            // writer has learned that it is dropped.
            Extent extent = Stream.concat(reported.joining().stream(), reported.filledPools().stream())
                    .<ExtentCommand>map(ExtentCommand.Drop::new)
                    .reduce(reported, ExtentLife::apply, (_, last) -> last);
            // Pools that did not report are given up.
            Extent rest = Merge.lose(extent, place -> !merge.isCurrent(place));
            anyLost |= rest.state() == ExtentState.LOST;
            extents.add(ExtentLife.withoutRoom(rest, merge::isCurrent, Incarnation.draw()));
            // Its pages count as lost, so it must not come back: others may be given the same room of another
            // incarnation.
            extent.homes().stream()
                    .filter(home -> !merge.isCurrent(home))
                    .forEach(home -> retired.computeIfAbsent(home.node(), node -> new TreeSet<>())
                            .add(home.incarnation().toString()));
        }
        Optional<Torn> torn = said.space()
                .torn()
                .or(() -> merge.tornByUse(said.space())
                        .or(() -> ended.torn(said.space().id()))
                        .map(reason -> new Torn(reason, now)));
        Space space = said.space()
                .withState(anyLost ? ExtentState.LOST : ExtentState.OK)
                .withTorn(torn)
                // A node may have written since the report was made.
                .withoutMark();
        // A node that is given up may have been a member beside those that have reported.
        boolean mayBeUsed = space.isCoherent() || !isAttached(space);
        if (!without.isEmpty() && space.torn().isEmpty() && mayBeUsed) {
            String reason = "the coordinator was rebuilt without node %s, where a guest may have used the space"
                    .formatted(String.join(", ", new TreeSet<>(without)));
            space = space.withTorn(Optional.of(new Torn(Torn.reason(reason), now)));
        }
        put(Table.SPACES, Keys.id(space.id()), space);
        extents.forEach(
                extent -> put(Table.EXTENTS, Keys.extent(Keys.id(said.space().id()), extent), extent));
    }

    private boolean isAttached(Space space) {
        return ended.isAdopted(space.id())
                || reports.keySet().stream().flatMap(merge::attachments).anyMatch(held -> held.space() == space.id());
    }

    private void releases() {
        reports.forEach((node, report) -> {
            Incarnation pool = report.registration().poolId();
            Set<Long> done = report.released().stream().map(Release::id).collect(Collectors.toCollection(HashSet::new));
            report.hosted().releases().stream()
                    .filter(release -> !done.contains(release.id()))
                    .filter(release -> release.incarnation().equals(pool))
                    // A process before has zeroed it, and the room was given to a space: no zeros must come there now.
                    .filter(release -> !merge.isClaimed(node, release.offset(), release.length()))
                    .forEach(release -> put(Table.RELEASES, node + "/" + Keys.id(release.id()), release));
        });
    }

    private void forgotten() {
        ForgottenPlaces places = new ForgottenPlaces(merge);
        reports.forEach((node, report) -> places.releases(node, report, () -> nextId++)
                .forEach(release -> put(Table.RELEASES, node + "/" + Keys.id(release.id()), release)));
    }

    /** A node has one attachment to a space: the later of those that are known. */
    private void attachments(RebuiltFences fences) {
        Map<String, Attachment> rows = new TreeMap<>();
        reports.forEach((node, report) -> merge.attachments(node)
                .filter(held -> !held.ends() || !ended.isAdopted(held.space()))
                .forEach(held -> attach(
                        rows,
                        new Attachment(
                                held.space(),
                                node,
                                report.registration().incarnation(),
                                held.mode(),
                                id(held.space(), node, report.registration().incarnation())))));
        ended.adopted().stream().filter(each -> each.heir().isEmpty()).forEach(each -> attach(rows, each));
        fences.pending().forEach(each -> attach(rows, each));
        rows.forEach((key, row) -> put(Table.ATTACHMENTS, key, row));
    }

    private void fence(Fence fence) {
        String space = Keys.id(fence.space());
        put(Table.FENCES, "%s/%s/%s/%s".formatted(fence.home(), fence.node(), fence.incarnation(), space), fence);
    }

    private static void attach(Map<String, Attachment> rows, Attachment attachment) {
        rows.putIfAbsent(Keys.id(attachment.space()) + "/" + attachment.node(), attachment);
    }

    /** The latest that a home knows: the keys that the node has are of that attachment. */
    private long id(long space, String node, Incarnation incarnation) {
        return reports.values().stream()
                .flatMap(report -> report.hosted().attachments().stream())
                .filter(each -> each.space() == space && each.node().equals(node))
                .filter(each -> each.incarnation().equals(incarnation))
                .mapToLong(HostedAttachment::id)
                .max()
                .orElse(0);
    }

    private void retire(Optional<String> before, String node, Set<String> incarnations) {
        Stream<Incarnation> older = before.map(row -> Json.LENIENT.readValue(row, State.Retired.class)).stream()
                .flatMap(row -> row.incarnations().stream());
        put(
                Table.RETIRED,
                node,
                new State.Retired(Stream.concat(older, incarnations.stream().map(Incarnation::parse))
                        .distinct()
                        .toList()));
    }

    /**
     * @param before the counters of the store
     * @param commits of the store before this one
     */
    private void counters(Map<String, String> before, long commits) {
        List<Seen> seen = reports.values().stream()
                .flatMap(report -> report.lastSeen().stream())
                .toList();
        long highest = seen.stream().mapToLong(Seen::revision).max().orElse(0);
        long base = Math.max(counter(before, Lineage.REVISION_BASE, 0), highest - commits);
        // The next epoch begins at or after the highest revision that any agent has seen, so all of them obey it.
        seen.forEach(each -> changes.add(
                new Change(Table.EPOCHS, each.epoch().toString(), Optional.of(Long.toString(base + commits + 1)))));
        Epoch last = Stream.concat(
                        Stream.ofNullable(before.get(Lineage.EPOCH)).map(Epoch::parse),
                        seen.stream().map(Seen::epoch))
                .max(Comparator.comparingLong(Epoch::number))
                .orElseThrow();
        set(Lineage.CLUSTER_ID, seen.getFirst().cluster().toString());
        set(Lineage.EPOCH, last.toString());
        set(Lineage.REVISION_BASE, Long.toString(base));
        set(Ledger.NEXT_ID, Long.toString(nextId));
        set(Ledger.INDEX, Long.toString(Math.max(counter(before, Ledger.INDEX, 0), highestIndex()) + 1));
    }

    /** The highest index of an event that an agent knows, also by the attachments that it announced. */
    private long highestIndex() {
        return reports.values().stream()
                .flatMap(report -> Stream.concat(
                        Stream.of(report.index()),
                        report.hosted().attachments().stream().map(HostedAttachment::id)))
                .mapToLong(Long::longValue)
                .max()
                .orElse(0);
    }

    private static long counter(Map<String, String> counters, String name, long otherwise) {
        return Long.parseLong(counters.getOrDefault(name, Long.toString(otherwise)));
    }

    private void set(String name, String value) {
        changes.add(new Change(Table.COUNTERS, name, Optional.of(value)));
    }

    private long highestId() {
        return reports.values().stream()
                .flatMap(report -> Stream.concat(
                        Merge.all(report).map(space -> space.space().id()),
                        Stream.concat(report.hosted().releases().stream(), report.released().stream())
                                .map(Release::id)))
                .mapToLong(Long::longValue)
                .max()
                .orElse(0);
    }
}
