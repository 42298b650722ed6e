package io.farpage.coordinator.cluster;

import io.farpage.coordinator.extent.ExtentCommand;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.WriterRequest;
import io.farpage.rest.ProblemException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * Room for the pages of thin spaces. An attached node asks for it before it writes to an extent first, and the node of
 * the guest gives it back when all pages of an extent are zeros. New room holds zeros, as all that is free does. That
 * of a clone is filled with the pages of its snapshot, at one home after the other: they are homes when there are as
 * many as the space asks for, or no other node has room. So a page that is written is at all of them from the start.
 * Thread-safe.
 */
public final class Allocations {
    private final Ledger ledger;
    private final Grants grants;

    /** A guest's pages go to other nodes than its own, if one has room. */
    private record Avoided(Set<String> nodes) implements Predicate<String> {
        static final Avoided NONE = new Avoided(Set.of());

        @Override
        public boolean test(String home) {
            return nodes.contains(home);
        }
    }

    /** Works on a ledger. */
    public Allocations(Ledger ledger, Grants grants) {
        this.ledger = ledger;
        this.grants = grants;
    }

    /**
     * Gives extents room, as many of them as there is room for, or begins to fill it. Those that have room, or are
     * filled, stay as they are.
     *
     * @throws ProblemException if there is room for none of them
     */
    public void allocate(String idOrName, String node, WriterRequest request) {
        ledger.change(draft -> {
            Space space = Drops.requireAttached(draft, idOrName, node, request.incarnation());
            checkThin(space);
            Rooms rooms = new Rooms(draft);
            List<Extent> without = new ArrayList<>();
            List<Extent> given = new ArrayList<>();
            Set<String> before = draft.extents.homes(space);
            draft.extents.change(space, request.extents(), extent -> {
                if (extent.isAllocated() || extent.joining().isPresent()) {
                    given.add(extent);
                    return List.of();
                }
                Optional<Extent> source = Snapshots.source(draft, space, extent);
                List<ExtentHome> filled = extent.filledPools().stream()
                        .filter(pool -> !Pulls.isDead(draft, pool))
                        .toList();
                int copies = source.isPresent() || !filled.isEmpty() ? 1 : space.copies();
                List<ExtentHome> homes =
                        source.filter(of -> !Pulls.hasSource(draft, of)).isPresent()
                                ? List.of()
                                : homes(draft, rooms, space, extent, filled, copies, new Avoided(Set.of(node)));
                (homes.isEmpty() && filled.isEmpty() ? without : given).add(extent);
                homes.stream()
                        .map(ExtentHome::node)
                        .filter(home -> !before.contains(home))
                        .forEach(home -> grants.forget(home, space.id()));
                if (source.isPresent() || !filled.isEmpty()) {
                    return fill(extent, filled, homes);
                }
                return homes.isEmpty() ? List.of() : List.of(new ExtentCommand.Allocate(homes));
            });
            if (given.isEmpty() && !without.isEmpty()) {
                throw noRoom(draft, rooms, space, without.getFirst());
            }
            return space;
        });
    }

    /** Drops pools that were filled and are gone, and fills another one, or makes those that are left the homes. */
    private static List<ExtentCommand> fill(Extent extent, List<ExtentHome> filled, List<ExtentHome> next) {
        Stream<ExtentCommand> drops = extent.filledPools().stream()
                .filter(pool -> !filled.contains(pool))
                .map(ExtentCommand.Drop::new);
        Stream<ExtentCommand> goesOn = next.isEmpty()
                ? filled.stream().limit(1).map(_ -> new ExtentCommand.Complete())
                : next.stream().map(ExtentCommand.Fill::new);
        return Stream.concat(drops, goesOn).toList();
    }

    /**
     * A place at each of some homes; none if one lacks room.
     *
     * @param filled what the extent has besides
     */
    private static List<ExtentHome> homes(
            Draft draft,
            Rooms rooms,
            Space space,
            Extent extent,
            List<ExtentHome> filled,
            int copies,
            Predicate<String> avoided) {
        List<ExtentHome> homes = new ArrayList<>();
        for (int i = 0; i < copies; i++) {
            List<ExtentHome> beside =
                    Stream.concat(filled.stream(), homes.stream()).toList();
            NewHome next = new NewHome(draft, rooms, extent, beside, space.pageSize());
            Optional<ExtentHome> home = next.choose(avoided).or(() -> next.choose(Avoided.NONE));
            if (home.isEmpty()) {
                return List.of();
            }
            homes.add(home.get());
        }
        homes.forEach(home -> rooms.take(home, extent.count() * space.pageSize()));
        return homes;
    }

    private static ProblemException noRoom(Draft draft, Rooms rooms, Space space, Extent extent) {
        boolean isLost = Snapshots.source(draft, space, extent)
                .filter(of -> !Pulls.hasSource(draft, of))
                .isPresent();
        String obstacle = isLost
                ? "no home of its snapshot has the pages"
                : new NewHome(draft, rooms, extent, List.of(), space.pageSize()).obstacle();
        return new ProblemException(
                507,
                "no-room",
                "pages %d to %d of thin space '%s' get no room at %d homes: %s"
                        .formatted(
                                extent.firstPage(),
                                extent.firstPage() + extent.count() - 1,
                                space.name(),
                                space.copies(),
                                obstacle));
    }

    /**
     * All pages of extents are zeros, unless they are in the guest's memory: their room is given back. It is zeroed
     * when the node has acknowledged that it writes to them no more. Extents that are lost stay so.
     */
    public void deallocate(String idOrName, String node, WriterRequest request) {
        ledger.change(draft -> {
            Space space = Drops.requireWriter(draft, idOrName, node, request.incarnation());
            checkThin(space);
            if (space.base().isPresent()) {
                throw ProblemException.conflict(
                        "clone",
                        "space '%s' (id %d) is a clone: without room its pages are those of its snapshot again"
                                .formatted(space.name(), space.id()));
            }
            draft.extents.change(
                    space,
                    request.extents(),
                    extent -> extent.isAllocated() && extent.state() == ExtentState.OK
                            ? List.of(new ExtentCommand.Deallocate())
                            : List.of());
            return space;
        });
    }

    private static void checkThin(Space space) {
        if (!space.isThin() || space.snapshot().isPresent()) {
            throw ProblemException.conflict(
                    "not-thin",
                    "space '%s' (id %d) %s, and its room does not change"
                            .formatted(space.name(), space.id(), space.isThin() ? "is a snapshot" : "is not thin"));
        }
    }
}
