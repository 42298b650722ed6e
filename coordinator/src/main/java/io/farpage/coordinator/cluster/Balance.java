package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.ExtentHome;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * One decision on moves, from the loads and pools of one moment. The load of a node is the heat of the extents that are
 * read from it. There are three rules, each with a bound within which nothing moves:
 *
 * <ol>
 *   <li>Pressure: a node with more than {@value #HYSTERESIS} over the mean load gives away its hottest extents, as long
 *       as the node that takes the reads has at most the load of the giver afterwards. The mean counts the nodes that
 *       can come up to it: those with room, and those with more load.
 *   <li>Near: an extent that is read from another failure domain than that of its asker moves to that domain, if no
 *       pressure arises.
 *   <li>Capacity: a pool that is used less than the mean by more than {@value #POINTS} of its bytes gets the coldest
 *       extents of the fullest pools. A pool that is used more than the mean by as much gives them away.
 * </ol>
 *
 * <p>The first two rules move an extent only if its faults in a minute outnumber the pages that a move copies. They
 * use the home that serves reads after the promotion: the first one; a home that joined is the last. An extent whose
 * asker is a home adds no load. Single-threaded; create one instance per decision.
 */
final class Balance {
    static final double HYSTERESIS = 0.25;
    static final double POINTS = 0.1;

    /**
     * Sources, and targets, that one decision examines, and extents of each: the work stays bounded in a large cluster.
     */
    private static final int MOST_NODES = 8;

    private static final int MOST_PIECES = 256;

    private final Map<String, Host> hosts = new HashMap<>();
    private final List<Placed> pieces;
    private final long idle;
    /** Bytes of the smallest extent. */
    private final long smallest;

    private final Map<String, Long> load = new HashMap<>();
    private final Map<String, Long> free = new HashMap<>();
    private final Map<String, Long> used = new HashMap<>();
    private final Map<Long, Set<String>> homesOfSpace = new HashMap<>();
    private final List<Decision> decisions = new ArrayList<>();

    /**
     * A node.
     *
     * @param bytes of its pool
     * @param freeBytes of them that nothing holds now
     * @param usedBytes of them that are used when all moves and drops under way are done
     * @param takes whether extents may be placed on it
     */
    record Host(String id, String domain, long bytes, long freeBytes, long usedBytes, boolean takes) {}

    /**
     * An extent.
     *
     * @param bytes of its pages
     * @param homes the first is read from
     * @param barred nodes that cannot be its homes yet, or that it has left lately
     * @param asker the node whose guest uses the pages
     * @param heat faults in a minute
     * @param mayMove whether it may move now
     */
    record Piece(
            long space,
            long firstPage,
            long pages,
            long bytes,
            List<ExtentHome> homes,
            Set<String> barred,
            Optional<String> asker,
            long heat,
            boolean mayMove) {}

    /** An extent, where it is after the moves so far. */
    private static final class Placed {
        private final Piece piece;
        private List<String> homes;
        private boolean mayMove;

        Placed(Piece piece) {
            this.piece = piece;
            homes = piece.homes().stream().map(ExtentHome::node).toList();
            mayMove = piece.mayMove();
        }

        boolean mayMove() {
            return mayMove;
        }

        long heat() {
            return piece.heat();
        }

        boolean pays() {
            return mayMove && piece.heat() > piece.pages();
        }

        /** The node that the pages are read from; empty if that is the node that asks. */
        Optional<String> reader() {
            return reader(homes);
        }

        private Optional<String> reader(List<String> of) {
            return piece.asker().filter(of::contains).isPresent() ? Optional.empty() : Optional.of(of.getFirst());
        }

        /** The same after a move. */
        Optional<String> readerAfter(String from, Host to) {
            return reader(after(from, to));
        }

        private List<String> after(String from, Host to) {
            return Stream.concat(homes.stream().filter(node -> !node.equals(from)), Stream.of(to.id()))
                    .toList();
        }

        void move(String from, Host to) {
            homes = after(from, to);
            mayMove = false;
        }
    }

    /** What moves. */
    record Decision(Piece piece, Move move) {}

    /**
     * @param idle load in faults a minute up to which a node is not under pressure, however little load the others have
     */
    Balance(List<Host> hosts, List<Piece> pieces, long idle) {
        hosts.forEach(host -> {
            this.hosts.put(host.id(), host);
            free.put(host.id(), host.freeBytes());
            used.put(host.id(), host.usedBytes());
        });
        this.pieces = pieces.stream().map(Placed::new).toList();
        this.idle = idle;
        smallest = pieces.stream().mapToLong(Piece::bytes).min().orElse(0);
        for (Placed placed : this.pieces) {
            homesOfSpace
                    .computeIfAbsent(placed.piece.space(), _ -> new HashSet<>())
                    .addAll(placed.homes);
            placed.reader().ifPresent(node -> load.merge(node, placed.heat(), Long::sum));
        }
    }

    /** Nodes under pressure now. */
    Set<String> pressed() {
        double limit = limit();
        return load.entrySet().stream()
                .filter(entry -> entry.getValue() > limit)
                .map(Map.Entry::getKey)
                .collect(Collectors.toSet());
    }

    /**
     * The moves that are worth it.
     *
     * @param most of them
     * @param lasting nodes that may be relieved
     */
    List<Decision> decide(int most, Set<String> lasting) {
        while (decisions.size() < most && (relieve(lasting) || approach() || fill())) {
            // Each has decided on one more.
        }
        return decisions;
    }

    private long load(String node) {
        return load.getOrDefault(node, 0L);
    }

    private Stream<Host> takers() {
        return hosts.values().stream().filter(Host::takes);
    }

    /** Load above which a node is under pressure. */
    private double limit() {
        return Math.max((double) idle, mean() * (1 + HYSTERESIS));
    }

    /**
     * The load that each node would have if the load were even. A node that has less and no room for an extent cannot
     * come up to that, so it does not count: its share is left to the others, which would all be under pressure
     * otherwise, with no bound within which nothing moves.
     */
    private double mean() {
        List<Host> counted = new ArrayList<>(takers().toList());
        double mean;
        boolean fewer;
        do {
            double of = mean(counted);
            fewer = counted.removeIf(host -> load(host.id()) < of && free(host) < smallest);
            mean = of;
        } while (fewer);
        return mean;
    }

    private double mean(List<Host> counted) {
        return counted.stream().mapToLong(host -> load(host.id())).average().orElse(0);
    }

    private boolean relieve(Set<String> lasting) {
        List<String> sources = pressed().stream()
                .filter(lasting::contains)
                .sorted(Comparator.comparingLong(this::load).reversed().thenComparing(Comparator.naturalOrder()))
                .limit(MOST_NODES)
                .toList();
        return sources.stream().anyMatch(this::relieve);
    }

    private boolean relieve(String source) {
        List<Placed> hottest =
                hottest(placed -> placed.reader().filter(source::equals).isPresent());
        return hottest.stream()
                .anyMatch(placed -> move(placed, source, Move.Reason.PRESSURE, to -> isRelief(placed, source, to)));
    }

    private List<Placed> hottest(Predicate<Placed> which) {
        return pieces.stream()
                .filter(Placed::pays)
                .filter(which)
                .sorted(Comparator.comparingLong(Placed::heat).reversed())
                .limit(MOST_PIECES)
                .toList();
    }

    private boolean isRelief(Placed placed, String source, Host to) {
        return placed.readerAfter(source, to)
                .filter(node -> load(node) + placed.heat() > load(source) - placed.heat())
                .isEmpty();
    }

    private boolean approach() {
        double calm = limit() / (1 + HYSTERESIS);
        List<Placed> far = hottest(
                placed -> placed.reader().filter(node -> !isNear(placed, node)).isPresent()
                        && placed.piece.asker().isPresent());
        return far.stream()
                .anyMatch(placed -> placed.homes.stream()
                        .anyMatch(from -> move(
                                placed,
                                from,
                                Move.Reason.NEAR,
                                to -> placed.readerAfter(from, to)
                                        .filter(node -> !isNear(placed, node) || load(node) + placed.heat() > calm)
                                        .isEmpty())));
    }

    private boolean isNear(Placed placed, String node) {
        return placed.piece
                .asker()
                .map(this::domain)
                .filter(domain(node)::equals)
                .isPresent();
    }

    private String domain(String node) {
        Host host = hosts.get(node);
        return host == null ? node : host.domain();
    }

    /** Moves an extent to the best of the nodes that may have it and that a condition allows. */
    private boolean move(Placed placed, String from, Move.Reason reason, Predicate<Host> allowed) {
        List<Host> targets = targets(placed, from).filter(allowed).toList();
        long least = targets.stream().mapToLong(host -> load(host.id())).min().orElse(0);
        Optional<Host> best = targets.stream().min(preference(placed, least + limit() * HYSTERESIS));
        best.ifPresent(to -> move(placed, from, to, reason));
        return best.isPresent();
    }

    /**
     * Among the nodes with about the least load: one in the domain of the node that asks, then a home of the space,
     * since that adds no node whose failure the space feels.
     */
    private Comparator<Host> preference(Placed placed, double about) {
        Set<String> known = homesOfSpace.getOrDefault(placed.piece.space(), Set.of());
        return Comparator.<Host, Boolean>comparing(host -> load(host.id()) > about)
                .thenComparing(host -> !isNear(placed, host.id()))
                .thenComparing(host -> !known.contains(host.id()))
                .thenComparingLong(host -> load(host.id()))
                .thenComparing(Host::id);
    }

    private double used(Host host, long more) {
        return (double) (used(host) + more) / host.bytes();
    }

    private long used(Host host) {
        return used.getOrDefault(host.id(), 0L);
    }

    private long free(Host host) {
        return free.getOrDefault(host.id(), 0L);
    }

    private boolean fill() {
        long bytes = takers().mapToLong(Host::bytes).sum();
        double mean = (double) takers().mapToLong(this::used).sum() / Math.max(1, bytes);
        Set<String> mayGive = pieces.stream()
                .filter(Placed::mayMove)
                .flatMap(placed -> placed.homes.stream())
                .collect(Collectors.toSet());
        List<Host> emptiest = takers().filter(host -> used(host, 0) < mean)
                .sorted(Comparator.<Host>comparingDouble(host -> used(host, 0)).thenComparing(Host::id))
                .limit(MOST_NODES)
                .toList();
        List<Host> fullest = takers().filter(host -> used(host, 0) > mean && mayGive.contains(host.id()))
                .sorted(Comparator.<Host>comparingDouble(host -> -used(host, 0)).thenComparing(Host::id))
                .limit(MOST_NODES)
                .toList();
        return fullest.stream()
                .anyMatch(source -> emptiest.stream()
                        .filter(target -> used(target, 0) < mean - POINTS || used(source, 0) > mean + POINTS)
                        .anyMatch(target -> fill(source, target)));
    }

    private boolean fill(Host source, Host target) {
        double limit = limit();
        Optional<Placed> coldest = pieces.stream()
                .filter(placed -> placed.mayMove() && placed.homes.contains(source.id()))
                .filter(placed -> used(target, placed.piece.bytes()) <= used(source, -placed.piece.bytes()))
                .filter(placed -> targets(placed, source.id()).anyMatch(target::equals))
                .filter(placed -> placed.readerAfter(source.id(), target)
                        .filter(node -> placed.heat() > 0 && load(node) + placed.heat() > limit)
                        .isEmpty())
                .min(Comparator.<Placed, Boolean>comparing(placed -> !homesOfSpace
                                .getOrDefault(placed.piece.space(), Set.of())
                                .contains(target.id()))
                        .thenComparingLong(Placed::heat)
                        .thenComparingLong(placed -> placed.piece.space())
                        .thenComparingLong(placed -> placed.piece.firstPage()));
        coldest.ifPresent(placed -> move(placed, source.id(), target, Move.Reason.CAPACITY));
        return coldest.isPresent();
    }

    /** Nodes that may take the place of a home, and have the bytes free. */
    private Stream<Host> targets(Placed placed, String from) {
        List<String> rest = placed.homes.stream()
                .filter(node -> !node.equals(from))
                .map(this::domain)
                .toList();
        return takers().filter(host -> free(host) >= placed.piece.bytes()
                && !placed.homes.contains(host.id())
                && !placed.piece.barred().contains(host.id())
                && !rest.contains(host.domain()));
    }

    private void move(Placed placed, String from, Host to, Move.Reason reason) {
        Piece piece = placed.piece;
        ExtentHome home = piece.homes().stream()
                .filter(each -> each.node().equals(from))
                .findFirst()
                .orElseThrow();
        placed.reader().ifPresent(node -> load.merge(node, -piece.heat(), Long::sum));
        placed.move(from, to);
        placed.reader().ifPresent(node -> load.merge(node, piece.heat(), Long::sum));
        used.merge(from, -piece.bytes(), Long::sum);
        used.merge(to.id(), piece.bytes(), Long::sum);
        free.merge(to.id(), -piece.bytes(), Long::sum);
        homesOfSpace.computeIfAbsent(piece.space(), _ -> new HashSet<>()).add(to.id());
        decisions.add(new Decision(piece, new Move(piece.space(), piece.firstPage(), home, to.id(), reason)));
    }
}
