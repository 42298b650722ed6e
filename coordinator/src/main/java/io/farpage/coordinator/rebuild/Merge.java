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
import io.farpage.coordinator.model.Torn;
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
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Merges a set of reports. The layout of a space never changes, except that homes join, are promoted and dropped, each
 * time in another epoch. So two reports of one space agree, or one of them is wrong; if they do not agree, the merge
 * fails.
 */
final class Merge {

    private final Map<String, NodeReport> reports;
    private final SortedMap<Long, SpaceExtents> spaces = new TreeMap<>();
    private final Set<Long> deleted = new HashSet<>();
    private final List<String> conflicts = new ArrayList<>();
    private final Map<Long, Alone> alone = new HashMap<>();

    /** @param reports by node */
    Merge(Map<String, NodeReport> reports) {
        this.reports = new TreeMap<>(reports);
        checkClusters();
        this.reports.values().forEach(report -> all(report).forEach(this::add));
        dropReleased();
        dropWhatHomesDoNotKnow();
        checkNames();
        checkRoom();
        checkAttachments();
        checkSuperseded();
        findAlone();
    }

    private static Stream<SpaceExtents> all(NodeReport report) {
        return Stream.concat(report.hosted().spaces().stream(), report.attached().stream());
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
        SpaceExtents known = spaces.get(said.space().id());
        if (known == null) {
            spaces.put(said.space().id(), said);
        } else if (sameLayout(known, said)) {
            spaces.put(said.space().id(), joined(known, said));
        } else {
            conflicts.add(
                    "space %d is '%s' of %d bytes in one report, and '%s' of %d bytes or at other places in another"
                            .formatted(
                                    said.space().id(),
                                    known.space().name(),
                                    known.space().sizeBytes(),
                                    said.space().name(),
                                    said.space().sizeBytes()));
        }
    }

    /**
     * Merges two reports of different moments: the later one counts, except that an extent that was lost, or a space
     * that was deleted, stays so.
     */
    private static SpaceExtents joined(SpaceExtents known, SpaceExtents said) {
        boolean newer = said.index() > known.index();
        SpaceExtents later = newer ? said : known;
        SpaceExtents earlier = newer ? known : said;
        List<Extent> extents = new ArrayList<>();
        for (int i = 0; i < later.extents().size(); i++) {
            extents.add(later(later.extents().get(i), earlier.extents().get(i)));
        }
        Optional<Torn> torn = known.space().torn().or(said.space()::torn);
        boolean deleting = known.space().deleting() || said.space().deleting();
        Space space = deleting ? later.space().withDeleting() : later.space();
        return new SpaceExtents(space.withTorn(torn), later.index(), extents);
    }

    /** An extent that is lost changes no more; otherwise the epoch tells which of two is later. */
    private static Extent later(Extent ofLater, Extent ofEarlier) {
        if (ofLater.state() != ofEarlier.state()) {
            return ofLater.state() == ExtentState.LOST ? ofLater : ofEarlier;
        }
        return ofLater.epochNumber() >= ofEarlier.epochNumber() ? ofLater : ofEarlier;
    }

    private static boolean sameLayout(SpaceExtents a, SpaceExtents b) {
        return a.space().name().equals(b.space().name())
                && a.space().sizeBytes() == b.space().sizeBytes()
                && a.space().pageSize() == b.space().pageSize()
                && a.extents().size() == b.extents().size()
                && IntStream.range(0, a.extents().size())
                        .allMatch(i -> fits(a.extents().get(i), b.extents().get(i)));
    }

    /**
     * Whether two reports of one extent are of one history: in one epoch it has the same homes, and later ones were
     * homes or have joined.
     */
    private static boolean fits(Extent a, Extent b) {
        if (a.firstPage() != b.firstPage() || a.count() != b.count()) {
            return false;
        }
        if (a.epochNumber() == b.epochNumber()) {
            return a.homes().equals(b.homes());
        }
        return a.epochNumber() > b.epochNumber() ? follows(a, b) : follows(b, a);
    }

    /**
     * Whether each home that only the later report has can have joined in between: that takes one epoch if it joined
     * already, and two if it did not.
     */
    private static boolean follows(Extent later, Extent earlier) {
        List<ExtentHome> fresh = new ArrayList<>(later.homes());
        fresh.removeAll(earlier.homes());
        long epochs = fresh.stream()
                .mapToLong(home -> earlier.joining().filter(home::equals).isPresent() ? 1 : 2)
                .sum();
        return later.epochNumber() - earlier.epochNumber() >= epochs;
    }

    /**
     * A released range holds no pages of its space: a report that has them there is of a node that had not learned so.
     * The space itself is gone if the release says so.
     */
    private void dropReleased() {
        reports.forEach((node, report) -> Stream.concat(report.released().stream(), report.hosted().releases().stream())
                .forEach(release -> dropReleased(node, release)));
    }

    private void dropReleased(String node, Release release) {
        if (release.deleted()) {
            deleted.add(release.space());
            spaces.remove(release.space());
        } else {
            ExtentHome place = new ExtentHome(node, release.incarnation(), release.offset());
            spaces.computeIfPresent(release.space(), (_, said) -> without(said, place));
        }
    }

    /** A space without a place; pages that only it has are lost. */
    private static SpaceExtents without(SpaceExtents said, ExtentHome place) {
        ExtentCommand lose = new ExtentCommand.Lose(place.node(), place.incarnation());
        return new SpaceExtents(
                said.space(),
                said.index(),
                said.extents().stream()
                        .map(extent ->
                                extent.places().anyMatch(place::equals) ? ExtentLife.apply(extent, lose) : extent)
                        .toList());
    }

    private static boolean isOnlyHome(SpaceExtents said, ExtentHome place) {
        return said.extents().stream().anyMatch(extent -> extent.homes().equals(List.of(place)));
    }

    /**
     * Where two spaces claim one range of a pool, what the home itself keeps is right: the copy of the other space was
     * dropped, or that space was deleted, and the report that names it is of a node that had not learned so.
     */
    private void dropWhatHomesDoNotKnow() {
        Map<String, Set<Long>> hosted = hostedIds(reports);
        Set<Long> attached = new HashSet<>();
        reports.keySet().forEach(node -> attachments(node).forEach(held -> attached.add(held.space())));
        for (SpaceExtents space : List.copyOf(spaces.values())) {
            long id = space.space().id();
            ranges(space)
                    .filter(range -> !Optional.ofNullable(hosted.get(range.node()))
                            .orElse(Set.of())
                            .contains(id))
                    .filter(range -> overlapsAny(id, range))
                    .forEach(range -> spaces.computeIfPresent(
                            id,
                            (_, said) -> !isOnlyHome(said, range.place())
                                    ? without(said, range.place())
                                    : attached.contains(id) ? said : null));
        }
    }

    private static Map<String, Set<Long>> hostedIds(Map<String, NodeReport> reports) {
        Map<String, Set<Long>> ids = new HashMap<>();
        reports.forEach((node, report) -> ids.put(
                node,
                report.hosted().spaces().stream()
                        .map(space -> space.space().id())
                        .collect(Collectors.toSet())));
        return ids;
    }

    private boolean overlapsAny(long id, Range own) {
        return spaces.values().stream()
                .filter(other -> other.space().id() != id)
                .flatMap(this::ranges)
                .anyMatch(own::overlaps);
    }

    /** Bytes of a pool that a space claims. */
    private record Range(ExtentHome place, long to, String space) {
        String node() {
            return place.node();
        }

        long from() {
            return place.offset();
        }

        boolean overlaps(Range other) {
            return node().equals(other.node()) && from() < other.to && other.from() < to;
        }
    }

    /** What a space claims in the pools of the nodes that have reported. */
    private Stream<Range> ranges(SpaceExtents space) {
        return space.extents().stream()
                .filter(extent -> extent.state() == ExtentState.OK)
                .flatMap(extent -> extent.places()
                        .filter(this::isCurrent)
                        .map(home -> new Range(
                                home,
                                home.offset() + extent.count() * space.space().pageSize(),
                                space.space().name())));
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

    /** Why a space is torn, or empty: as the agent says that has it exclusively, and otherwise as any report says. */
    Optional<String> torn(Space space) {
        Alone holder = alone.get(space.id());
        // Attaching exclusively ends the mark, and homes may not have learned so.
        return holder == null
                ? space.torn().map(Torn::reason)
                : holder.held().torn().or(() -> tornAsAttached(holder.report(), space));
    }

    /** An exclusive attachment. */
    private record Alone(NodeReport report, NodeReport.Held held) {
        boolean isTorn() {
            return held.torn().isPresent();
        }
    }

    private void findAlone() {
        // Several may be about to detach from one space.
        reports.forEach((node, report) -> attachments(node)
                .filter(held -> held.mode() == AttachMode.EXCLUSIVE)
                .forEach(held -> alone.merge(
                        held.space(), new Alone(report, held), (one, other) -> one.isTorn() ? one : other)));
    }

    private static Optional<String> tornAsAttached(NodeReport report, Space space) {
        return report.attached().stream()
                .filter(attached -> attached.space().id() == space.id())
                .findFirst()
                .flatMap(attached -> attached.space().torn())
                .map(Torn::reason);
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
                .filter(held -> !held.ends() || !isUsed(held.space()));
    }

    private boolean isUsed(long space) {
        return reports.values().stream()
                .flatMap(report -> report.attachments().stream())
                .anyMatch(held -> held.space() == space && !held.ends());
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
