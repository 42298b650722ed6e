package io.farpage.coordinator.cluster;

import io.farpage.coordinator.extent.ExtentCommand;
import io.farpage.coordinator.extent.ExtentLife;
import io.farpage.coordinator.model.DroppedHome;
import io.farpage.coordinator.model.EventKind;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.store.Change;
import io.farpage.coordinator.store.Table;
import io.farpage.rest.Json;
import io.farpage.rest.ProblemException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;

/**
 * The extents of all spaces in a draft. The only writer of their rows: what happens to an extent is a command of
 * {@link ExtentLife}. Has the frames zeroed that a command gives back, and tells each node whose part has changed. In
 * memory the extents of a space are one row, in the store each is a row of its own.
 */
final class ExtentTable {
    private final Draft draft;
    private final Rows<State.Extents> rows;

    ExtentTable(Draft draft, Rows<State.Extents> rows) {
        this.draft = draft;
        this.rows = rows;
    }

    /** The extents of a space; none if there is no such space. */
    List<Extent> of(Space space) {
        return of(space.id());
    }

    /** As {@link #of(Space)}, by id. */
    List<Extent> of(long space) {
        return rows.find(Keys.id(space)).map(State.Extents::list).orElse(List.of());
    }

    /** The nodes that have extents of a space, or frames of a dropped copy; lost ones included. */
    Set<String> homes(Space space) {
        return rows.find(Keys.id(space.id())).map(State.Extents::homes).orElse(Set.of());
    }

    Collection<State.Extents> rows() {
        return rows.values();
    }

    /** Whether a space has the same extents as in a state. A row that no change has touched is equal at once. */
    boolean isAsIn(State state, Space space) {
        String key = Keys.id(space.id());
        return rows.find(key).equals(Optional.ofNullable(state.extents().get(key)));
    }

    /** The ids of spaces with a place on a node, as keys. */
    Collection<String> keysWith(String node) {
        return rows.keysWith(node);
    }

    void create(Space space, List<Extent> extents) {
        put(space, extents);
    }

    void remove(Space space) {
        rows.remove(Keys.id(space.id()));
    }

    /**
     * Adds what the store gets: each extent is a row, so a change of a space writes the extents that it changes. Which
     * pages an extent has never changes.
     */
    static void store(
            String space, Optional<State.Extents> before, Optional<State.Extents> after, List<Change> changes) {
        List<Extent> old = before.map(State.Extents::list).orElse(List.of());
        List<Extent> now = after.map(State.Extents::list).orElse(List.of());
        if (now.isEmpty()) {
            old.forEach(extent -> changes.add(row(space, extent, Optional.empty())));
        }
        assert old.isEmpty() || now.isEmpty() || old.size() == now.size() : space;
        for (int i = 0; i < now.size(); i++) {
            Extent extent = now.get(i);
            assert old.isEmpty() || extent.firstPage() == old.get(i).firstPage() : space + ", " + extent;
            if (old.isEmpty() || !extent.equals(old.get(i))) {
                changes.add(row(space, extent, Optional.of(Json.STRICT.writeValueAsString(extent))));
            }
        }
    }

    /**
     * Gives the homes of a space to a snapshot, with the pages that they have. The space has the same extents, without
     * homes. No node writes to the homes, none joins, and none was dropped.
     */
    void handOver(Space from, Space snapshot) {
        List<Extent> homes = of(from);
        change(from, extent -> extent.isAllocated() ? List.of(new ExtentCommand.HandOver()) : List.of());
        create(snapshot, homes);
    }

    private static Change row(String space, Extent extent, Optional<String> row) {
        return new Change(Table.EXTENTS, Keys.extent(space, extent), row);
    }

    private void put(Space space, List<Extent> extents) {
        rows.put(Keys.id(space.id()), new State.Extents(space.pageSize(), extents));
    }

    /**
     * Carries out commands on extents that a request names by their epochs: on all of them or on none.
     *
     * @throws ProblemException if an extent is not there, or in another epoch
     */
    void change(Space space, List<ExtentEpoch> named, Function<Extent, List<ExtentCommand>> commands) {
        Map<Long, List<ExtentCommand>> all = new HashMap<>();
        for (ExtentEpoch each : named) {
            all.put(each.firstPage(), commands.apply(require(space, each)));
        }
        change(space, extent -> all.getOrDefault(extent.firstPage(), List.of()));
    }

    /** Carries out commands on the extents of a space, in the order of their pages. */
    void change(Space space, Function<Extent, List<ExtentCommand>> commands) {
        List<Extent> before = of(space);
        List<Extent> after = new ArrayList<>();
        Set<String> concerned = new TreeSet<>();
        Set<String> zeroing = new LinkedHashSet<>();
        boolean isAnyLost = false;
        boolean isChanged = false;
        for (Extent extent : before) {
            Extent now = extent;
            for (ExtentCommand command : commands.apply(extent)) {
                Extent next = ExtentLife.apply(now, command);
                if (command instanceof ExtentCommand.GiveBack) {
                    zeroing.addAll(release(space, now, next));
                }
                now = next;
            }
            after.add(now);
            if (!now.equals(extent)) {
                concerned.addAll(ExtentLife.concerned(extent, now));
                isAnyLost |= now.state() != extent.state();
                isChanged = true;
            }
        }
        if (!isChanged) {
            return;
        }
        put(space, after);
        if (isAnyLost) {
            String key = Keys.id(space.id());
            draft.spaces.find(key).ifPresent(now -> draft.spaces.put(key, now.withState(ExtentState.LOST)));
        }
        EventKind kind = isAnyLost ? EventKind.EXTENTS_LOST : EventKind.HOMES_CHANGED;
        concerned.forEach(node -> draft.emit(kind, Optional.of(node), space));
        zeroing.forEach(node -> draft.emit(EventKind.RELEASES_PENDING, node));
    }

    private List<String> release(Space space, Extent before, Extent after) {
        return before.droppedHomes().stream()
                .filter(former -> !after.droppedHomes().contains(former))
                .map(DroppedHome::home)
                .flatMap(place -> draft.release(space, before, place, false).stream())
                .toList();
    }

    /**
     * The extent that a request names.
     *
     * @throws ProblemException if it is not there, or in another epoch
     */
    Extent require(Space space, ExtentEpoch named) {
        Extent extent = of(space).stream()
                .filter(each -> each.firstPage() == named.firstPage())
                .findFirst()
                .orElseThrow(() -> ProblemException.notFound(
                        "space '%s' has no extent that begins at page %d".formatted(space.name(), named.firstPage())));
        if (extent.epochNumber() != named.epoch()) {
            throw ProblemException.conflict(
                    "stale-epoch",
                    "the extent at page %d of space '%s' is in epoch %d, not %d; read the extents again"
                            .formatted(named.firstPage(), space.name(), extent.epochNumber(), named.epoch()));
        }
        return extent;
    }
}
