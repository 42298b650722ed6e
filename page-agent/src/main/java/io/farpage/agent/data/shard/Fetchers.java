package io.farpage.agent.data.shard;

import java.util.Arrays;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntFunction;

/** All fetchers of a shard. Any thread may add one; the rest is for the shard's thread. */
final class Fetchers {
    /** By index. The array is replaced when one is added, so that no thread takes a lock. */
    private final AtomicReference<Fetcher[]> all = new AtomicReference<>(new Fetcher[0]);
    /** Whose parked transfers are posted first the next time. The shard's thread only. */
    private int first;

    /** @param made makes the fetcher of an index; called again if another thread has added one meanwhile */
    Fetcher add(IntFunction<Fetcher> made) {
        while (true) {
            Fetcher[] before = all.get();
            Fetcher[] after = Arrays.copyOf(before, before.length + 1);
            Fetcher added = made.apply(before.length);
            after[before.length] = added;
            if (all.compareAndSet(before, after)) {
                return added;
            }
        }
    }

    Fetcher get(int index) {
        return all.get()[index];
    }

    /** Whether a transfer is under way, or has not been released. */
    boolean hasTransfers() {
        for (Fetcher each : all.get()) {
            if (each.inUse() > 0) {
                return true;
            }
        }
        return false;
    }

    /** Whether a transfer of another fetcher than one is under way, or has not been released. */
    boolean areBusyBeside(Fetcher one) {
        for (Fetcher each : all.get()) {
            if (each != one && each.inUse() > 0) {
                return true;
            }
        }
        return false;
    }

    boolean hasParked() {
        for (Fetcher each : all.get()) {
            if (each.hasParked()) {
                return true;
            }
        }
        return false;
    }

    boolean hasDone() {
        for (Fetcher each : all.get()) {
            if (each.hasDone()) {
                return true;
            }
        }
        return false;
    }

    /** Posts parked transfers, as far as possible. Each time, those of another fetcher come first. */
    void retryParked() {
        Fetcher[] fetchers = all.get();
        int begin = first;
        first = begin + 1 < fetchers.length ? begin + 1 : 0;
        for (int i = 0; i < fetchers.length; i++) {
            Fetcher each = fetchers[begin + i < fetchers.length ? begin + i : begin + i - fetchers.length];
            if (each.hasParked()) {
                each.retryParked();
            }
        }
    }

    /** See {@link Fetcher#reclaim}. */
    void reclaim(PeerLink gone) {
        for (Fetcher each : all.get()) {
            each.reclaim(gone);
        }
    }

    /** See {@link Fetcher#expire}. */
    void expire(long nowNanos) {
        for (Fetcher each : all.get()) {
            each.expire(nowNanos);
        }
    }

    void close() {
        for (Fetcher each : all.get()) {
            each.close();
        }
    }
}
