package io.farpage.agent.control.grant;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.shard.GrantedRanges;
import io.farpage.agent.data.shard.PeerGrants;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.RegionKey;
import io.farpage.coordinator.model.RemoteAddress;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/**
 * Which bytes a grant covers with which key. A home's refusal is counted against the grant whose key it refused, and
 * against no other.
 */
final class ReceivedGrantTest {
    private static final int HIGH_KEY = 0xdead_beef;

    private final ReceivedGrant grant = new ReceivedGrant(
            new GrantParties(7, "home", new Incarnation(1), "guest", new Incarnation(2), 5, Optional.empty()),
            "sealed",
            new GrantContent(List.of(
                    range(4096, 8192, new RegionKey("soft0", 11), new RegionKey("mlx5_0", 0xdead_beefL)),
                    range(1 << 20, 4096, new RegionKey("soft0", 12)))),
            false);

    private static GrantContent.Range range(long offset, long length, RegionKey... keys) {
        return new GrantContent.Range(offset, length, new RemoteAddress(0x7f00_0000_0000L + offset), List.of(keys));
    }

    @Test
    void shouldGrantTheBytesOfARangeWithEachOfItsKeys() {
        for (long offset : new long[] {4096, 8000, 4096 + 8192 - 1}) {
            assertTrue(grant.grants(offset, 11), "with the key of soft0 at " + offset);
            assertTrue(grant.grants(offset, HIGH_KEY), "with the key of mlx5_0 at " + offset);
        }
        assertTrue(grant.grants(1 << 20, 12));
    }

    @Test
    void shouldNotGrantTheBytesBesideARange() {
        for (long offset : new long[] {0, 4095, 4096 + 8192, (1 << 20) - 1, (1 << 20) + 4096, -1, Long.MAX_VALUE}) {
            for (int key : new int[] {11, HIGH_KEY, 12}) {
                assertFalse(grant.grants(offset, key), "with key %d at %d".formatted(key, offset));
            }
        }
    }

    @Test
    void shouldNotGrantTheBytesOfOneRangeWithTheKeyOfAnother() {
        assertFalse(grant.grants(4096, 12));
        assertFalse(grant.grants(1 << 20, 11));
        assertFalse(grant.grants(1 << 20, HIGH_KEY));
        for (int key : new int[] {0, 10, 13, -1, HIGH_KEY + 1}) {
            assertFalse(grant.grants(4096, key), "with key " + key);
        }
    }

    @Test
    void shouldKeepWhatALargerOlderRangeHasBesideANewerOne() {
        ReceivedGrant newer = new ReceivedGrant(
                new GrantParties(8, "home", new Incarnation(1), "guest", new Incarnation(2), 5, Optional.empty()),
                "sealed too",
                new GrantContent(List.of(range(8192, 1024, new RegionKey("soft0", 21)))),
                false);
        PeerGrants joined = ReceivedGrant.join(List.of(grant, newer));
        GrantedRanges expected = GrantedRanges.of(List.of(
                new GrantedRanges.Range(4096, 4096, 0x7f00_0000_1000L, 11),
                new GrantedRanges.Range(8192, 1024, 0x7f00_0000_2000L, 21),
                new GrantedRanges.Range(9216, 3072, 0x7f00_0000_2400L, 11),
                new GrantedRanges.Range(1 << 20, 4096, 0x7f00_0010_0000L, 12)));
        assertEquals(expected.ranges(), joined.on(1, "soft0").attachments().ranges());
        assertEquals(4, joined.ranges());
    }

    /** A home revokes the keys of an attachment before those of a pull, and only the former permit WRITEs. */
    @Test
    void shouldKeepTheKeysOfAPullApartFromThoseOfAnAttachment() {
        ReceivedGrant pull = new ReceivedGrant(
                new GrantParties(
                        7,
                        "home",
                        new Incarnation(1),
                        "guest",
                        new Incarnation(2),
                        0,
                        Optional.of(new ExtentEpoch(0, 3))),
                "sealed for reads",
                new GrantContent(List.of(range(4096, 16384, new RegionKey("soft0", 31)))),
                false);

        for (List<ReceivedGrant> order : List.of(List.of(grant, pull), List.of(pull, grant))) {
            PeerGrants joined = ReceivedGrant.join(order);
            assertEquals(
                    List.of(
                            new GrantedRanges.Range(4096, 8192, 0x7f00_0000_1000L, 11),
                            new GrantedRanges.Range(1 << 20, 4096, 0x7f00_0010_0000L, 12)),
                    joined.on(1, "soft0").attachments().ranges());
            assertEquals(
                    List.of(new GrantedRanges.Range(4096, 16384, 0x7f00_0000_1000L, 31)),
                    joined.on(1, "soft0").pulls().ranges());
            assertEquals(3, joined.ranges());
        }
    }
}
