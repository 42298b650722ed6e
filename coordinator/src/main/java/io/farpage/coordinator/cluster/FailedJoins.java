package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.Space;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The homes that were dropped while they joined: their nodes are not chosen for the same space before
 * {@link Repairs#PAUSE} has passed. One thread.
 */
final class FailedJoins {
    private final Time time;
    private final Map<Join, Long> failedAt = new HashMap<>();

    /** Joining homes as last observed, by space: those that are gone without being promoted have failed. */
    private final Map<String, Set<Place>> joining = new HashMap<>();

    private record Join(String space, String node) {}

    private record Place(long firstPage, ExtentHome home) {}

    FailedJoins(Time time) {
        this.time = time;
    }

    /**
     * Takes note of who joins now.
     *
     * @param changed the spaces whose extents are others than when this was called last
     */
    void observe(State state, Set<String> changed) {
        for (String space : changed) {
            List<Extent> extents = Optional.ofNullable(state.extents().get(space))
                    .map(State.Extents::list)
                    .orElse(List.of());
            Set<Place> there = places(extents.stream(), Extent::targets);
            Set<Place> before = joining.getOrDefault(space, Set.of());
            before.stream()
                    .filter(place -> !there.contains(place))
                    .forEach(place -> failedAt.put(new Join(space, place.home().node()), time.nanos()));
            Set<Place> now = places(extents.stream(), extent -> extent.joining().stream());
            if (now.isEmpty()) {
                joining.remove(space);
            } else {
                joining.put(space, now);
            }
        }
        failedAt.values().removeIf(at -> time.nanos() - at > Repairs.PAUSE.toNanos());
    }

    private static Set<Place> places(Stream<Extent> extents, Function<Extent, Stream<ExtentHome>> homes) {
        Set<Place> places = new HashSet<>();
        extents.forEach(extent -> homes.apply(extent).forEach(home -> places.add(new Place(extent.firstPage(), home))));
        return places;
    }

    /** The nodes that are not chosen for a space. */
    Set<String> of(Space space) {
        String key = Keys.id(space.id());
        return failedAt.keySet().stream()
                .filter(join -> join.space().equals(key))
                .map(Join::node)
                .collect(Collectors.toSet());
    }
}
