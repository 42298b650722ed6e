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

/**
 * Room for the pages of thin spaces. An attached node asks for it before it writes to an extent first, and the node of
 * the guest gives it back when all pages of an extent are zeros. New room holds zeros, as all that is free does.
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
     * Gives extents room, as many of them as there is room for. Those that have room stay as they are.
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
                if (extent.isAllocated()) {
                    given.add(extent);
                    return List.of();
                }
                List<ExtentHome> homes = homes(draft, rooms, space, extent, new Avoided(Set.of(node)));
                (homes.isEmpty() ? without : given).add(extent);
                homes.stream()
                        .map(ExtentHome::node)
                        .filter(home -> !before.contains(home))
                        .forEach(home -> grants.forget(home, space.id()));
                return homes.isEmpty() ? List.of() : List.of(new ExtentCommand.Allocate(homes));
            });
            if (given.isEmpty() && !without.isEmpty()) {
                throw noRoom(draft, rooms, space, without.getFirst());
            }
            return space;
        });
    }

    /** A place at as many homes as the space asks for; none if there is not. */
    private static List<ExtentHome> homes(
            Draft draft, Rooms rooms, Space space, Extent extent, Predicate<String> avoided) {
        List<ExtentHome> homes = new ArrayList<>();
        for (int i = 0; i < space.copies(); i++) {
            NewHome next = new NewHome(draft, rooms, extent, homes, space.pageSize());
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
        String obstacle = new NewHome(draft, rooms, extent, List.of(), space.pageSize()).obstacle();
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
