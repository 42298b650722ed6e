package io.farpage.coordinator.rebuild;

import io.farpage.coordinator.cluster.State;
import io.farpage.coordinator.extent.ExtentCommand;
import io.farpage.coordinator.extent.ExtentLife;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.ClusterId;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.NodeReport;
import io.farpage.coordinator.model.Release;
import io.farpage.coordinator.model.Seen;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * Merges a set of reports. Each space is reported as of a revision of the coordinator that was lost, and of several
 * reports the one of the highest revision counts. A home's document is complete as of its revision, so it also tells
 * what the home no longer has.
 */
final class Merge {

    private final Map<String, NodeReport> reports;
    private final SortedMap<Long, SpaceExtents> spaces = new TreeMap<>();
    private final Set<Long> deleted = new HashSet<>();
    private final List<String> conflicts = new ArrayList<>();

    /** @param reports by node */
    Merge(Map<String, NodeReport> reports) {
        this.reports = new TreeMap<>(reports);
        checkClusters();
        this.reports.values().forEach(report -> all(report).forEach(this::add));
        removeDeleted();
        removeLeftPlaces();
        checkNames();
        checkRoom();
        checkAttachments();
        checkSuperseded();
    }

    /** All spaces that a report describes. A space that it describes twice occurs twice. */
    static Stream<SpaceExtents> all(NodeReport report) {
        return Stream.of(
                        report.hosted().spaces().stream(),
                        report.attached().stream(),
                        report.left().stream().flatMap(List::stream).map(NodeReport.Left::space))
                .flatMap(each -> each);
    }

    private void checkClusters() {
        Set<ClusterId> clusters = new HashSet<>();
        reports.values().forEach(report -> report.lastSeen().map(Seen::cluster).ifPresent(clusters::add));
        if (clusters.size() > 1) {
            conflicts.add("the reports are of %d clusters: %s; rebuild each from its own agents"
                    .formatted(clusters.size(), clusters));
        }
    }

    private void add(SpaceExtents said) {
        new State.Extents(said.space().pageSize(), said.extents())
                .gap(said.space())
                .ifPresent(page -> conflicts.add(
                        ("no extent, or more than one, has page %d of space '%s' in a report; end that agent, and"
                                        + " begin the rebuild again")
                                .formatted(page, said.space().name())));
        SpaceExtents known = spaces.putIfAbsent(said.space().id(), said);
        if (known == null) {
            return;
        }
        if (known.revision() == said.revision() && !known.equals(said)) {
            conflicts.add("two reports of space %d ('%s') differ, and both are as of revision %d; end the agent of one"
                    .formatted(said.space().id(), said.space().name(), said.revision()));
        }
        // Two coordinators on copies of one store may each have given the id to a space of its own.
        if (!known.space().createdAt().equals(said.space().createdAt())) {
            conflicts.add("space %d is '%s', made at %s, in one report, and '%s', made at %s, in another"
                    .formatted(
                            said.space().id(),
                            known.space().name(),
                            known.space().createdAt(),
                            said.space().name(),
                            said.space().createdAt()));
        }
        if (said.revision() > known.revision()) {
            spaces.put(said.space().id(), said);
        }
    }

    /** A home that zeroes a range, or has done so, knows whether the space was deleted. */
    private void removeDeleted() {
        reports.values().stream().flatMap(report -> report.deleted().stream()).forEach(deleted::addAll);
        reports.values().stream()
                .flatMap(report -> Stream.concat(report.released().stream(), report.hosted().releases().stream()))
                .filter(Release::deleted)
                .forEach(release -> deleted.add(release.space()));
        spaces.keySet().removeAll(deleted);
    }

    /**
     * Removes the places of a space in pools whose homes have a later document than any that has the space: they have
     * it no longer. If it has moved on from there to a home that has not reported, its pages are lost. A space that has
     * no place left was deleted. One that had none, a clone or a thin space without room, is known only by nodes with
     * its guest; if there is none, nothing is lost with it.
     */
    private void removeLeftPlaces() {
        for (SpaceExtents space : List.copyOf(spaces.values())) {
            long id = space.space().id();
            Predicate<ExtentHome> isLeft = place -> isCurrent(place) && hostedRevision(place.node()) > space.revision();
            if (space.extents().stream().flatMap(Extent::places).findAny().isEmpty()) {
                if (!isUsed(id) && !isLeft(id)) {
                    spaces.remove(id);
                }
                continue;
            }
            if (space.extents().stream().flatMap(Extent::places).allMatch(isLeft)) {
                deleted.add(id);
                spaces.remove(id);
            } else {
                List<Extent> extents = space.extents().stream()
                        .map(extent -> lose(extent, isLeft))
                        .toList();
                spaces.put(id, new SpaceExtents(space.space(), space.revision(), extents));
            }
        }
    }

    private long hostedRevision(String node) {
        return reported(node).map(report -> report.hosted().revision()).orElse(0L);
    }

    /** An extent without some of its places. */
    static Extent lose(Extent extent, Predicate<ExtentHome> isLost) {
        return extent.places()
                .filter(isLost)
                .map(place -> new ExtentCommand.Lose(place.node(), place.incarnation()))
                .reduce(extent, ExtentLife::apply, (_, last) -> last);
    }

    /** Bytes of a pool that a space claims. */
    private record Range(String node, long from, long to, String space) {
        boolean overlaps(Range other) {
            return node.equals(other.node) && from < other.to && other.from < to;
        }
    }

    /** What a space claims in the pools of the nodes that have reported. */
    private Stream<Range> ranges(SpaceExtents space) {
        return space.extents().stream()
                .filter(extent -> extent.state() == ExtentState.OK)
                .flatMap(extent -> extent.places()
                        .filter(this::isCurrent)
                        .map(home -> new Range(
                                home.node(),
                                home.offset(),
                                home.offset() + extent.count() * space.space().pageSize(),
                                space.space().name())));
    }

    /** Whether a space claims bytes of the pool that a node has reported with. */
    boolean isClaimed(String node, long offset, long length) {
        Range bytes = new Range(node, offset, offset + length, "");
        return spaces.values().stream().flatMap(this::ranges).anyMatch(bytes::overlaps);
    }

    private void checkNames() {
        Map<String, Long> names = new HashMap<>();
        for (SpaceExtents each : spaces.values()) {
            Long other = names.putIfAbsent(each.space().name(), each.space().id());
            if (other != null) {
                conflicts.add("spaces %d and %d are both named '%s'"
                        .formatted(other, each.space().id(), each.space().name()));
            }
        }
    }

    private void checkRoom() {
        Map<String, TreeMap<Long, Range>> used = new HashMap<>();
        spaces.values().stream().flatMap(this::ranges).forEach(range -> {
            TreeMap<Long, Range> ofNode = used.computeIfAbsent(range.node(), node -> new TreeMap<>());
            Map.Entry<Long, Range> before = ofNode.lowerEntry(range.to());
            if (before != null && before.getValue().overlaps(range)) {
                conflicts.add("spaces '%s' and '%s' both claim bytes of the pool of node '%s' from %d"
                        .formatted(before.getValue().space(), range.space(), range.node(), range.from()));
            }
            long exported = reported(range.node())
                    .map(report -> report.registration().pool().exportedBytes())
                    .orElse(0L);
            if (range.from() < 0 || range.to() > exported) {
                conflicts.add("space '%s' claims bytes %d to %d of the pool of node '%s', which exports %d"
                        .formatted(range.space(), range.from(), range.to(), range.node(), exported));
            }
            ofNode.put(range.from(), range);
        });
    }

    private void checkAttachments() {
        SortedMap<Long, List<String>> attached = new TreeMap<>();
        Set<Long> alone = new HashSet<>();
        reports.keySet()
                .forEach(node -> attachments(node).filter(held -> !held.ends()).forEach(held -> {
                    attached.computeIfAbsent(held.space(), id -> new ArrayList<>())
                            .add(node);
                    if (held.mode() == AttachMode.EXCLUSIVE) {
                        alone.add(held.space());
                    }
                }));
        attached.forEach((id, nodes) -> {
            if (alone.contains(id) && nodes.size() > 1) {
                conflicts.add("space %d is attached by nodes %s, by one of them exclusively"
                        .formatted(id, String.join(" and ", nodes)));
            }
            if (!spaces.containsKey(id)) {
                conflicts.add(
                        ("node '%s' is attached to space %d, which no report describes; end its agent, and begin the"
                                        + " rebuild again")
                                .formatted(nodes.getFirst(), id));
            }
        });
    }

    /** A report of an incarnation that another node knows to be replaced is of an agent that should have ended. */
    private void checkSuperseded() {
        reports.forEach((by, report) -> report.superseded().forEach(old -> {
            if (reported(old.node())
                    .filter(of -> of.registration().incarnation().equals(old.incarnation()))
                    .isPresent()) {
                conflicts.add(
                        ("incarnation %s of node '%s' has reported, and node '%s' knows that it was replaced; end that"
                                        + " agent, and begin the rebuild again")
                                .formatted(old.incarnation(), old.node(), by));
            }
        }));
    }

    /** Why a space is torn that the lost coordinator may have known as whole: as an agent says that used it. */
    Optional<String> tornByUse(Space space) {
        return reports.keySet().stream()
                .flatMap(this::attachments)
                .filter(held -> held.space() == space.id() && held.mode().hasGuest())
                .flatMap(held -> held.torn().stream())
                .findFirst();
    }

    private Optional<NodeReport> reported(String node) {
        return Optional.ofNullable(reports.get(node));
    }

    /**
     * What a node that has reported is attached to. An agent that detaches may not have had the answer of the lost
     * coordinator, which has deleted the space then, or has let another node attach to it.
     */
    Stream<NodeReport.Held> attachments(String node) {
        return reported(node).stream()
                .flatMap(report -> report.attachments().stream())
                .filter(held -> !deleted.contains(held.space()))
                // The other members of a coherent space use it beside this one.
                .filter(held -> !held.ends() || held.mode() == AttachMode.MEMBER || !isUsed(held.space()));
    }

    /** Whether a node that has reported uses a space. */
    boolean isUsed(long space) {
        return reports.values().stream()
                .flatMap(report -> report.attachments().stream())
                .anyMatch(held -> held.space() == space && !held.ends());
    }

    /** Whether the guest of a space waits for the successor of its agent. */
    private boolean isLeft(long space) {
        return reports.values().stream()
                .flatMap(report -> report.left().stream().flatMap(List::stream))
                .anyMatch(left -> left.space().space().id() == space);
    }

    /** The homes that have reported and whose pools hold pages of a space. */
    Set<String> homes(long space) {
        Set<String> homes = new TreeSet<>();
        Optional.ofNullable(spaces.get(space)).stream()
                .flatMap(known -> known.extents().stream())
                .filter(extent -> extent.state() == ExtentState.OK)
                .flatMap(Extent::places)
                .filter(this::isCurrent)
                .map(ExtentHome::node)
                .forEach(homes::add);
        return homes;
    }

    /** Whether a home has reported with the pool that an extent names. */
    boolean isCurrent(ExtentHome home) {
        return reported(home.node())
                .filter(report -> report.registration().poolId().equals(home.incarnation()))
                .isPresent();
    }

    /** Homes of extents that can still be had, which have not reported. */
    Set<String> silentHomes() {
        Set<String> silent = new TreeSet<>();
        for (SpaceExtents space : spaces.values()) {
            space.extents().stream()
                    // A home that joined may have been promoted since, in place of one that has reported.
                    .flatMap(extent -> extent.state() == ExtentState.OK ? extent.targets() : extent.joining().stream())
                    .map(ExtentHome::node)
                    .filter(node -> !reports.containsKey(node))
                    .forEach(silent::add);
        }
        return silent;
    }

    /** The spaces, by id. */
    SortedMap<Long, SpaceExtents> spaces() {
        return spaces;
    }

    /** What does not fit together; empty if everything does. */
    List<String> conflicts() {
        return List.copyOf(conflicts);
    }
}
