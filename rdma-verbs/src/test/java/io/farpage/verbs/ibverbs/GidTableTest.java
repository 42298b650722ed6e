package io.farpage.verbs.ibverbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.verbs.Gid;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

final class GidTableTest {
    private static final String LINK_LOCAL = "fe80::1";

    @Test
    void shouldPreferRoceV2OverIpv4() {
        List<GidTable.Entry> table = List.of(
                entry(1, 0, GidTable.TYPE_ROCE_V1, LINK_LOCAL),
                entry(1, 1, GidTable.TYPE_ROCE_V2, LINK_LOCAL),
                entry(1, 2, GidTable.TYPE_ROCE_V1, "::ffff:10.0.0.1"),
                entry(1, 4, GidTable.TYPE_ROCE_V2, "2001:db8::1"),
                entry(1, 5, GidTable.TYPE_ROCE_V2, "::ffff:10.0.0.2"),
                entry(1, 6, GidTable.TYPE_ROCE_V2, "::ffff:10.0.0.1"));

        assertEquals(Optional.of(table.get(4)), GidTable.best(table, 1));
    }

    @Test
    void shouldPreferAnAddressThatRoutesToALinkLocalOne() {
        List<GidTable.Entry> table = List.of(
                entry(1, 0, GidTable.TYPE_ROCE_V2, LINK_LOCAL), entry(1, 3, GidTable.TYPE_ROCE_V2, "2001:db8::1"));

        assertEquals(Optional.of(table.get(1)), GidTable.best(table, 1));
    }

    @Test
    void shouldPreferTheFirstGidOfAnInfinibandPort() {
        List<GidTable.Entry> table =
                List.of(entry(1, 1, GidTable.TYPE_IB, "2001:db8::1"), entry(1, 0, GidTable.TYPE_IB, LINK_LOCAL));

        assertEquals(Optional.of(table.get(1)), GidTable.best(table, 1));
    }

    @Test
    void shouldIgnoreOtherPortsAndEmptyEntries() {
        List<GidTable.Entry> table =
                List.of(entry(1, 0, GidTable.TYPE_ROCE_V2, "::"), entry(2, 0, GidTable.TYPE_ROCE_V2, "2001:db8::1"));

        assertEquals(Optional.empty(), GidTable.best(table, 1));
        assertEquals(Optional.of(table.get(1)), GidTable.best(table, 2));
    }

    @Test
    void shouldFindTheSameGidAtAnotherIndex() {
        List<GidTable.Entry> before = List.of(
                entry(1, 0, GidTable.TYPE_ROCE_V1, "::ffff:10.0.0.1"),
                entry(1, 1, GidTable.TYPE_ROCE_V2, "::ffff:10.0.0.1"),
                entry(1, 3, GidTable.TYPE_ROCE_V2, "::ffff:10.0.0.2"));
        List<GidTable.Entry> after = List.of(
                entry(1, 1, GidTable.TYPE_ROCE_V2, LINK_LOCAL),
                entry(2, 2, GidTable.TYPE_ROCE_V2, "::ffff:10.0.0.1"),
                entry(1, 3, GidTable.TYPE_ROCE_V2, "::ffff:10.0.0.2"),
                entry(1, 4, GidTable.TYPE_ROCE_V1, "::ffff:10.0.0.1"),
                entry(1, 5, GidTable.TYPE_ROCE_V2, "::ffff:10.0.0.1"));
        AtomicReference<List<GidTable.Entry>> table = new AtomicReference<>(before);
        SourceGid gid = SourceGid.chosen(before.get(1), table::get);
        assertEquals(before.get(1), gid.read());
        table.set(after);
        assertEquals(after.get(4), gid.read());
    }

    @Test
    void shouldUseTheBestGidOrNoneWhileTheChosenOneIsGone() {
        GidTable.Entry chosen = entry(1, 1, GidTable.TYPE_ROCE_V2, "::ffff:10.0.0.1");
        List<GidTable.Entry> others = List.of(
                entry(1, 0, GidTable.TYPE_ROCE_V2, LINK_LOCAL), entry(1, 2, GidTable.TYPE_ROCE_V2, "2001:db8::1"));
        AtomicReference<List<GidTable.Entry>> table = new AtomicReference<>(others);
        SourceGid gid = SourceGid.chosen(chosen, table::get);
        assertEquals(others.get(1), gid.read());
        table.set(List.of());
        assertTrue(gid.read().gid().isZero());
        table.set(List.of(others.getFirst(), chosen));
        assertEquals(chosen, gid.read(), "it is back");
    }

    @Test
    void shouldStayAtAConfiguredIndex() {
        AtomicReference<Gid> at = new AtomicReference<>(Gid.parse(LINK_LOCAL));
        SourceGid gid = SourceGid.configured(1, 3, at::get);
        assertEquals(3, gid.read().index());
        at.set(Gid.ZERO);
        assertEquals(3, gid.read().index());
        assertTrue(gid.read().gid().isZero());
    }

    private static GidTable.Entry entry(int port, int index, int type, String gid) {
        return new GidTable.Entry(port, index, type, Gid.parse(gid));
    }
}
