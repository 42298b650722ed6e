package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The moves that are under way: marks of extents, each with the home that leaves. {@link Repairs} treats such a home
 * like one on a node that is drained, for that extent alone, so another home joins, and the promotion drops the marked
 * one in the same epoch. In memory only: a coordinator that is started again knows no marks, and drops homes that join
 * in place of homes that stay. Thread-safe.
 */
public final class Moves {

    /** An extent that has moved, or could not, stays so long. */
    static final Duration REST = Duration.ofSeconds(60);

    /**
     * A home that an extent has left does not get it back for so long: with a load that is about even, noise alone
     * would move extents to and fro.
     */
    static final Duration NO_RETURN = Duration.ofMinutes(15);

    private static final Logger LOG = LoggerFactory.getLogger(Moves.class);

    private final Time time;
    private final Map<Key, Mark> marks = new HashMap<>();
    private final Map<Key, Long> ended = new HashMap<>();
    private final Map<Key, Map<String, Long>> left = new HashMap<>();
    private final AtomicLong begun = new AtomicLong();
    private final AtomicLong done = new AtomicLong();
    private final AtomicLong givenUp = new AtomicLong();

    private record Key(long space, long firstPage) {}

    /** @param tried whether {@link Repairs} has had the chance to let the home join */
    private record Mark(Move move, boolean tried) {}

    /** Makes an empty one. */
    public Moves(Time time) {
        this.time = time;
    }

    /** Marks an extent, unless it is marked. */
    synchronized void begin(Move move) {
        if (marks.putIfAbsent(new Key(move.space(), move.firstPage()), new Mark(move, false)) == null) {
            begun.incrementAndGet();
        }
    }

    /** The move of an extent, if it is under way. */
    synchronized Optional<Move> of(long space, Extent extent) {
        return Optional.ofNullable(marks.get(new Key(space, extent.firstPage())))
                .map(Mark::move);
    }

    /** All that are under way. */
    synchronized List<Move> all() {
        return marks.values().stream().map(Mark::move).toList();
    }

    /** Whether {@link Repairs} has not seen some move yet. */
    synchronized boolean hasFresh() {
        return marks.values().stream().anyMatch(mark -> !mark.tried());
    }

    /** Whether an extent may not move, since it has moved in the last minute, or was to. */
    synchronized boolean rests(long space, Extent extent) {
        return ended.containsKey(new Key(space, extent.firstPage()));
    }

    /** Nodes that an extent has left, and that it does not move back to. */
    synchronized Set<String> left(long space, Extent extent) {
        return Set.copyOf(
                left.getOrDefault(new Key(space, extent.firstPage()), Map.of()).keySet());
    }

    /** Removes the marks of moves that are done or impossible. The other moves are tried now. */
    synchronized void follow(State state) {
        ended.values().removeIf(at -> time.nanos() - at > REST.toNanos());
        left.values().forEach(nodes -> nodes.values().removeIf(at -> time.nanos() - at > NO_RETURN.toNanos()));
        left.values().removeIf(Map::isEmpty);
        for (Map.Entry<Key, Mark> entry : List.copyOf(marks.entrySet())) {
            Move move = entry.getValue().move();
            Optional<Extent> extent = extentOf(state, move);
            Optional<ExtentHome> joining = extent.flatMap(Extent::joining);
            if (extent.isPresent()
                    && extent.get().homes().contains(move.from())
                    && (!entry.getValue().tried()
                            || joining.filter(home -> home.node().equals(move.to()))
                                    .isPresent())) {
                marks.put(entry.getKey(), new Mark(move, true));
                continue;
            }
            end(entry.getKey(), move, extent);
        }
    }

    private static Optional<Extent> extentOf(State state, Move move) {
        return Optional.ofNullable(state.extents().get(Keys.id(move.space()))).stream()
                .flatMap(extents -> extents.list().stream())
                .filter(extent -> move.isOf(move.space(), extent))
                .findFirst();
    }

    private void end(Key key, Move move, Optional<Extent> extent) {
        marks.remove(key);
        ended.put(key, time.nanos());
        boolean moved = extent.filter(now -> !now.homes().contains(move.from()))
                .filter(now -> now.homes().stream().anyMatch(home -> home.node().equals(move.to())))
                .isPresent();
        if (moved) {
            left.computeIfAbsent(key, _ -> new HashMap<>()).put(move.from().node(), time.nanos());
            done.incrementAndGet();
        } else {
            givenUp.incrementAndGet();
        }
        LOG.info(
                "space {}: extent at page {} {} from '{}' to '{}' ({})",
                move.space(),
                move.firstPage(),
                moved ? "has moved" : "does not move",
                move.from().node(),
                move.to(),
                moved ? move.reason() : "the home could not join, or is gone");
    }

    /** Moves that were begun. */
    public long begun() {
        return begun.get();
    }

    /** Moves that were done. */
    public long done() {
        return done.get();
    }

    /** Moves that were given up. */
    public long givenUp() {
        return givenUp.get();
    }
}
