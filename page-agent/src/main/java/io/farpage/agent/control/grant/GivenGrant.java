package io.farpage.agent.control.grant;

import io.farpage.agent.control.device.OpenDevice;
import io.farpage.agent.control.grant.PoolRanges.PoolRange;
import io.farpage.coordinator.model.RegionKey;
import io.farpage.coordinator.model.RemoteAddress;
import io.farpage.verbs.MemoryRegion;
import io.farpage.verbs.VerbsException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The regions of one grant: one for each range and device. Ranges are added as homes join extents, and revoked one by
 * one, so that transfers with the others go on. Used under the lock of {@link HomeGrants}, except for {@link #export}.
 */
final class GivenGrant {
    private static final Logger log = LoggerFactory.getLogger(GivenGrant.class);

    /** The most ranges that are added one by one: a sealed grant has room for about 1,500 on two devices. */
    static final int MAX_RANGES = 1_024;

    private static final long LINGER_NANOS = Duration.ofSeconds(1).toNanos();

    private final GrantParties parties;
    private final boolean isForReads;
    private final Map<PoolRange, Map<OpenDevice, MemoryRegion>> ranges = new LinkedHashMap<>();
    private final Set<OpenDevice> failed = new HashSet<>();
    private boolean published;
    private long version;
    private OptionalLong endedAt = OptionalLong.empty();

    /** @param isForReads whether the node can only read the ranges */
    GivenGrant(GrantParties parties, boolean isForReads) {
        this.parties = parties;
        this.isForReads = isForReads;
    }

    GrantParties parties() {
        return parties;
    }

    /**
     * The grant is no longer wanted. READs of a pull may be under way, and one that is refused fails a link that serves
     * guests; so such a grant lingers.
     *
     * @return whether it has to be revoked now
     */
    boolean end(long now) {
        if (parties.pull().isEmpty()) {
            return true;
        }
        if (endedAt.isEmpty()) {
            endedAt = OptionalLong.of(now);
        }
        return now - endedAt.getAsLong() > LINGER_NANOS;
    }

    /** Whether it is revoked soon. */
    boolean isEnding() {
        return endedAt.isPresent();
    }

    /** Takes the regions of ranges that no longer belong to the space. If it throws, the range stays. */
    @FunctionalInterface
    interface Leaving {
        /** Takes those of one range, by device. */
        void left(PoolRange range, Map<OpenDevice, MemoryRegion> regions);
    }

    /** Whether it was published since it changed last. */
    boolean isPublished() {
        return published;
    }

    boolean isEmpty() {
        return ranges.isEmpty();
    }

    boolean overlaps(long offset, long length) {
        return ranges.keySet().stream().anyMatch(range -> range.overlaps(offset, length));
    }

    /**
     * Adds the extents that are not granted, and revokes the ranges that no longer belong to the space. A range that a
     * home was dropped from stays: WRITEs to it may be under way until it is released. Extents of a large space that
     * are added together are joined, but not with those that are granted: a range that is registered anew refuses the
     * transfers that are under way. Only if there are {@link #MAX_RANGES} are all joined.
     *
     * @param extents what the pool has of each extent, sorted
     * @param places all that the space has in the pool, dropped homes included
     * @param leaving gets what does not belong to the space now
     */
    void follow(List<PoolRange> extents, List<PoolRange> places, Leaving leaving) {
        leave(known -> places.stream().noneMatch(place -> known.overlaps(place.offset(), place.length())), leaving);
        List<PoolRange> added = missing(extents);
        if (extents.size() > PoolRanges.MAX_APART) {
            added = PoolRanges.join(added);
        }
        if (ranges.size() + added.size() > MAX_RANGES) {
            added = missing(PoolRanges.join(extents));
        }
        for (PoolRange range : added) {
            ranges.put(range, new LinkedHashMap<>());
            published = false;
        }
    }

    /** Hands the regions of some ranges on: nothing of them is granted by this any longer. */
    void leave(Predicate<PoolRange> which, Leaving leaving) {
        for (PoolRange known : List.copyOf(ranges.keySet())) {
            if (which.test(known)) {
                leaving.left(known, ranges.getOrDefault(known, Map.of()));
                ranges.remove(known);
                published = false;
            }
        }
    }

    /** Those of some ranges that are not granted. What is granted of a part of one is revoked. */
    private List<PoolRange> missing(List<PoolRange> wanted) {
        for (PoolRange range : wanted) {
            if (!isGranted(range)) {
                revoke(range.offset(), range.length());
            }
        }
        return wanted.stream().filter(range -> !isGranted(range)).toList();
    }

    private boolean isGranted(PoolRange range) {
        return ranges.keySet().stream().anyMatch(known -> known.contains(range));
    }

    /** Regions of a device that was closed are gone with it. */
    void retainAll(List<OpenDevice> devices) {
        for (Map<OpenDevice, MemoryRegion> each : ranges.values()) {
            if (each.keySet().retainAll(devices)) {
                published = false;
            }
        }
    }

    /** The ranges that are not registered with a device. */
    List<PoolRange> missing(OpenDevice device) {
        return ranges.entrySet().stream()
                .filter(each -> !each.getValue().containsKey(device))
                .map(Map.Entry::getKey)
                .toList();
    }

    /** Registers a range, without adding the region. Needs no lock. */
    MemoryRegion export(OpenDevice device, PoolRange range) {
        return isForReads
                ? device.exportForReads(range.offset(), range.length())
                : device.export(range.offset(), range.length());
    }

    /** Adds a region. False if its range was revoked meanwhile, or has a region of the device. */
    boolean add(OpenDevice device, PoolRange range, MemoryRegion region) {
        Map<OpenDevice, MemoryRegion> regions = ranges.get(range);
        if (regions == null || regions.putIfAbsent(device, region) != null) {
            return false;
        }
        published = false;
        return true;
    }

    /** All ranges are registered with a device. */
    void registered(OpenDevice device) {
        failed.remove(device);
    }

    /** A range could not be registered with a device. */
    void failed(OpenDevice device, VerbsException why) {
        if (failed.add(device)) {
            log.error("{} is not given over {}: {}", parties, device, why.getMessage());
        }
    }

    /** What the other node has to know. */
    GrantContent content() {
        List<GrantContent.Range> all = new ArrayList<>();
        ranges.forEach((range, regions) -> {
            List<RegionKey> keys = new ArrayList<>();
            long address = 0;
            for (Map.Entry<OpenDevice, MemoryRegion> each : regions.entrySet()) {
                MemoryRegion region = each.getValue();
                address = region.address();
                keys.add(new RegionKey(each.getKey().device().name(), Integer.toUnsignedLong(region.rkey())));
            }
            all.add(new GrantContent.Range(range.offset(), range.length(), new RemoteAddress(address), keys));
        });
        return new GrantContent(all);
    }

    /** Whether the other node can know all of this, if the coordinator has what was published as a version. */
    boolean isPublishedAs(long known) {
        return published && known == version;
    }

    /** The other node knows {@code content}, which is published again if it has changed since. */
    void published(GrantContent content, long as) {
        version = as;
        published = content.equals(content());
    }

    /**
     * Deregisters all regions.
     *
     * @throws VerbsException if a device refuses: to be repeated
     */
    void revoke() {
        revoke(0, Long.MAX_VALUE);
    }

    /**
     * Deregisters the regions of ranges that overlap one. The others stay, with their keys.
     *
     * @throws VerbsException if a device refuses: to be repeated
     */
    void revoke(long offset, long length) {
        for (Iterator<Map.Entry<PoolRange, Map<OpenDevice, MemoryRegion>>> all =
                        ranges.entrySet().iterator();
                all.hasNext(); ) {
            Map.Entry<PoolRange, Map<OpenDevice, MemoryRegion>> each = all.next();
            if (each.getKey().overlaps(offset, length)) {
                published = false;
                each.getValue().values().forEach(MemoryRegion::close);
                all.remove();
            }
        }
    }
}
