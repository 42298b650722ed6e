package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.Space;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The homes that were dropped while they joined: their nodes are not chosen for the same space before
 * {@link Repairs#PAUSE} has passed. One thread.
 */
final class FailedJoins {
    private final Time time;
    private final Map<String, Long> failedAt = new HashMap<>();

    /** Joining homes as last observed: those that are gone without being promoted have failed. */
    private Set<Joining> joined = Set.of();

    private record Joining(long space, long firstPage, ExtentHome home) {}

    FailedJoins(Time time) {
        this.time = time;
    }

    /** Takes note of who joins now. */
    void observe(State state) {
        Set<Joining> now = new HashSet<>();
        Set<Joining> homes = new HashSet<>();
        for (Space space : state.spaces().values()) {
            for (Extent extent : state.extentsOf(space)) {
                extent.joining().ifPresent(home -> now.add(new Joining(space.id(), extent.firstPage(), home)));
                extent.homes().forEach(home -> homes.add(new Joining(space.id(), extent.firstPage(), home)));
            }
        }
        for (Joining before : joined) {
            if (!now.contains(before) && !homes.contains(before)) {
                failedAt.put(key(before.space(), before.home().node()), time.nanos());
            }
        }
        joined = now;
        failedAt.values().removeIf(at -> time.nanos() - at > Repairs.PAUSE.toNanos());
    }

    private static String key(long space, String node) {
        return space + "/" + node;
    }

    /** The nodes that are not chosen for a space. */
    Set<String> of(Space space) {
        String prefix = key(space.id(), "");
        return failedAt.keySet().stream()
                .filter(key -> key.startsWith(prefix))
                .map(key -> key.substring(prefix.length()))
                .collect(Collectors.toSet());
    }
}
