package io.farpage.agent.control.mount;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.control.LinkKeys;
import io.farpage.agent.control.LocalNode;
import io.farpage.agent.control.TestCoordinator;
import io.farpage.agent.control.page.PageTool;
import io.farpage.agent.control.page.SpaceImage;
import io.farpage.agent.control.page.SpacePresence;
import io.farpage.agent.control.space.Claim;
import io.farpage.agent.control.space.SpaceInUseException;
import io.farpage.agent.control.space.SpaceUse;
import io.farpage.agent.control.space.Spaces;
import io.farpage.agent.data.pager.page.PresenceMap;
import io.farpage.agent.data.shard.IdleStrategy;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.Shard;
import io.farpage.agent.data.shard.ShardLoop;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Detachment;
import io.farpage.coordinator.model.HostedAck;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.coordinator.model.VmmState;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.linux.Errno;
import io.farpage.linux.ThreadScheduling;
import io.farpage.linux.fuse.FuseConnection;
import io.farpage.linux.fuse.FuseRequest;
import io.farpage.pool.HugepagePolicy;
import io.farpage.pool.PagePool;
import io.farpage.pool.PoolConfig;
import io.farpage.pool.header.PoolHeader;
import io.farpage.pool.hugepages.HugepageSize;
import java.io.ByteArrayInputStream;
import java.lang.foreign.Arena;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A mounted file system, with a real coordinator and shard, and a pretended kernel. This node is the home of most. */
class SnapshotMountTest {
    private static final Incarnation INCARNATION = new Incarnation(7);
    private static final Incarnation ABSENT = new Incarnation(8);
    private static final int PAGE = 4096;
    private static final int PAGES = 64;
    private static final int POOL_BYTES = 16 << 20;
    private static final Duration SOON = Duration.ofMillis(300);
    private static final int NOTIFY_INVAL_ENTRY = 3;
    private static final int NOTIFY_STORE = 4;

    @TempDir
    private Path store = Path.of("");

    private final ShardLoop loop = new ShardLoop(
            new Shard(List.of(), Arena.ofAuto().allocate(PoolHeader.BYTES), System::nanoTime, () -> {}),
            new ShardLoop.Options(
                    "shard", IdleStrategy.BLOCK, Duration.ZERO, OptionalInt.empty(), ThreadScheduling.ordinary()));
    private final List<List<Long>> reported = new ArrayList<>();
    private final AtomicLong now = new AtomicLong(1);
    private volatile boolean ended;
    private TestCoordinator coordinator;
    private PagePool pool;
    private Spaces spaces;
    private SpacePresence presence;
    private SpaceImage image;
    private MountContext context;
    private PretendedKernel kernel;
    private SnapshotMount mount;

    @BeforeEach
    void start() throws Throwable {
        coordinator = new TestCoordinator(store);
        coordinator.register("a", INCARNATION, POOL_BYTES);
        coordinator.register("absent", ABSENT, POOL_BYTES);
        pool = PagePool.open(PoolConfig.of("a", INCARNATION.value(), POOL_BYTES, 2 << 20)
                .withHugepages(HugepagePolicy.OFF, HugepageSize.TWO_MIB));
        spaces = new Spaces(coordinator.client(), "a", INCARNATION);
        LocalNode self = new LocalNode(
                "a", INCARNATION, pool, coordinator.client(), LinkKeys.generate("a", INCARNATION, Optional.empty()));
        PageTool pages = new PageTool(self, loop, PeerLink::new, 4, Duration.ofMillis(100));
        presence = new SpacePresence(pages);
        image = new SpaceImage(pages, presence);
        MountShard shard = new MountShard(self, loop, PeerLink::new, 4, Duration.ofSeconds(1));
        context = new MountContext(
                new SnapshotSpaces("a", spaces, presence, pages), shard, now::get, new MountCounters(shard));
        loop.start();
        kernel = new PretendedKernel();
        mount = mount(List.of());
    }

    @AfterEach
    void close() {
        mount.close();
        kernel.close();
        spaces.close();
        loop.close();
        pool.close();
        coordinator.close();
    }

    private SnapshotMount mount(List<Long> open) {
        MountHello hello = new MountHello(MountHello.VERSION, "/snapshots", 0440, 11, 12, 64 << 10, open);
        SnapshotMount made = new SnapshotMount(
                new FuseConnection(kernel.server()),
                hello,
                context,
                () -> reported.add(mount.inUse()),
                () -> ended = true);
        made.serve();
        return made;
    }

    private long makeSpace(String name, String home) throws CoordinatorException {
        long id = coordinator
                .client()
                .createSpace(new SpaceRequest(name, PAGES * PAGE, OptionalInt.of(PAGE), Optional.of(List.of(home))))
                .id();
        acknowledge("a", INCARNATION);
        acknowledge("absent", ABSENT);
        return id;
    }

    private void acknowledge(String home, Incarnation incarnation) throws CoordinatorException {
        long revision = coordinator.client().hosted(home).revision();
        coordinator.client().acknowledgeHosted(home, new HostedAck(incarnation, revision, List.of(), List.of()));
    }

    /** Page p is filled with p; every fourth is zeros. */
    private static byte[] memory() {
        byte[] memory = new byte[PAGES * PAGE];
        for (int page = 0; page < PAGES; page++) {
            Arrays.fill(memory, page * PAGE, (page + 1) * PAGE, (byte) (page % 4 == 0 ? 0 : page));
        }
        return memory;
    }

    private long makeSnapshot(String name) throws Exception {
        long id = makeSpace(name, "a");
        image.load(
                spaces.useExclusively(id, Claim.PLAIN).orElseThrow(),
                new ByteArrayInputStream(memory()),
                OptionalLong.empty());
        spaces.detachAll();
        coordinator.client().makeSnapshot(name);
        return id;
    }

    private boolean isAttached(String name) throws CoordinatorException {
        return !coordinator.client().attachments(name).isEmpty();
    }

    /** Whether a use of the space has not ended. */
    private boolean isInUse(long id) {
        try {
            spaces.useExclusively(id, Claim.PLAIN).ifPresent(SpaceUse::close);
            throw new AssertionError("a snapshot is used exclusively");
        } catch (SpaceInUseException e) {
            return true;
        } catch (CoordinatorException e) {
            return false;
        }
    }

    @Test
    void shouldShowSnapshotsAlone() throws Exception {
        makeSpace("plain", "a");
        long id = makeSnapshot("golden");
        assertEquals(Errno.ENOENT, kernel.lookUp("plain").error());
        assertEquals(Errno.ENOENT, kernel.lookUp("missing").error());
        assertEquals(Errno.ENOENT, kernel.lookUp(Long.toString(id)).error(), "an id does not name it");
        assertEquals(Errno.ENOENT, kernel.lookUp("../golden").error());
        ByteBuffer entry = kernel.lookUp("golden").fields();
        assertEquals(SnapshotFile.node(id), entry.getLong(0));
        int attributes = 40;
        assertEquals(PAGES * PAGE, entry.getLong(attributes + 8), "size");
        assertEquals(0100440, entry.getInt(attributes + 60), "mode");
        assertEquals(11, entry.getInt(attributes + 68), "user");
        assertEquals(12, entry.getInt(attributes + 72), "group");
        byte[] names = kernel.list(PAGE);
        String text = new String(names, StandardCharsets.ISO_8859_1);
        assertTrue(text.contains("golden"), text);
        assertTrue(!text.contains("plain"), text);
    }

    @Test
    void shouldGiveTheBytesOfTheSnapshot() throws Exception {
        long node = SnapshotFile.node(makeSnapshot("golden"));
        assertEquals(node, kernel.find("golden"));
        assertEquals(0, kernel.open(node).error());
        byte[] memory = memory();
        for (int[] range : new int[][] {{0, PAGE}, {0, 64 << 10}, {PAGE + 7, 100}, {3 * PAGE - 1, 2 * PAGE + 2}}) {
            assertArrayEquals(
                    Arrays.copyOfRange(memory, range[0], range[0] + range[1]), kernel.read(node, range[0], range[1]));
        }
        int last = (PAGES - 1) * PAGE;
        assertArrayEquals(Arrays.copyOfRange(memory, last, PAGES * PAGE), kernel.read(node, last, 2 * PAGE), "cut");
        assertEquals(0, kernel.read(node, PAGES * PAGE, PAGE).length, "behind the end");
        assertEquals(0, kernel.read(node, 1L << 40, PAGE).length, "far behind the end");
    }

    /** The file ends within a page of its space. */
    @Test
    void shouldGiveTheBytesOfAStateFile() throws Exception {
        VmmState file = new VmmState(makeSnapshot("golden"), PAGE + 9);
        SpaceRequest request =
                new SpaceRequest("golden.state", 2 * PAGE, OptionalInt.of(PAGE), Optional.of(List.of("a")));
        long id = coordinator
                .client()
                .createSpace(request.asLoading(Optional.of(file)))
                .id();
        acknowledge("a", INCARNATION);
        byte[] state = Arrays.copyOfRange(memory(), PAGE, 2 * PAGE + 9);
        image.load(
                spaces.useExclusively(id, Claim.PLAIN).orElseThrow(),
                new ByteArrayInputStream(state),
                OptionalLong.of(state.length));
        spaces.detachAll();
        ByteBuffer entry = kernel.lookUp("golden.state").fields();
        assertEquals(PAGE + 9, entry.getLong(48), "size");
        long node = SnapshotFile.node(id);
        assertEquals(0, kernel.open(node).error());
        assertArrayEquals(state, kernel.read(node, 0, 4 * PAGE));
    }

    @Test
    void shouldUseTheSnapshotUntilTheKernelForgetsTheFile() throws Exception {
        long id = makeSnapshot("golden");
        long node = kernel.find("golden");
        assertTrue(!isAttached("golden"), "it was not opened");
        kernel.find("golden");
        kernel.open(node);
        assertTrue(isAttached("golden"));
        assertEquals(List.of(List.of(id)), reported, "before the answer");
        kernel.release(node);
        assertTrue(isInUse(id), "its pages are in the page cache");
        kernel.forget(node, 1);
        assertTrue(kernel.next(SOON).isEmpty());
        assertTrue(isInUse(id), "one look-up is left");
        kernel.forget(node, 1);
        await("it is not in use", Deadlines.SHORT).until(() -> !isInUse(id));
        assertEquals(List.of(), reported.getLast());
        assertEquals(node, kernel.find("golden"), "it is found again");
        assertEquals(0, kernel.open(node).error());
    }

    @Test
    void shouldLetTheKernelForgetAFileThatNoProcessHasOpen() throws Exception {
        makeSnapshot("golden");
        long node = kernel.find("golden");
        kernel.open(node);
        now.addAndGet(Duration.ofHours(1).toNanos());
        mount.step();
        assertTrue(kernel.next(SOON).isEmpty(), "it is open");
        kernel.release(node);
        now.addAndGet(Duration.ofSeconds(59).toNanos());
        mount.step();
        assertTrue(kernel.next(SOON).isEmpty(), "its pages stay for a minute");
        now.addAndGet(Duration.ofSeconds(1).toNanos());
        mount.step();
        PretendedKernel.Answer notice = kernel.next(SOON).orElseThrow();
        assertEquals(0, notice.unique());
        assertEquals(-NOTIFY_INVAL_ENTRY, notice.error());
        assertTrue(new String(notice.body(), StandardCharsets.ISO_8859_1).endsWith("golden\0"));
    }

    @Test
    void shouldNotOpenASnapshotThatIsDeleted() throws Exception {
        makeSnapshot("golden");
        long node = kernel.find("golden");
        coordinator.client().deleteSpace("golden");
        assertEquals(Errno.ESTALE, kernel.open(node).error());
        assertEquals(Errno.ENOENT, kernel.lookUp("golden").error());
    }

    @Test
    void shouldReadFilesThatWereOpenWhileAnotherAgentAnswered() throws Exception {
        long id = makeSnapshot("golden");
        mount.close();
        kernel.close();
        assertTrue(!isAttached("golden"));
        try {
            kernel = new PretendedKernel();
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
        mount = mount(List.of(id));
        assertEquals(List.of(id), mount.inUse(), "what is left is reported from the beginning");
        mount.step();
        assertTrue(isAttached("golden"));
        byte[] second = kernel.read(SnapshotFile.node(id), PAGE, PAGE);
        assertArrayEquals(Arrays.copyOfRange(memory(), PAGE, 2 * PAGE), second);
        assertEquals(0, kernel.release(SnapshotFile.node(id)).error());
        kernel.forget(SnapshotFile.node(id), 1);
        await("it is not in use", Deadlines.SHORT).until(() -> mount.inUse().isEmpty());
    }

    @Test
    void shouldAskNoHomeForPagesOfZeros() throws Exception {
        makeSpace("far", "absent");
        coordinator.client().makeSnapshot("far");
        long node = kernel.find("far");
        assertEquals(0, kernel.open(node).error());
        assertArrayEquals(new byte[PAGE], kernel.read(node, 0, PAGE), "no home answers");
    }

    @Test
    void shouldWaitForAHomeUntilTheReaderIsInterruptedOrTheAgentEnds() throws Exception {
        long id = makeSpace("far", "absent");
        // Its map is not right from now on, so that the home is asked for each page.
        coordinator.client().attach(Long.toString(id), "absent", attachToWrite());
        coordinator.client().detach(Long.toString(id), "absent", ABSENT, Detachment.PLAIN);
        coordinator.client().makeSnapshot("far");
        long node = kernel.find("far");
        assertEquals(0, kernel.open(node).error());
        long first = kernel.askToRead(node, 0, PAGE);
        long second = kernel.askToRead(node, PAGE, PAGE);
        assertTrue(kernel.next(SOON).isEmpty(), "they wait");
        kernel.interrupt(first);
        PretendedKernel.Answer answer = kernel.next(Duration.ofSeconds(10)).orElseThrow();
        assertEquals(first, answer.unique());
        assertEquals(Errno.EINTR, answer.error());
        // The kernel says it once, and perhaps before the data plane passes the read on.
        long third = kernel.asked() + 2;
        kernel.interrupt(third);
        assertEquals(third, kernel.askToRead(node, 2 * PAGE, PAGE));
        answer = kernel.next(Duration.ofSeconds(10)).orElseThrow();
        assertEquals(third, answer.unique());
        assertEquals(Errno.EINTR, answer.error());
        mount.close();
        assertTrue(kernel.next(SOON).isEmpty(), "read " + second + " is left to the next agent");
    }

    private static AttachRequest attachToWrite() {
        return new AttachRequest(ABSENT, AttachMode.SHARED, Optional.empty(), Optional.of(List.of("presence")))
                .withWrites();
    }

    @Test
    void shouldPutThePagesOfTheLastGuestIntoThePageCache() throws Exception {
        long id = makeSpace("warm", "a");
        try (SpaceUse use = spaces.useExclusively(id, Claim.PLAIN).orElseThrow()) {
            PresenceMap map = PresenceMap.zeros(PAGES);
            map.set(3, PresenceMap.PRESENT);
            for (int page = 5; page < 45; page++) {
                map.set(page, PresenceMap.WANTED);
            }
            use.presence(presence.write(use, map));
        }
        spaces.detachAll();
        coordinator.client().makeSnapshot("warm");
        long node = kernel.find("warm");
        kernel.ask(FuseRequest.OPEN, node, new byte[8]);
        List<String> stored = new ArrayList<>();
        int opened = 0;
        for (Optional<PretendedKernel.Answer> one = kernel.next(SOON); one.isPresent(); one = kernel.next(SOON)) {
            if (one.get().unique() != 0) {
                opened++;
                continue;
            }
            assertEquals(-NOTIFY_STORE, one.get().error());
            ByteBuffer notice = one.get().fields();
            assertEquals(node, notice.getLong(0));
            stored.add(notice.getLong(8) / PAGE + "+" + notice.getInt(16) / PAGE);
        }
        assertEquals(1, opened);
        assertEquals(List.of("5+32", "37+8"), stored);
    }

    @Test
    void shouldForgetManyFilesAtOnce() throws Exception {
        makeSnapshot("one");
        makeSnapshot("two");
        long one = kernel.find("one");
        long two = kernel.find("two");
        kernel.open(one);
        kernel.open(two);
        kernel.ask(
                FuseRequest.BATCH_FORGET,
                0,
                ByteBuffer.allocate(40)
                        .order(ByteOrder.nativeOrder())
                        .putInt(2)
                        .putInt(0)
                        .putLong(one)
                        .putLong(1)
                        .putLong(two)
                        .putLong(1)
                        .array());
        await("neither is in use", Deadlines.SHORT).until(() -> mount.inUse().isEmpty());
    }

    @Test
    void shouldRefuseWhatItDoesNotKnowAndNoticeTheEnd() {
        assertEquals(
                Errno.ENOSYS, kernel.call(22, FuseRequest.ROOT, new byte[16]).error(), "GETXATTR");
        kernel.close();
        await("it has ended", Deadlines.SHORT).until(() -> ended);
    }
}
