package io.farpage.coordinator.client;

import java.net.URI;
import java.util.List;

/** The coordinators of a cluster, of which one is called until it fails or says that it does not lead. Thread-safe. */
final class Addresses {

    private final List<URI> all;
    private volatile URI current;

    Addresses(List<URI> all) {
        this.all = List.copyOf(all);
        this.current = this.all.getFirst();
    }

    URI current() {
        return current;
    }

    int size() {
        return all.size();
    }

    /** Calls the coordinator after one that failed. Of several calls that failed at the same one, the first has an effect. */
    synchronized void leave(URI failed) {
        if (current.equals(failed)) {
            current = all.get((all.indexOf(failed) + 1) % all.size());
        }
    }

    /**
     * Calls the leader that a follower named. A leader over plain HTTP is not taken from a coordinator over TLS, so that neither tokens nor requests
     * leave it; its certificate is checked as any other's.
     */
    synchronized void follow(URI follower, URI leader) {
        if (leader.getHost() != null && follower.getScheme().equals(leader.getScheme()) && !leader.equals(follower)) {
            current = leader;
        } else {
            leave(follower);
        }
    }
}
