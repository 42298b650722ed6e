package io.farpage.agent.data.shard;

import java.util.Arrays;
import java.util.function.IntFunction;

/** All fetchers of a shard. Any thread may add one; the rest is for the shard's thread. */
final class Fetchers {
    /** By index. Replaced when one is added, so that the shard's thread takes no lock. */
    private volatile Fetcher[] all = {};

    /** @param made makes the fetcher of an index */
    synchronized Fetcher add(IntFunction<Fetcher> made) {
        int index = all.length;
        Fetcher[] more = Arrays.copyOf(all, index + 1);
        Fetcher fetcher = made.apply(index);
        more[index] = fetcher;
        all = more;
        return fetcher;
    }

    Fetcher get(int index) {
        return all[index];
    }

    /** Whether a transfer is under way, or has not been released. */
    boolean hasTransfers() {
        for (Fetcher each : all) {
            if (each.inUse() > 0) {
                return true;
            }
        }
        return false;
    }

    /** Whether a transfer of another fetcher than one is under way, or has not been released. */
    boolean areBusyBeside(Fetcher one) {
        for (Fetcher each : all) {
            if (each != one && each.inUse() > 0) {
                return true;
            }
        }
        return false;
    }

    boolean hasParked() {
        for (Fetcher each : all) {
            if (each.hasParked()) {
                return true;
            }
        }
        return false;
    }

    boolean hasDone() {
        for (Fetcher each : all) {
            if (each.hasDone()) {
                return true;
            }
        }
        return false;
    }

    /** Posts parked transfers, as far as possible. */
    void retryParked() {
        for (Fetcher each : all) {
            if (each.hasParked()) {
                each.retryParked();
            }
        }
    }

    /** See {@link Fetcher#reclaim}. */
    void reclaim(PeerLink gone) {
        for (Fetcher each : all) {
            each.reclaim(gone);
        }
    }

    /** See {@link Fetcher#expire}. */
    void expire(long nowNanos) {
        for (Fetcher each : all) {
            each.expire(nowNanos);
        }
    }

    void close() {
        for (Fetcher each : all) {
            each.close();
        }
    }
}
