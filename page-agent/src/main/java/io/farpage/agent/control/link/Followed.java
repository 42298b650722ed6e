package io.farpage.agent.control.link;

import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * The peers that this node follows, and which of them the long poll for events covers. A poll that has begun tells
 * nothing of peers that were added since; these are asked for once a second until the next poll covers them.
 * Thread-safe.
 */
final class Followed {
    private static final long UNWATCHED_NANOS = Duration.ofSeconds(1).toNanos();

    /** Peers beyond which a poll asks for the events of all nodes: their ids would not fit into a request line. */
    static final int MOST_WATCHED = 100;

    private final LinkMode mode;
    private final Set<String> all = new HashSet<>();
    private final Set<String> wanted = new HashSet<>();
    private final Set<String> watched = new HashSet<>();
    private final Set<String> newlyWatched = new HashSet<>();
    private long askedNanos;

    Followed(LinkMode mode) {
        this.mode = mode;
    }

    /** Whether every node is followed. */
    boolean isAll() {
        return mode == LinkMode.MESH;
    }

    /** Returns whether that is new. */
    synchronized boolean add(String peer) {
        return !isAll() && all.add(peer);
    }

    synchronized boolean contains(String peer) {
        return isAll() || all.contains(peer);
    }

    synchronized void want(String peer) {
        wanted.add(peer);
    }

    synchronized boolean wants(String peer) {
        return wanted.contains(peer);
    }

    synchronized List<String> ids() {
        return List.copyOf(all);
    }

    /** A poll begins: the peers that it must cover; all nodes, if empty. */
    synchronized Optional<Set<String>> watch() {
        if (isAll()) {
            return Optional.empty();
        }
        all.stream().filter(peer -> !watched.contains(peer)).forEach(newlyWatched::add);
        watched.addAll(all);
        return all.size() > MOST_WATCHED ? Optional.empty() : Optional.of(Set.copyOf(all));
    }

    /** The peers that a poll covers for the first time. */
    synchronized List<String> takeNewlyWatched() {
        List<String> taken = List.copyOf(newlyWatched);
        newlyWatched.clear();
        return taken;
    }

    /** The peers that no poll covers yet, once a second. */
    synchronized List<String> unwatched(long now) {
        if (all.size() == watched.size() || now - askedNanos < UNWATCHED_NANOS) {
            return List.of();
        }
        askedNanos = now;
        return all.stream().filter(peer -> !watched.contains(peer)).toList();
    }
}
