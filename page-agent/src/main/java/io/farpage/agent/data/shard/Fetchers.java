package io.farpage.agent.data.shard;

import java.util.ArrayList;
import java.util.List;

/** All fetchers of a shard. */
final class Fetchers {
    private final List<Fetcher> all = new ArrayList<>();

    int count() {
        return all.size();
    }

    void add(Fetcher fetcher) {
        all.add(fetcher);
    }

    Fetcher get(int index) {
        return all.get(index);
    }

    /** Whether a transfer is under way, or has not been released. */
    boolean hasTransfers() {
        for (int i = 0; i < all.size(); i++) {
            if (all.get(i).inUse() > 0) {
                return true;
            }
        }
        return false;
    }

    /** Whether a transfer of another fetcher than one is under way, or has not been released. */
    boolean areBusyBeside(Fetcher one) {
        for (int i = 0; i < all.size(); i++) {
            if (all.get(i) != one && all.get(i).inUse() > 0) {
                return true;
            }
        }
        return false;
    }

    boolean hasParked() {
        for (int i = 0; i < all.size(); i++) {
            if (all.get(i).hasParked()) {
                return true;
            }
        }
        return false;
    }

    boolean hasDone() {
        for (int i = 0; i < all.size(); i++) {
            if (all.get(i).hasDone()) {
                return true;
            }
        }
        return false;
    }

    /** Posts parked transfers, as far as possible. */
    void retryParked() {
        for (int i = 0; i < all.size(); i++) {
            if (all.get(i).hasParked()) {
                all.get(i).retryParked();
            }
        }
    }

    /** See {@link Fetcher#reclaim}. */
    void reclaim(PeerLink gone) {
        for (int i = 0; i < all.size(); i++) {
            all.get(i).reclaim(gone);
        }
    }

    /** See {@link Fetcher#expire}. */
    void expire(long nowNanos) {
        for (int i = 0; i < all.size(); i++) {
            all.get(i).expire(nowNanos);
        }
    }

    void close() {
        all.forEach(Fetcher::close);
    }
}
