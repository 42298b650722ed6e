package io.farpage.agent.data.pager;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.shard.Fetcher;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.Shard;
import io.farpage.pool.HugepagePolicy;
import io.farpage.pool.PagePool;
import io.farpage.pool.PoolConfig;
import io.farpage.pool.hugepages.HugepageSize;
import java.lang.foreign.Arena;
import java.util.List;
import org.junit.jupiter.api.Test;

class TransfersTest {
    private static final int PAGE = 4096;

    /** A run of which a part waits to be installed keeps its slot, while pages of the other part may be evicted and fetched anew. */
    @Test
    void shouldNoteARemovalWithTheFetchThatIsUnderWay() throws Exception {
        Shard shard = new Shard(List.of(), Arena.ofAuto().allocate(PAGE), System::nanoTime, () -> {});
        try (PagePool pool = PagePool.open(
                PoolConfig.of("a", 1, PAGE, 4 * PAGE).withHugepages(HugepagePolicy.OFF, HugepageSize.TWO_MIB))) {
            Fetcher fetcher = shard.newFetcher(2, 1);
            Transfers transfers = new Transfers(fetcher, homes(fetcher), pool, PAGE);
            transfers.begin(0, 5, 2, 0, false, false, 0);
            transfers.complete(0, 1);
            transfers.begin(1, 5, 1, 2, false, false, 0);
            transfers.remove(5);
            assertTrue(transfers.isRemoved(1, 0));
            assertFalse(transfers.isRemoved(0, 0));
            transfers.remove(6);
            assertTrue(transfers.isRemoved(0, 1));
        }
    }

    private static Homes homes(Fetcher fetcher) {
        SpaceMap map = new SpaceMap("space", 1, 8, PAGE, List.of(new SpaceMap.Extent(0, 8, "a", 1, 0, false)));
        return new Homes("a", 1, () -> map, PeerLink::new, fetcher, System::nanoTime);
    }
}
