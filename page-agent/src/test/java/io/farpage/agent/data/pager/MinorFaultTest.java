package io.farpage.agent.data.pager;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.shard.Fetcher;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.Shard;
import io.farpage.linux.Errno;
import io.farpage.linux.uffd.PageFaults;
import io.farpage.pool.HugepagePolicy;
import io.farpage.pool.PagePool;
import io.farpage.pool.PoolConfig;
import io.farpage.pool.hugepages.HugepageSize;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Proxy;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A page that is in the page cache already, by way of another mapping, while it is being fetched from its home. */
class MinorFaultTest {
    private static final long BASE = 0x7f00_0000_0000L;
    private static final int BYTES = 4096;
    private static final int PAGES = 8;
    private static final int PAGE = 5;
    private static final int SLOT = 0;

    private final PageTable table = new PageTable(PAGES, true);
    private long continueAnswer = BYTES;

    @SuppressWarnings("NullAway.Init") // before each test
    private PagePool pool;

    @SuppressWarnings("NullAway.Init")
    private Transfers transfers;

    @SuppressWarnings("NullAway.Init")
    private FaultHandler faults;

    @BeforeEach
    @SuppressWarnings("NullAway") // what a minor fault of such a page has nothing to do with is left out
    void begin() throws Exception {
        pool = PagePool.open(
                PoolConfig.of("a", 1, 16 * BYTES, 16 * BYTES).withHugepages(HugepagePolicy.OFF, HugepageSize.TWO_MIB));
        Fetcher fetcher = new Shard(List.of(), MemorySegment.NULL, () -> 1, () -> {}).newFetcher(2, 1);
        SpaceMap map = new SpaceMap("test", 1, PAGES, BYTES, List.of(new SpaceMap.Extent(0, PAGES, "b", 7, 0, false)));
        Homes homes = new Homes("a", 1, () -> map, PeerLink::new, fetcher, () -> 1);
        transfers = new Transfers(fetcher, homes, pool, BYTES);
        GuestLayout layout = new GuestLayout(List.of(new GuestRegion(BASE, PAGES * BYTES, 0)), BYTES);
        PageFaults kernel = (PageFaults) Proxy.newProxyInstance(
                PageFaults.class.getClassLoader(),
                new Class<?>[] {PageFaults.class},
                (proxy, method, arguments) -> switch (method.getName()) {
                    case "continueAt" -> continueAnswer;
                    case "wake" -> 0;
                    default -> throw new UnsupportedOperationException(method.getName());
                });
        Installer installer = new Installer(kernel, layout, table, "test", true, true, () -> 1);
        faults = new FaultHandler(
                table,
                layout,
                homes,
                transfers,
                installer,
                null,
                new PagerCounters(),
                null,
                1,
                home -> 1,
                fd -> {},
                () -> 1);
        for (int page = PAGE; page < PAGE + 2; page++) {
            table.setState(page, PageTable.FETCHING);
        }
        transfers.begin(SLOT, PAGE, 2, transfers.allocate(2), false, false, 0);
    }

    @AfterEach
    void end() {
        pool.close();
    }

    @Test
    void shouldDropWhatIsBeingFetchedOfAPageThatWasMappedMeanwhile() {
        faults.minor(PAGE, 0);

        assertEquals(PageTable.DIRTY, table.state(PAGE));
        assertTrue(transfers.isRemoved(SLOT, 0), "the older bytes from the home would replace what the guest stores");
        assertFalse(transfers.isRemoved(SLOT, 1));
    }

    @Test
    void shouldGoOnFetchingAPageThatCouldNotBeMappedYet() {
        continueAnswer = -Errno.EAGAIN;
        faults.minor(PAGE, 0);

        assertEquals(PageTable.FETCHING, table.state(PAGE));
        assertFalse(transfers.isRemoved(SLOT, 0));
        assertEquals(0, faults.queue().size(), "its arrival answers the fault");
    }
}
