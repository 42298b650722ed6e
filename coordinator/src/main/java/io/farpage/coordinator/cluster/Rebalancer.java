package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.Space;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * From time to time has extents move: away from homes under pressure, near to the nodes that ask for them, and from
 * full pools to empty ones, by the rules of {@link Balance}. Few move at a time, and none beside more repairs than
 * that. One thread.
 */
public final class Rebalancer {

    /** Extents that move at a time, and homes that join for any reason while another move begins. */
    static final int MOVES_AT_ONCE = 4;

    /**
     * Decisions in a row that find a node under pressure before it is relieved: one report with noise moves nothing.
     */
    static final int LASTING = 6;

    private static final Logger LOG = LoggerFactory.getLogger(Rebalancer.class);
    private static final long MINUTE_SECONDS = 60;

    private final Ledger ledger;
    private final Time time;
    private final Heat heat;
    private final Moves moves;
    private final Options options;
    private final Map<String, Integer> pressed = new HashMap<>();
    private long steppedAt;

    /**
     * How it works.
     *
     * @param enabled whether anything moves
     * @param interval time between two decisions
     * @param idleFaults faults a second up to which a home is not under pressure
     */
    public record Options(boolean enabled, Duration interval, long idleFaults) {}

    /** Works on a ledger. */
    public Rebalancer(Ledger ledger, Time time, Heat heat, Moves moves, Options options) {
        this.ledger = ledger;
        this.time = time;
        this.heat = heat;
        this.moves = moves;
        this.options = options;
        steppedAt = time.nanos();
    }

    /** Marks extents that are to move, if the time has come. To be called often. Returns how many. */
    public int step() {
        if (!options.enabled() || time.nanos() - steppedAt < options.interval().toNanos()) {
            return 0;
        }
        steppedAt = time.nanos();
        State state = ledger.state();
        Draft view = new Draft(state);
        Balance balance = new Balance(hosts(view), pieces(view), options.idleFaults() * MINUTE_SECONDS);
        Set<String> lasting = lasting(balance.pressed());
        int most = MOVES_AT_ONCE - (int) Math.max(moves.all().size(), Backlog.joining(state));
        if (most <= 0) {
            return 0;
        }
        List<Balance.Decision> decisions = balance.decide(most, lasting);
        decisions.forEach(this::begin);
        return decisions.size();
    }

    private Set<String> lasting(Set<String> now) {
        pressed.keySet().retainAll(now);
        now.forEach(node -> pressed.merge(node, 1, Integer::sum));
        return pressed.entrySet().stream()
                .filter(entry -> entry.getValue() >= LASTING)
                .map(Map.Entry::getKey)
                .collect(Collectors.toSet());
    }

    private void begin(Balance.Decision decision) {
        Balance.Piece piece = decision.piece();
        Move move = decision.move();
        LOG.info(
                "space {}: extent at page {} ({} pages, {} faults a minute) moves from '{}' to '{}' ({})",
                piece.space(),
                piece.firstPage(),
                piece.pages(),
                piece.heat(),
                move.from().node(),
                move.to(),
                move.reason());
        moves.begin(move);
    }

    private List<Balance.Host> hosts(Draft view) {
        Map<String, Long> held = new HashMap<>();
        Map<String, Long> used = new HashMap<>();
        for (Space space : view.spaces.values()) {
            for (Extent extent : view.extents.of(space)) {
                long bytes = extent.count() * space.pageSize();
                extent.places()
                        .filter(place -> isCurrent(view, place.node(), place.incarnation()))
                        .forEach(place -> held.merge(place.node(), bytes, Long::sum));
                moves.of(space.id(), extent)
                        .map(move -> homes(extent, move).stream())
                        .orElseGet(extent::targets)
                        .forEach(home -> used.merge(home.node(), bytes, Long::sum));
            }
        }
        view.releases.current().forEach((key, release) -> {
            String node = key.substring(0, key.indexOf('/'));
            if (isCurrent(view, node, release.incarnation())) {
                held.merge(node, release.length(), Long::sum);
            }
        });
        return view.nodes.values().stream()
                .map(node -> host(view, node, held.getOrDefault(node.id(), 0L), used.getOrDefault(node.id(), 0L)))
                .toList();
    }

    private static Balance.Host host(Draft view, Node node, long held, long used) {
        long bytes = node.pool().exportedBytes();
        boolean takes = node.status() == NodeStatus.ACTIVE && bytes > 0 && !view.isDraining(node.id());
        return new Balance.Host(node.id(), node.failureDomain(), bytes, bytes - held, used, takes);
    }

    private static boolean isCurrent(Draft view, String node, Incarnation pool) {
        return view.nodes
                .find(node)
                .filter(known -> known.poolId().equals(pool))
                .isPresent();
    }

    private List<Balance.Piece> pieces(Draft view) {
        List<Balance.Piece> pieces = new ArrayList<>();
        for (Space space : view.spaces.values()) {
            Optional<String> writer = space.deleting()
                    ? Optional.empty()
                    : RepairPolicy.writer(view, space).map(Attachment::node);
            for (Extent extent : view.extents.of(space)) {
                if (extent.isAllocated() && extent.state() == ExtentState.OK) {
                    pieces.add(piece(view, space, extent, writer));
                }
            }
        }
        return pieces;
    }

    private Balance.Piece piece(Draft view, Space space, Extent extent, Optional<String> writer) {
        Optional<Move> move = moves.of(space.id(), extent);
        boolean mayMove = writer.isPresent()
                && move.isEmpty()
                && !moves.rests(space.id(), extent)
                && extent.joining().isEmpty()
                && extent.homes().size() == space.copies()
                && RepairPolicy.kept(view, extent).size() == space.copies();
        Set<String> barred = Stream.concat(
                        extent.droppedHomes().stream()
                                .map(former -> former.home().node()),
                        moves.left(space.id(), extent).stream())
                .collect(Collectors.toSet());
        return new Balance.Piece(
                space.id(),
                extent.firstPage(),
                extent.count(),
                extent.count() * space.pageSize(),
                move.map(one -> homes(extent, one)).orElse(extent.homes()),
                barred,
                writer,
                heat.of(space.id(), extent.firstPage(), extent.count()),
                mayMove);
    }

    /** The homes that an extent has when its move is done. */
    private static List<ExtentHome> homes(Extent extent, Move move) {
        List<ExtentHome> homes = new ArrayList<>(extent.homes());
        homes.remove(move.from());
        homes.add(new ExtentHome(move.to(), move.from().incarnation(), 0));
        return homes;
    }
}
