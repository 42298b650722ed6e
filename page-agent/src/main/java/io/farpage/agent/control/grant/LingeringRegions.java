package io.farpage.agent.control.grant;

import io.farpage.agent.control.device.OpenDevice;
import io.farpage.agent.control.grant.PoolRanges.PoolRange;
import io.farpage.verbs.MemoryRegion;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/**
 * Regions that were granted to the node of a guest, and that are a snapshot's now: the snapshot was made while the
 * guest runs. The node has nothing under way that writes. It reads there until it has the keys of the snapshot, and a
 * READ that is refused fails a link that serves other guests. Used under the lock of {@link HomeGrants}.
 */
final class LingeringRegions {
    /** After the snapshot's keys were published. */
    private static final long LINGER_NANOS = Duration.ofSeconds(1).toNanos();

    /** If they are not published. */
    private static final long MOST_NANOS = Duration.ofSeconds(30).toNanos();

    private final List<Lingering> all = new ArrayList<>();

    /** The regions of one range. */
    private static final class Lingering {
        private final GrantParties parties;
        private final PoolRange range;
        private final Map<OpenDevice, MemoryRegion> regions;
        private final long since;
        private long publishedAt;
        private boolean isPublished;

        private Lingering(GrantParties parties, PoolRange range, Map<OpenDevice, MemoryRegion> regions, long since) {
            this.parties = parties;
            this.range = range;
            this.regions = regions;
            this.since = since;
        }

        private boolean isDue(long now) {
            return isPublished ? now - publishedAt > LINGER_NANOS : now - since > MOST_NANOS;
        }
    }

    /** What the regions of a range are for. */
    @FunctionalInterface
    interface Reads {
        /** Whether the node of the parties may do so with a range. */
        boolean test(GrantParties parties, PoolRange range);
    }

    void add(GrantParties parties, PoolRange range, Map<OpenDevice, MemoryRegion> regions, long now) {
        all.add(new Lingering(parties, range, regions, now));
    }

    boolean isEmpty() {
        return all.isEmpty();
    }

    boolean overlaps(long offset, long length) {
        return all.stream().anyMatch(each -> each.range.overlaps(offset, length));
    }

    /**
     * Revokes what the node needs no longer.
     *
     * @param reads whether the node may read a range, as that of a snapshot
     * @param knows whether the keys for that were published
     */
    void revokeEnded(Reads reads, Reads knows, long now) {
        for (Lingering each : all) {
            if (!each.isPublished && knows.test(each.parties, each.range)) {
                each.isPublished = true;
                each.publishedAt = now;
            }
        }
        revokeIf(each -> !reads.test(each.parties, each.range) || each.isDue(now));
    }

    /** Revokes what was granted to some nodes. */
    void revokeOf(Predicate<GrantParties> parties) {
        revokeIf(each -> parties.test(each.parties));
    }

    /** Revokes ranges that overlap one. */
    void revoke(long offset, long length) {
        revokeIf(each -> each.range.overlaps(offset, length));
    }

    /** Regions of a device that was closed are gone with it. */
    void retainAll(List<OpenDevice> devices) {
        all.forEach(each -> each.regions.keySet().retainAll(devices));
    }

    /** One whose revocation fails stays, so that it is tried again. */
    private void revokeIf(Predicate<Lingering> condition) {
        for (Iterator<Lingering> each = all.iterator(); each.hasNext(); ) {
            Lingering next = each.next();
            if (condition.test(next)) {
                next.regions.values().forEach(MemoryRegion::close);
                each.remove();
            }
        }
    }
}
