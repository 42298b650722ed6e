package io.farpage.it.harness;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * What threads have loaded from a word of memory and stored to it, each value stored once: whether there is an order of
 * all of it, in accordance with time, in which each load gives the latest value. Decided in O(n log n) by the zones of
 * values (Gibbons and Korach, Testing Shared Memories, SIAM J. Comput. 26(4), 1997).
 */
public final class WordHistory {
    private static final long AROUND_NANOS = 10_000;

    private record Operation(boolean isStore, long value, long began, long ended) {}

    /** The shortest time during which the word had a value, or a moment at which it may have had it. */
    private static final class Zone {
        final long value;
        long storeBegan = Long.MAX_VALUE;
        boolean isStored;
        long firstEnd = Long.MAX_VALUE;
        long lastBegin = Long.MIN_VALUE;

        Zone(long value) {
            this.value = value;
        }

        boolean isForward() {
            return firstEnd < lastBegin;
        }

        long left() {
            return Math.min(firstEnd, lastBegin);
        }

        long right() {
            return Math.max(firstEnd, lastBegin);
        }
    }

    private final List<Operation> operations = new ArrayList<>();

    /**
     * A thread has loaded a value.
     *
     * @param began when the thread began to load, nanoseconds
     * @param ended when it had the value
     */
    public void loaded(long value, long began, long ended) {
        operations.add(new Operation(false, value, began, ended));
    }

    /** As {@link #loaded}, of a value that is stored once, and not zero. */
    public void stored(long value, long began, long ended) {
        operations.add(new Operation(true, value, began, ended));
    }

    /** Adds what another thread has done. */
    public void add(WordHistory other) {
        operations.addAll(other.operations);
    }

    /** Loads and stores. */
    public int size() {
        return operations.size();
    }

    /** What contradicts every order; empty if there is one. The word was zero before. */
    public Optional<String> contradiction() {
        Map<Long, Zone> zones = new HashMap<>();
        Zone first = new Zone(0);
        first.isStored = true;
        first.storeBegan = Long.MIN_VALUE;
        first.firstEnd = Long.MIN_VALUE;
        zones.put(0L, first);
        for (Operation each : operations) {
            Zone zone = zones.computeIfAbsent(each.value(), Zone::new);
            zone.firstEnd = Math.min(zone.firstEnd, each.ended());
            zone.lastBegin = Math.max(zone.lastBegin, each.began());
            if (each.isStore()) {
                zone.isStored = true;
                zone.storeBegan = each.began();
            }
        }
        for (Operation each : operations) {
            Zone zone = Objects.requireNonNull(zones.get(each.value()));
            if (!zone.isStored || each.ended() < zone.storeBegan) {
                return Optional.of("%d was loaded before it was stored".formatted(each.value()));
            }
        }
        TreeMap<Long, Zone> forward = new TreeMap<>();
        List<Zone> all = zones.values().stream()
                .sorted(Comparator.comparingLong(Zone::left))
                .toList();
        for (Zone zone : all) {
            if (!zone.isForward()) {
                continue;
            }
            Map.Entry<Long, Zone> before = forward.lastEntry();
            if (before != null && before.getValue().right() > zone.left()) {
                return Optional.of("the word had to keep %d and %d at the same time:%n%s"
                        .formatted(
                                before.getValue().value,
                                zone.value,
                                about(zone.left(), zone.value, before.getValue().value)));
            }
            forward.put(zone.left(), zone);
        }
        for (Zone zone : all) {
            Map.Entry<Long, Zone> around = zone.isForward() ? null : forward.lowerEntry(zone.left());
            if (around != null && around.getValue().right() > zone.right()) {
                return Optional.of("%d was stored while the word had to keep %d:%n%s"
                        .formatted(
                                zone.value,
                                around.getValue().value,
                                about(zone.left(), zone.value, around.getValue().value)));
            }
        }
        return Optional.empty();
    }

    /** What threads did about a value, and around the time of a contradiction, with times from then on. */
    private String about(long time, long value, long kept) {
        return operations.stream()
                .filter(each ->
                        each.value() == value || each.value() == kept || Math.abs(each.began() - time) < AROUND_NANOS)
                .sorted(Comparator.comparingLong(Operation::began))
                .map(each -> "%d..%d ns: %s %d of thread %d"
                        .formatted(
                                each.began() - time,
                                each.ended() - time,
                                each.isStore() ? "stored" : "loaded",
                                each.value(),
                                each.value() >>> 48))
                .collect(Collectors.joining("\n"));
    }
}
