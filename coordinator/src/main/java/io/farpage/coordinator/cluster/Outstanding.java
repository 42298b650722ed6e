package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeStatus;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.pcollections.PSortedMap;
import org.pcollections.TreePMap;

/**
 * The spaces that {@link Repairs} has to look at, by their keys: those that have changed since it found them settled,
 * those on a node that has failed or is back, or whose drain has begun or ended, and those that were not settled when
 * it looked. They are taken in turn, so that none waits for ever behind those that nothing can be done for. One thread.
 */
final class Outstanding {

    private Optional<State> seen = Optional.empty();
    private final NavigableSet<String> spaces = new TreeSet<>();

    /** The space that was looked at last. */
    private String last = "";

    /**
     * Takes note of a state.
     *
     * @return the spaces whose extents are others than in the state before
     */
    Set<String> observe(State now) {
        Set<String> changed = changed(seen.map(State::extents), now.extents());
        spaces.addAll(changed);
        spaces.addAll(changed(seen.map(State::spaces), now.spaces()));
        Set<String> before = seen.map(Outstanding::staying).orElse(Set.of());
        Set<String> after = staying(now);
        Stream.concat(
                        before.stream().filter(node -> !after.contains(node)),
                        after.stream().filter(node -> !before.contains(node)))
                .forEach(node -> spaces.addAll(now.derived().hosted().under(node)));
        seen = Optional.of(now);
        return changed;
    }

    /** The keys of rows that differ. Those that the states share are equal at once. */
    private static <V> Set<String> changed(Optional<PSortedMap<String, V>> from, PSortedMap<String, V> to) {
        PSortedMap<String, V> before = from.orElse(TreePMap.empty());
        Set<String> changed = new HashSet<>();
        to.forEach((key, row) -> {
            if (!row.equals(before.get(key))) {
                changed.add(key);
            }
        });
        before.keySet().stream().filter(key -> !to.containsKey(key)).forEach(changed::add);
        return changed;
    }

    /** The nodes whose homes stay. */
    private static Set<String> staying(State state) {
        return state.nodes().values().stream()
                .filter(node -> node.status() != NodeStatus.FAILED)
                .map(Node::id)
                .filter(node -> !state.drains().containsKey(node))
                .collect(Collectors.toSet());
    }

    void add(String space) {
        spaces.add(space);
    }

    /** The spaces to look at, those first whose turn it is. */
    List<String> inTurn() {
        List<String> keys = new ArrayList<>(spaces.tailSet(last, false));
        keys.addAll(spaces.headSet(last, true));
        return keys;
    }

    /**
     * A space was looked at.
     *
     * @param isSettled whether it has to be looked at again only after a change
     */
    void onLooked(String space, boolean isSettled) {
        last = space;
        if (isSettled) {
            spaces.remove(space);
        }
    }
}
