package io.farpage.agent.control.grant;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.control.device.OpenDevice;
import io.farpage.agent.control.grant.PoolRanges.PoolRange;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.verbs.MemoryRegion;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** When a grant has to be published again, and when it has to be revoked. */
final class GivenGrantTest {
    private static final Incarnation INCARNATION = new Incarnation(1);
    private static final List<PoolRange> RANGES = List.of(new PoolRange(0, 4096), new PoolRange(8192, 4096));

    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

    private final GivenGrant grant =
            new GivenGrant(new GrantParties(1, "home", INCARNATION, "guest", INCARNATION, 1, Optional.empty()), false);

    private static void close(PoolRange range, Map<OpenDevice, MemoryRegion> regions) {
        regions.values().forEach(MemoryRegion::close);
    }

    @Test
    void shouldBePublishedWhenTheNodeKnowsItsContent() {
        grant.follow(RANGES, RANGES, GivenGrantTest::close);
        assertFalse(grant.isPublishedAs(0));
        grant.published(grant.content(), 7);
        assertTrue(grant.isPublishedAs(7));
        assertFalse(grant.isPublishedAs(6), "the coordinator has an earlier one");
    }

    @Test
    void shouldNotBePublishedWhenARangeWasRevokedMeanwhile() {
        grant.follow(RANGES, RANGES, GivenGrantTest::close);
        GrantContent sent = grant.content();
        grant.revoke(0, 4096);
        grant.published(sent, 1);
        assertFalse(grant.isPublishedAs(1), "the node knows a key that is gone");
    }

    /** Extents of a page, one behind the other in the pool. */
    private List<PoolRange> follow(int extents) {
        List<PoolRange> all = IntStream.range(0, extents)
                .mapToObj(i -> new PoolRange(i * 4096L, 4096))
                .toList();
        grant.follow(all, all, GivenGrantTest::close);
        return granted();
    }

    private List<PoolRange> granted() {
        return grant.content().ranges().stream()
                .map(range -> new PoolRange(range.offset(), range.length()))
                .toList();
    }

    @Test
    void shouldKeepExtentsApartSoThatEachIsRevokedAlone() {
        assertEquals(128, follow(128).size());
    }

    @Test
    void shouldJoinExtentsOfLargeSpaceThatAreAddedTogether() {
        assertEquals(List.of(new PoolRange(0, 130 * 4096)), follow(130));
    }

    @Test
    void shouldKeepRangesOfLargeSpaceWhenAnExtentJoins() {
        follow(130);
        assertEquals(List.of(new PoolRange(0, 130 * 4096), new PoolRange(130 * 4096, 4096)), follow(131));
    }

    @Test
    void shouldJoinAllRangesWhenAGrantHasNoRoomForMore() {
        List<PoolRange> apart = IntStream.range(0, GivenGrant.MAX_RANGES)
                .mapToObj(i -> new PoolRange(i * 8192L, 4096))
                .toList();
        grant.follow(apart, apart, GivenGrantTest::close);
        assertEquals(apart, granted());
        List<PoolRange> more = new ArrayList<>(apart);
        more.add(1, new PoolRange(4096, 4096));
        grant.follow(more, more, GivenGrantTest::close);
        assertEquals(PoolRanges.join(more).size(), granted().size());
        assertTrue(granted().contains(new PoolRange(0, 3 * 4096)));
    }

    @Test
    void shouldGrantExtentByOneRangeWhenAPartOfItWasGranted() {
        follow(1);
        List<PoolRange> extent = List.of(new PoolRange(0, 8192));
        grant.follow(extent, extent, GivenGrantTest::close);
        assertEquals(extent, granted());
    }

    @Test
    void shouldLingerWhenItIsOfAPullThatHasEnded() {
        GivenGrant ofPull = new GivenGrant(
                new GrantParties(1, "home", INCARNATION, "guest", INCARNATION, 0, Optional.of(new ExtentEpoch(0, 1))),
                true);
        assertFalse(ofPull.end(5));
        assertTrue(ofPull.end(6 + SECOND));
    }
}
