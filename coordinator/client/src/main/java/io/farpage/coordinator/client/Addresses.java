package io.farpage.coordinator.client;

import java.net.URI;
import java.util.List;

/** The coordinators of a cluster. One is called until it fails or reports that it does not lead. Thread-safe. */
final class Addresses {

    private final List<URI> all;
    private volatile URI current;

    /** @throws IllegalArgumentException if there is none, or one is not an http URL with a host */
    Addresses(List<URI> all) {
        all.forEach(Addresses::check);
        if (all.isEmpty()) {
            throw new IllegalArgumentException("no coordinator URL is given; for example http://127.0.0.1:7400");
        }
        this.all = List.copyOf(all);
        this.current = this.all.getFirst();
    }

    private static void check(URI base) {
        if (!("http".equals(base.getScheme()) || "https".equals(base.getScheme())) || base.getHost() == null) {
            throw new IllegalArgumentException(
                    ("coordinator URL '%s' must be http://host:port or https://host:port, for example"
                                    + " http://127.0.0.1:7400")
                            .formatted(base));
        }
    }

    URI current() {
        return current;
    }

    /** Whether all are plain HTTP. Then so is every leader that is followed. */
    boolean arePlain() {
        return all.stream().allMatch(base -> "http".equals(base.getScheme()));
    }

    int size() {
        return all.size();
    }

    /**
     * Switches from a coordinator that failed to the next one. If several calls fail at the same one, the first call
     * switches.
     */
    synchronized void leave(URI failed) {
        if (current.equals(failed)) {
            current = all.get((all.indexOf(failed) + 1) % all.size());
        }
    }

    /**
     * Calls the leader that a follower named. A leader over plain HTTP is not taken from a coordinator over TLS, so
     * that neither tokens nor requests leave it; its certificate is checked as any other's.
     */
    synchronized void follow(URI follower, URI leader) {
        if (leader.getHost() != null && follower.getScheme().equals(leader.getScheme()) && !leader.equals(follower)) {
            current = leader;
        } else {
            leave(follower);
        }
    }
}
