package io.farpage.coordinator.cluster;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The watchers that wait for an event, by what they wait for: an event costs as many look-ups as it concerns nodes,
 * however many watchers wait. Guarded by the lock of the {@link EventLog}.
 */
final class EventWaiters {

    /** Watchers that get each change of any node, or all events. */
    private final Set<EventWaiter> ofAll = new HashSet<>();

    private final Map<String, Set<EventWaiter>> byNode = new HashMap<>();
    private final Map<String, Set<EventWaiter>> byPeer = new HashMap<>();
    private final Set<EventWaiter> every = new LinkedHashSet<>();

    void add(EventWaiter waiter) {
        every.add(waiter);
        EventFilter filter = waiter.filter();
        if (filter.peers().isEmpty()) {
            ofAll.add(waiter);
        }
        filter.node()
                .ifPresent(node ->
                        byNode.computeIfAbsent(node, n -> new HashSet<>()).add(waiter));
        filter.peers()
                .ifPresent(peers -> peers.forEach(peer ->
                        byPeer.computeIfAbsent(peer, p -> new HashSet<>()).add(waiter)));
    }

    void remove(EventWaiter waiter) {
        every.remove(waiter);
        ofAll.remove(waiter);
        waiter.filter().node().ifPresent(node -> removeFrom(byNode, node, waiter));
        waiter.filter().peers().ifPresent(peers -> peers.forEach(peer -> removeFrom(byPeer, peer, waiter)));
    }

    private static void removeFrom(Map<String, Set<EventWaiter>> index, String key, EventWaiter waiter) {
        index.computeIfPresent(key, (k, waiters) -> {
            waiters.remove(waiter);
            return waiters.isEmpty() ? null : waiters;
        });
    }

    /** The watchers that an event concerns. */
    List<EventWaiter> of(Audience audience) {
        if (audience.everyone()) {
            return List.copyOf(every);
        }
        Set<EventWaiter> concerned = new LinkedHashSet<>(ofAll);
        audience.nodes().forEach(node -> concerned.addAll(byNode.getOrDefault(node, Set.of())));
        audience.about().ifPresent(node -> {
            concerned.addAll(byNode.getOrDefault(node, Set.of()));
            concerned.addAll(byPeer.getOrDefault(node, Set.of()));
        });
        List<EventWaiter> admitted = new ArrayList<>(concerned);
        admitted.removeIf(waiter -> !waiter.filter().admits(audience));
        return admitted;
    }

    /** All of them. */
    List<EventWaiter> all() {
        return List.copyOf(every);
    }

    int size() {
        return every.size();
    }
}
