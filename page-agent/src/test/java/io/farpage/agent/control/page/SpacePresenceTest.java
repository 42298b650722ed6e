package io.farpage.agent.control.page;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.control.LinkKeys;
import io.farpage.agent.control.LocalNode;
import io.farpage.agent.control.TestCoordinator;
import io.farpage.agent.control.space.Claim;
import io.farpage.agent.control.space.SpaceUse;
import io.farpage.agent.control.space.Spaces;
import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.pager.page.PresenceMap;
import io.farpage.agent.data.shard.IdleStrategy;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.Shard;
import io.farpage.agent.data.shard.ShardLoop;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.CloneRequest;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.HostedAck;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Presence;
import io.farpage.coordinator.model.PullReport;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.coordinator.model.WriterRequest;
import io.farpage.linux.ThreadScheduling;
import io.farpage.pool.HugepagePolicy;
import io.farpage.pool.PagePool;
import io.farpage.pool.PoolConfig;
import io.farpage.pool.header.PoolHeader;
import io.farpage.pool.hugepages.HugepageSize;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Presence maps and images of spaces whose home is the node itself, with a real coordinator. */
class SpacePresenceTest {
    private static final Incarnation INCARNATION = new Incarnation(7);
    private static final int PAGE = 4096;
    private static final int POOL_BYTES = 96 << 20;
    /** More than one page of the map describes. */
    private static final int PAGES = (int) Presence.entriesOfPage(PAGE) + 5;

    @TempDir
    private Path store = Path.of("");

    private final ShardLoop loop = new ShardLoop(
            new Shard(List.of(), Arena.ofAuto().allocate(PoolHeader.BYTES), System::nanoTime, () -> {}),
            new ShardLoop.Options(
                    "shard", IdleStrategy.BLOCK, Duration.ZERO, OptionalInt.empty(), ThreadScheduling.ordinary()));
    private TestCoordinator coordinator;
    private PagePool pool;
    private Spaces spaces;
    private PageTool pages;
    private SpacePresence presence;
    private SpaceImage image;
    private long space;

    @BeforeEach
    void makeSpace() throws Exception {
        coordinator = new TestCoordinator(store);
        coordinator.register("a", INCARNATION, POOL_BYTES);
        space = coordinator
                .client()
                .createSpace(
                        new SpaceRequest("vm", (long) PAGES * PAGE, OptionalInt.of(PAGE), Optional.of(List.of("a"))))
                .id();
        coordinator
                .client()
                .acknowledgeHosted(
                        "a",
                        new HostedAck(
                                INCARNATION, coordinator.client().hosted("a").revision(), List.of(), List.of()));
        pool = PagePool.open(PoolConfig.of("a", INCARNATION.value(), POOL_BYTES, 2 << 20)
                .withHugepages(HugepagePolicy.OFF, HugepageSize.TWO_MIB));
        spaces = new Spaces(coordinator.client(), "a", INCARNATION);
        LocalNode self = new LocalNode(
                "a", INCARNATION, pool, coordinator.client(), LinkKeys.generate("a", INCARNATION, Optional.empty()));
        pages = new PageTool(self, loop, PeerLink::new, 1, Duration.ofSeconds(1));
        presence = new SpacePresence(pages);
        image = new SpaceImage(pages, presence);
    }

    @AfterEach
    void close() {
        spaces.close();
        loop.close();
        pool.close();
        coordinator.close();
    }

    private SpaceUse exclusively() throws CoordinatorException {
        return spaces.useExclusively(space, Claim.PLAIN).orElseThrow();
    }

    /** The mark that the coordinator has. */
    private Optional<String> mark() throws CoordinatorException {
        return coordinator
                .client()
                .space("vm")
                .flatMap(Space::presence)
                .orElseThrow()
                .mark();
    }

    /** An exclusive use that leaves a map. */
    private void leave(PresenceMap map) throws CoordinatorException {
        try (SpaceUse use = exclusively()) {
            use.presence(presence.write(use, map));
        }
        spaces.detachAll();
    }

    private SpaceUse use(String name) throws CoordinatorException {
        return spaces.useExclusively(spaces.resolve(name).orElseThrow(), Claim.PLAIN)
                .orElseThrow();
    }

    /** As the home of the node itself fills an extent. */
    private void fill(SpaceUse clone, int extent) throws CoordinatorException {
        ExtentEpoch empty =
                new ExtentEpoch(clone.map().firstPage(extent), clone.map().epoch(extent));
        coordinator.client().allocate("c", "a", new WriterRequest(INCARNATION, List.of(empty)));
        Extent filled =
                coordinator.client().extents("c").orElseThrow().extents().get(extent);
        coordinator
                .client()
                .pulled("a", new PullReport(INCARNATION, clone.map().id(), ExtentEpoch.of(filled), Optional.empty()));
    }

    @Test
    void shouldReadTheMapOfTheSnapshotUntilACloneHasOne() throws Exception {
        PresenceMap map = someMap();
        leave(map);
        coordinator.client().makeSnapshot("vm");
        coordinator.client().makeClone("vm", new CloneRequest("c"));
        SpaceUse before = use("c");
        PresenceMap ofSnapshot = presence.read(before).orElseThrow();
        for (int page = 0; page < PAGES; page++) {
            assertEquals(map.get(page), ofSnapshot.get(page));
        }
        fill(before, 1);
        before.close();
        spaces.detachAll();
        SpaceUse clone = use("c");
        PresenceMap both = presence.read(clone).orElseThrow();
        int first = (int) clone.map().firstPage(1);
        for (int page = 0; page < PAGES; page++) {
            boolean isOwn = page >= first && page < clone.map().endPage(1);
            int expected = isOwn && map.get(page) == PresenceMap.ZERO ? PresenceMap.PRESENT : map.get(page);
            assertEquals(expected, both.get(page), "page " + page);
        }
        PresenceMap own = PresenceMap.zeros(PAGES);
        own.set(first, PresenceMap.WANTED);
        clone.presence(presence.write(clone, own));
        PresenceMap left = presence.read(clone).orElseThrow();
        assertEquals(PresenceMap.WANTED, left.get(first));
        assertEquals(first, left.endOfRun(0), "its own map alone counts");
        clone.close();
    }

    /** Each of a hundred clones of a large snapshot would read it again before its first page. */
    @Test
    void shouldReadTheMapOfASnapshotOnceForAllItsClones() throws Exception {
        PresenceMap map = someMap();
        leave(map);
        coordinator.client().makeSnapshot("vm");
        coordinator.client().makeClone("vm", new CloneRequest("c"));
        coordinator.client().makeClone("vm", new CloneRequest("d"));
        try (SpaceUse first = use("c");
                SpaceUse second = use("d")) {
            PresenceMap read = presence.read(first).orElseThrow();
            assertSame(map, read);
            read.set(3, PresenceMap.WANTED);
            pool.exported().asSlice(at(PAGES), PAGE).fill((byte) 0);
            assertSame(map, presence.read(second).orElseThrow());
        }
    }

    private static PresenceMap someMap() {
        PresenceMap map = PresenceMap.zeros(PAGES);
        SplittableRandom random = new SplittableRandom(4);
        for (int i = 0; i < 500; i++) {
            map.set(random.nextInt(PAGES), random.nextBoolean() ? PresenceMap.PRESENT : PresenceMap.WANTED);
        }
        map.set(PAGES - 1, PresenceMap.WANTED);
        return map;
    }

    private static void assertSame(PresenceMap expected, PresenceMap found) {
        assertEquals(expected.pages(), found.pages());
        for (int page = 0; page < expected.pages(); page++) {
            assertEquals(expected.get(page), found.get(page), "page " + page);
        }
    }

    @Test
    void shouldReadTheMapThatTheLastUseHasLeft() throws Exception {
        PresenceMap left = someMap();
        leave(left);
        assertTrue(mark().isPresent());
        try (SpaceUse next = exclusively()) {
            assertSame(left, presence.read(next).orElseThrow());
            assertEquals(Optional.empty(), mark(), "the next use may write");
        }
    }

    @Test
    void shouldKnowThatAllIsZerosInASpaceThatNoNodeHasWrittenTo() throws Exception {
        try (SpaceUse first = exclusively()) {
            assertSame(PresenceMap.zeros(PAGES), presence.read(first).orElseThrow());
        }
        spaces.detachAll();
        assertEquals(Optional.of(Presence.ZEROS), mark(), "it has said so, and has written nothing");
    }

    @Test
    void shouldHaveNoMapAfterAUseThatLeftNone() throws Exception {
        leave(someMap());
        try (SpaceUse next = exclusively()) {
            next.presence(Optional.empty());
        }
        spaces.detachAll();
        try (SpaceUse after = exclusively()) {
            assertEquals(Optional.empty(), presence.read(after));
        }
    }

    /** Bytes of the map at the home, from its second page on, that are damaged. */
    @ParameterizedTest
    @ValueSource(ints = {0, 16, 20, 24, 32, PAGE - 1})
    void shouldHaveNoMapWhenAPageOfItIsDamaged(int damaged) throws Exception {
        leave(someMap());
        long at = at(PAGES + 1) + damaged;
        MemorySegment exported = pool.exported();
        exported.set(ValueLayout.JAVA_BYTE, at, (byte) (exported.get(ValueLayout.JAVA_BYTE, at) + 1));
        try (SpaceUse next = exclusively()) {
            assertEquals(Optional.empty(), presence.read(next));
        }
    }

    /** A home that joined while the map was written may have a part of an older one. */
    @Test
    void shouldHaveNoMapWhenItsPagesAreOfTwoMaps() throws Exception {
        leave(someMap());
        byte[] older = page(PAGES);
        leave(someMap());
        assertNotEquals(0, Arrays.compare(older, page(PAGES)), "each has a mark of its own");
        MemorySegment.copy(older, 0, pool.exported(), ValueLayout.JAVA_BYTE, at(PAGES), PAGE);
        try (SpaceUse next = exclusively()) {
            assertEquals(Optional.empty(), presence.read(next));
        }
    }

    /** Where a page is in the pool. */
    private long at(int page) throws CoordinatorException {
        try (SpaceUse use = spaces.use(space).orElseThrow()) {
            SpaceMap map = use.map();
            return map.offset(map.extent(page), page);
        }
    }

    private byte[] page(int page) throws CoordinatorException {
        return pool.exported().asSlice(at(page), PAGE).toArray(ValueLayout.JAVA_BYTE);
    }

    private void load(byte[] memory) throws Exception {
        image.load(exclusively(), new ByteArrayInputStream(memory), OptionalLong.empty());
        spaces.detachAll();
    }

    private byte[] save() throws Exception {
        ByteArrayOutputStream saved = new ByteArrayOutputStream();
        image.save(spaces.use(space).orElseThrow(), saved);
        return saved.toByteArray();
    }

    private static byte[] memory(int... pages) {
        byte[] memory = new byte[PAGES * PAGE];
        for (int page : pages) {
            Arrays.fill(memory, page * PAGE, (page + 1) * PAGE, (byte) (page + 1));
        }
        return memory;
    }

    @Test
    void shouldLoadAndSavePagesThatAreNotZerosAlone() throws Exception {
        byte[] memory = memory(3, 200, PAGES - 1);
        load(memory);
        assertNotEquals(Optional.of(Presence.ZEROS), mark());
        // What the homes have of other pages is not asked for.
        pool.exported().asSlice(at(4), PAGE).fill((byte) 1);
        assertArrayEquals(memory, save());
        try (SpaceUse next = exclusively()) {
            PresenceMap map = presence.read(next).orElseThrow();
            assertEquals(PresenceMap.PRESENT, map.get(200));
            assertEquals(PresenceMap.ZERO, map.get(201));
        }
    }

    @Test
    void shouldWriteZerosOverPagesOfTheImageBefore() throws Exception {
        load(memory(3, 4, 5));
        load(memory(4));
        assertArrayEquals(memory(4), save());
        assertEquals(0, page(3)[0]);
    }

    @Test
    void shouldSaveWhatAnotherToolHasWrittenMeanwhile() throws Exception {
        load(memory(3));
        assertArrayEquals(memory(3), save());
        pages.put(spaces.use(space).orElseThrow(), 9, filled(10));
        assertEquals(Optional.empty(), mark());
        assertArrayEquals(memory(3, 9), save());
    }

    private static byte[] filled(int value) {
        byte[] page = new byte[PAGE];
        Arrays.fill(page, (byte) value);
        return page;
    }

    @Test
    void shouldTearTheSpaceWhenOnlyAPartOfAnImageCame() throws Exception {
        SpaceUse use = exclusively();
        byte[] part = Arrays.copyOf(memory(0, 1, 2), 40 * PAGE + 1);
        assertThrows(EOFException.class, () -> image.load(use, new ByteArrayInputStream(part), OptionalLong.empty()));
        spaces.detachAll();
        Space torn = coordinator.client().space("vm").orElseThrow();
        assertTrue(torn.torn().orElseThrow().reason().contains("only in part"), torn::describe);
        assertEquals(Optional.empty(), mark());
        image.load(
                spaces.useExclusively(space, new Claim(true, false)).orElseThrow(),
                new ByteArrayInputStream(memory(7)),
                OptionalLong.of(PAGES * (long) PAGE));
        spaces.detachAll();
        assertEquals(
                Optional.empty(), coordinator.client().space("vm").orElseThrow().torn());
        assertArrayEquals(memory(7), save());
    }

    @Test
    void shouldNotTearASpaceToWhichNothingWasWritten() throws Exception {
        SpaceUse use = exclusively();
        assertThrows(
                EOFException.class,
                () -> image.load(use, new ByteArrayInputStream(new byte[PAGE + 1]), OptionalLong.empty()));
        spaces.detachAll();
        assertEquals(
                Optional.empty(), coordinator.client().space("vm").orElseThrow().torn());
        assertEquals(Optional.of(Presence.ZEROS), mark(), "the map is still right");
    }

    @ParameterizedTest
    @ValueSource(longs = {-1, 1})
    void shouldWriteNothingOfAnImageWhoseLengthDoesNotFit(long more) throws Exception {
        load(memory(3));
        SpaceUse use = exclusively();
        assertThrows(
                IOException.class,
                () -> image.load(
                        use, new ByteArrayInputStream(memory(4)), OptionalLong.of(PAGES * (long) PAGE + more)));
        spaces.detachAll();
        assertTrue(mark().isPresent());
        assertArrayEquals(memory(3), save());
    }

    @Test
    void shouldNotGiveOutThePagesOfTheMap() throws Exception {
        SpaceUse read = spaces.use(space).orElseThrow();
        assertThrows(IndexOutOfBoundsException.class, () -> pages.get(read, PAGES));
        SpaceUse written = spaces.use(space).orElseThrow();
        assertThrows(IndexOutOfBoundsException.class, () -> pages.put(written, PAGES, filled(1)));
        assertEquals(Optional.of(Presence.ZEROS), mark());
    }
}
