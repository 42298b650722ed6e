package io.farpage.agent.data.pager.home;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.pager.PagerParts;
import io.farpage.agent.data.shard.Fetcher;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.Shard;
import io.farpage.agent.data.shard.SilenceClock;
import java.lang.foreign.Arena;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/**
 * How homes share the slots, when a map names other homes than the one before. The links are down, so that each home
 * has its share at most.
 */
final class RemoteHomesTest {
    private static final int PAGE = 4096;
    private static final int SLOTS = 8;

    @AutoClose
    private final PagerParts parts = new PagerParts(() -> 1);

    private final Fetcher fetcher =
            new Shard(List.of(), Arena.ofAuto().allocate(PAGE), () -> 1, () -> {}).newFetcher(SLOTS, 1);
    private final Map<String, PeerLink> links = new HashMap<>();
    private SpaceMap map = PagerParts.map(8, PAGE, "b", "c", "d", "e");
    private final Homes homes = new Homes(
            new PagerBacking("a", 1, () -> map, this::link, fetcher, parts.pool()), () -> 1, new SilenceClock(() -> 1));

    private PeerLink link(String node) {
        return links.computeIfAbsent(node, PeerLink::new);
    }

    private Home home(int page) {
        return homes.remote(homes.extent(page));
    }

    @Test
    void shouldDivideSlotsAmongHomesThatTheMapNames() {
        homes.remotes().begin(home(0), 1, false);
        assertFalse(homes.remotes().mayTransfer(home(0)), "a quarter of one half of the slots");
        map = PagerParts.map(8, PAGE, "b", "c");
        homes.refresh();
        assertTrue(homes.remotes().mayTransfer(home(0)), "a half of one half of the slots");
        homes.remotes().begin(home(0), 1, false);
        assertFalse(homes.remotes().mayTransfer(home(0)));
    }

    @Test
    void shouldGiveAllSlotsToOnlyHomeThatTheMapNames() {
        Home only = home(0);
        map = PagerParts.map(8, PAGE, "b");
        homes.refresh();
        for (int slot = 0; slot < SLOTS; slot++) {
            assertTrue(homes.remotes().mayTransfer(only));
            homes.remotes().begin(only, 1, false);
        }
        assertFalse(homes.remotes().areSeveral());
    }

    private static SpaceMap onPool(long pool) {
        return new SpaceMap(
                "s",
                1,
                8,
                PAGE,
                List.of(new SpaceMap.Extent(
                        0, 8, "b", pool, 0, false, List.of(), 0, Optional.empty(), SpaceMap.Pull.NONE)),
                0);
    }

    /** A node that is started again and again is another home each time. */
    @Test
    void shouldGiveTheNumberOfAForgottenHomeToAnotherPool() {
        map = onPool(1);
        homes.refresh();
        Home first = home(0);
        homes.remotes().begin(first, 1, true);
        for (int pool = 2; pool < 100; pool++) {
            map = onPool(pool);
            homes.refresh();
            assertNotEquals(first.number(), home(0).number(), "a transfer with it is under way");
        }
        assertTrue(homes.remotes().count() <= 6, homes.remotes().count() + " homes");
        homes.remotes().end(first, 1, true);
        map = onPool(100);
        homes.refresh();
        assertEquals(first.number(), home(0).number());
    }

    /** An earlier map may name the pool that this node had before. The pool that it has now holds other pages. */
    @Test
    void shouldReadFromTheOtherHomeWhenThisNodeHasAnotherPoolByNow() {
        SpaceMap.Copy other = new SpaceMap.Copy("b", 1, 0);
        map = new SpaceMap(
                "s",
                1,
                8,
                PAGE,
                List.of(new SpaceMap.Extent(
                        0, 8, "a", 7, 0, false, List.of(other), 0, Optional.empty(), SpaceMap.Pull.NONE)),
                0);
        homes.refresh();
        assertEquals("b", home(0).link().peer());
        assertFalse(homes.isLost(0), "the other home has the pages");
    }

    /** A home that left the map has transfers under way, and comes back. */
    @Test
    void shouldCountTransfersOfHomeThatLeftTheMapWhenItComesBack() {
        Home back = home(2);
        homes.remotes().begin(back, 1, false);
        SpaceMap all = map;
        map = PagerParts.map(8, PAGE, "b", "d");
        homes.refresh();
        map = all;
        homes.refresh();
        assertFalse(homes.remotes().mayTransfer(back));
        homes.remotes().end(back, 1, false);
        assertTrue(homes.remotes().mayTransfer(back));
    }
}
