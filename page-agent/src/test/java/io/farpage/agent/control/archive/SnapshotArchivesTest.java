package io.farpage.agent.control.archive;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.control.LinkKeys;
import io.farpage.agent.control.LocalNode;
import io.farpage.agent.control.TestCoordinator;
import io.farpage.agent.control.guest.GuestException;
import io.farpage.agent.control.guest.NewSpace;
import io.farpage.agent.control.page.PageTool;
import io.farpage.agent.control.page.SpaceImage;
import io.farpage.agent.control.page.SpacePresence;
import io.farpage.agent.control.space.Spaces;
import io.farpage.agent.data.shard.IdleStrategy;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.Shard;
import io.farpage.agent.data.shard.ShardLoop;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.model.HostedAck;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Presence;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.coordinator.model.VmmState;
import io.farpage.linux.ThreadScheduling;
import io.farpage.pool.HugepagePolicy;
import io.farpage.pool.PagePool;
import io.farpage.pool.PoolConfig;
import io.farpage.pool.header.PoolHeader;
import io.farpage.pool.hugepages.HugepageSize;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.lang.foreign.Arena;
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
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** Snapshots whose home is the node itself are saved and loaded, with a real coordinator. */
class SnapshotArchivesTest {
    private static final Incarnation INCARNATION = new Incarnation(7);
    private static final int PAGE = 4096;
    private static final int PAGES = 300;
    private static final int POOL_BYTES = 32 << 20;
    private static final SnapshotArchives.Keeping ANYWHERE =
            new SnapshotArchives.Keeping(Optional.empty(), OptionalInt.empty(), Optional.empty());

    @TempDir
    private Path store = Path.of("");

    private final ShardLoop loop = new ShardLoop(
            new Shard(List.of(), Arena.ofAuto().allocate(PoolHeader.BYTES), System::nanoTime, () -> {}),
            new ShardLoop.Options(
                    "shard", IdleStrategy.BLOCK, Duration.ZERO, OptionalInt.empty(), ThreadScheduling.ordinary()));
    private TestCoordinator coordinator;
    private PagePool pool;
    private Spaces spaces;
    private SnapshotArchives archives;

    @BeforeEach
    void start() throws Exception {
        coordinator = new TestCoordinator(store);
        coordinator.register("a", INCARNATION, POOL_BYTES);
        pool = PagePool.open(PoolConfig.of("a", INCARNATION.value(), POOL_BYTES, 2 << 20)
                .withHugepages(HugepagePolicy.OFF, HugepageSize.TWO_MIB));
        spaces = new Spaces(coordinator.client(), "a", INCARNATION);
        LocalNode self = new LocalNode(
                "a", INCARNATION, pool, coordinator.client(), LinkKeys.generate("a", INCARNATION, Optional.empty()));
        PageTool pages = new PageTool(self, loop, PeerLink::new, 4, Duration.ofSeconds(5));
        archives = new SnapshotArchives(spaces, new SpaceImage(pages, new SpacePresence(pages)), this::create);
        loop.start();
        spaces.start((_, _) -> true);
    }

    @AfterEach
    void close() {
        spaces.close();
        loop.close();
        pool.close();
        coordinator.close();
    }

    private Space create(NewSpace space, Optional<VmmState> file) throws CoordinatorException {
        Space made = coordinator
                .client()
                .createSpace(new SpaceRequest(space.name(), space.sizeBytes(), space.pageSize(), space.homes())
                        .asLoading(file));
        long revision = coordinator.client().hosted("a").revision();
        coordinator.client().acknowledgeHosted("a", new HostedAck(INCARNATION, revision, List.of(), List.of()));
        return made;
    }

    private Optional<Space> space(String name) throws CoordinatorException {
        return coordinator.client().space(name);
    }

    /** Every third page is zeros, and so is all behind the hundredth. */
    private static byte[] memory() {
        byte[] memory = new byte[PAGES * PAGE];
        SplittableRandom random = new SplittableRandom(5);
        for (int page = 0; page < 100; page++) {
            byte[] data = new byte[PAGE];
            random.nextBytes(data);
            System.arraycopy(data, 0, memory, page * PAGE, page % 3 == 0 ? 0 : PAGE);
        }
        return memory;
    }

    private static byte[] archive(byte[] state, byte[] memory) throws IOException, InterruptedException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ArchiveWriter writer = new ArchiveWriter(
                out,
                new ArchiveHeader(
                        ArchiveHeader.FORMAT,
                        "saved",
                        memory.length,
                        PAGE,
                        state.length == 0 ? OptionalLong.empty() : OptionalLong.of(state.length)));
        if (state.length > 0) {
            writer.<RuntimeException>state(to -> to.write(state));
        }
        writer.<RuntimeException>memory(to -> to.write(memory));
        return out.toByteArray();
    }

    private static byte[] state() {
        byte[] state = new byte[PAGE + 100];
        new SplittableRandom(6).nextBytes(state);
        return state;
    }

    private static InputStream of(byte[] data) {
        return new ByteArrayInputStream(data);
    }

    private byte[] save(String name) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (SnapshotArchives.Saving saving = archives.save(name)) {
            saving.write(out);
        }
        return out.toByteArray();
    }

    private static void refused(String said, Executable what) {
        String message = String.valueOf(assertThrows(Exception.class, what).getMessage());
        assertTrue(message.contains(said), message);
    }

    @Test
    void shouldMakeASnapshotOfWhatAnArchiveHas() throws Exception {
        archives.load("golden", ANYWHERE, of(archive(state(), memory())));
        Space golden = space("golden").orElseThrow();
        assertTrue(golden.snapshot().isPresent());
        assertTrue(golden.presence().flatMap(Presence::mark).isPresent(), "pages of zeros are known");
        Space state = space("golden.state").orElseThrow();
        assertTrue(state.snapshot().isPresent());
        assertEquals(Optional.of(new VmmState(golden.id(), PAGE + 100)), state.vmmState());
        ArchiveReader saved = new ArchiveReader(of(save("golden")));
        assertEquals("golden", saved.header().name());
        assertArrayEquals(state(), saved.state().readAllBytes());
        assertArrayEquals(memory(), saved.memory().readAllBytes());
    }

    @Test
    void shouldLeaveNothingOfAnArchiveThatIsDamaged() throws Exception {
        byte[] archive = archive(state(), memory());
        archive[archive.length / 2] ^= 1;
        refused("memory/0000000000000000", () -> archives.load("golden", ANYWHERE, of(archive)));
        assertEquals(Optional.empty(), space("golden"));
        assertEquals(Optional.empty(), space("golden.state"));
    }

    @Test
    void shouldLeaveNothingWhenTheStateIsDamaged() throws Exception {
        byte[] archive = archive(state(), memory());
        byte[] cut = Arrays.copyOf(archive, 2000);
        refused("vmm-state", () -> archives.load("golden", ANYWHERE, of(cut)));
        assertEquals(Optional.empty(), space("golden"));
        assertEquals(Optional.empty(), space("golden.state"));
    }

    @Test
    void shouldLeaveNothingWhenTheClientIsGone() throws Exception {
        byte[] archive = archive(new byte[0], memory());
        InputStream closed = new InputStream() {
            @Override
            public int read() throws IOException {
                throw new IOException("the connection was closed");
            }

            @Override
            public int read(byte[] to, int from, int length) throws IOException {
                return read();
            }
        };
        InputStream broken = new SequenceInputStream(of(Arrays.copyOf(archive, archive.length / 2)), closed);
        refused("the connection was closed", () -> archives.load("golden", ANYWHERE, broken));
        assertEquals(Optional.empty(), space("golden"));
    }

    @Test
    void shouldKeepTheStateOfAVmmWithASnapshot() throws Exception {
        archives.load("golden", ANYWHERE, of(archive(new byte[0], memory())));
        refused("ends in page 1", () -> archives.keepState("golden", PAGE + 101, of(state())));
        assertEquals(Optional.empty(), space("golden.state"), "not in part");
        archives.keepState("golden", PAGE + 100, of(state()));
        assertArrayEquals(state(), new ArchiveReader(of(save("golden"))).state().readAllBytes());
        CoordinatorRefusedException second =
                assertThrows(CoordinatorRefusedException.class, () -> archives.keepState("golden", 5, of(new byte[5])));
        assertTrue(second.problem().is("name-taken"), second::getMessage);
        refused("is not the snapshot of a machine", () -> archives.keepState("golden.state", 5, of(new byte[5])));
    }

    @Test
    void shouldRefuseWhatIsNoSnapshot() throws Exception {
        coordinator.client().createSpace(SpaceRequest.of("vm", PAGE));
        refused("'vm' is not the snapshot of a machine", () -> archives.save("vm"));
        refused("there is no space 'absent'", () -> archives.save("absent"));
        assertThrows(GuestException.class, () -> archives.keepState("absent", 5, of(new byte[5])));
    }

    @Test
    void shouldNotTakeANameThatIsTaken() throws Exception {
        archives.load("golden", ANYWHERE, of(archive(new byte[0], memory())));
        byte[] other = archive(new byte[0], new byte[PAGE]);
        refused("'golden' exists", () -> archives.load("golden", ANYWHERE, of(other)));
        assertEquals(PAGES * PAGE, space("golden").orElseThrow().sizeBytes());
    }
}
