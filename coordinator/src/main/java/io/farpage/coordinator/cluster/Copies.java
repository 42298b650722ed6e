package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.CopyReport;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.Space;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Stream;

/**
 * How far pages have been copied to homes that join, as agents have reported lately. Only told to people: nothing is
 * decided by it. A coordinator that starts has none of it. Thread-safe.
 */
public final class Copies {
    /** Agents report every second; what has not been repeated for so long is over. */
    private static final Duration KEPT = Duration.ofSeconds(10);

    private final Time time;
    private final Map<String, Reported> byNode = new HashMap<>();

    private record Key(long space, ExtentEpoch extent) {}

    private record Reported(long at, Map<Key, Long> left) {}

    /** Knows of no copy yet. */
    public Copies(Time time) {
        this.time = time;
    }

    /**
     * Replaces what a node has reported.
     *
     * @param report of a node that is registered, which bounds how much is kept
     */
    public synchronized void report(String node, CopyReport report) {
        long now = time.nanos();
        byNode.values().removeIf(old -> now - old.at() > KEPT.toNanos());
        Map<Key, Long> left = new HashMap<>();
        report.copies().forEach(copy -> left.put(new Key(copy.space(), copy.extent()), copy.leftBytes()));
        byNode.put(node, new Reported(now, left));
    }

    /**
     * Bytes of an extent that the home that joins has already.
     *
     * @return 0 if no home joins, or neither an attached node nor that home has reported the copy lately
     */
    synchronized long copied(Draft draft, Space space, Extent extent) {
        if (extent.joining().isEmpty()) {
            return 0;
        }
        long size = extent.count() * space.pageSize();
        Key key = new Key(space.id(), ExtentEpoch.of(extent));
        long now = time.nanos();
        return copiers(draft, space, extent)
                .flatMap(node -> Stream.ofNullable(byNode.get(node)))
                .filter(reported -> now - reported.at() <= KEPT.toNanos())
                .flatMap(reported -> Stream.ofNullable(reported.left().get(key)))
                .mapToLong(left -> Math.max(0, size - left))
                .max()
                .orElse(0);
    }

    /** The nodes that can be the one that copies. */
    private static Stream<String> copiers(Draft draft, Space space, Extent extent) {
        return Stream.concat(
                draft.attachedTo(space).stream().map(attachment -> attachment.node()),
                extent.joining().stream().map(home -> home.node()));
    }
}
