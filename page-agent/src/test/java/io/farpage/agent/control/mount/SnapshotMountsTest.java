package io.farpage.agent.control.mount;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.control.LinkKeys;
import io.farpage.agent.control.LocalNode;
import io.farpage.agent.control.TestCoordinator;
import io.farpage.agent.control.page.PageTool;
import io.farpage.agent.control.page.SpacePresence;
import io.farpage.agent.control.space.Spaces;
import io.farpage.agent.data.shard.IdleStrategy;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.Shard;
import io.farpage.agent.data.shard.ShardLoop;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.linux.Errno;
import io.farpage.linux.FileIo;
import io.farpage.linux.PollSet;
import io.farpage.linux.Sockets;
import io.farpage.linux.ThreadScheduling;
import io.farpage.linux.UnixSockets;
import io.farpage.pool.HugepagePolicy;
import io.farpage.pool.PagePool;
import io.farpage.pool.PoolConfig;
import io.farpage.pool.header.PoolHeader;
import io.farpage.pool.hugepages.HugepageSize;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The socket on which mount processes pass their file systems. */
class SnapshotMountsTest {
    private static final Incarnation INCARNATION = new Incarnation(7);
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    @TempDir
    private Path directory = Path.of("");

    private final ShardLoop loop = new ShardLoop(
            new Shard(List.of(), Arena.ofAuto().allocate(PoolHeader.BYTES), System::nanoTime, () -> {}),
            new ShardLoop.Options(
                    "shard", IdleStrategy.BLOCK, Duration.ZERO, OptionalInt.empty(), ThreadScheduling.ordinary()));
    private final Errno errno = Errno.create();
    private final List<Integer> connections = new ArrayList<>();
    private TestCoordinator coordinator;
    private PagePool pool;
    private Spaces spaces;
    private LocalNode self;
    private PageTool pages;
    private MountShard shard;
    private Path socket;
    private volatile boolean registered;
    private SnapshotMounts mounts;

    @BeforeEach
    void start() throws Exception {
        coordinator = new TestCoordinator(directory.resolve("store"));
        pool = PagePool.open(PoolConfig.of("a", INCARNATION.value(), 2 << 20, 2 << 20)
                .withHugepages(HugepagePolicy.OFF, HugepageSize.TWO_MIB));
        spaces = new Spaces(coordinator.client(), "a", INCARNATION);
        self = new LocalNode(
                "a", INCARNATION, pool, coordinator.client(), LinkKeys.generate("a", INCARNATION, Optional.empty()));
        pages = new PageTool(self, loop, PeerLink::new, 1, Duration.ofSeconds(1));
        shard = new MountShard(self, loop, PeerLink::new, 1, Duration.ofSeconds(1));
        socket = directory.resolve("a.mounts");
        loop.start();
        mounts = mounts();
    }

    @AfterEach
    void close() {
        connections.forEach(fd -> FileIo.close(errno, fd));
        mounts.close();
        spaces.close();
        loop.close();
        pool.close();
        coordinator.close();
    }

    private SnapshotMounts mounts() {
        SnapshotMounts made = new SnapshotMounts(
                socket, new SnapshotSpaces("a", spaces, new SpacePresence(pages), pages), shard, System::nanoTime);
        made.start(() -> registered);
        return made;
    }

    private static String hello(int version, int mode, int readahead) {
        return """
                {"version":%d,"directory":"/snapshots","mode":%d,"user":0,"group":0,"readahead":%d,"open":[]}
                """.formatted(version, mode, readahead);
    }

    private static String hello() {
        return hello(MountHello.VERSION, 0440, 0);
    }

    private int connect(String message, List<Integer> descriptors) {
        registered = true;
        await("it listens", Deadlines.SHORT).until(() -> Files.exists(socket));
        int fd = Sockets.openUnix(errno);
        connections.add(fd);
        await("it accepts", Deadlines.SHORT).until(() -> UnixSockets.connect(errno, fd, socket) == 0);
        byte[] bytes = message.getBytes(StandardCharsets.UTF_8);
        assertEquals(bytes.length, UnixSockets.send(errno, fd, bytes, descriptors));
        return fd;
    }

    /** What comes next; empty at the end. */
    private String receive(int fd) {
        PollSet ready = new PollSet(1);
        ready.add(fd, PollSet.POLLIN);
        ready.await(PATIENCE.toNanos());
        assertTrue(ready.ready(0) != 0, "nothing came");
        MemorySegment buffer = Arena.ofAuto().allocate(4096);
        int bytes = Math.max(0, UnixSockets.receive(errno, fd, buffer, 1).bytes());
        return new String(buffer.asSlice(0, bytes).toArray(ValueLayout.JAVA_BYTE), StandardCharsets.UTF_8);
    }

    @Test
    void shouldNotListenBeforeTheNodeIsRegistered() throws Exception {
        Thread.sleep(Duration.ofMillis(100));
        assertFalse(Files.exists(socket));
        registered = true;
        await("it listens", Deadlines.SHORT).until(() -> Files.exists(socket));
    }

    @Test
    void shouldListenWhenTheAgentBeforeHasLeftTheSocket() throws Exception {
        registered = true;
        await("it listens", Deadlines.SHORT).until(() -> Files.exists(socket));
        SnapshotMounts next = mounts();
        Thread.sleep(Duration.ofMillis(100));
        mounts.close();
        mounts = next;
        await("the next one listens", Deadlines.SHORT).until(() -> Files.exists(socket));
    }

    @ParameterizedTest
    @CsvSource({
        "2, 288, 0, version: 2",
        "1, 4095, 0, mode: 07777",
        "1, 288, -1, readahead: -1",
        "1, 288, 1048577, readahead: 1048577"
    })
    void shouldRefuseAHelloThatIsNotValid(int version, int mode, int readahead, String named) throws Throwable {
        try (PretendedKernel kernel = new PretendedKernel()) {
            int fd = connect(hello(version, mode, readahead), List.of(kernel.server()));
            FileIo.close(errno, kernel.server());
            String reply = receive(fd);
            assertTrue(reply.contains("refused") && reply.contains(named), reply);
            assertEquals("", receive(fd), "the connection ends");
            assertTrue(kernel.next(Duration.ofMillis(200)).isEmpty(), "the descriptor is closed");
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {"garbage", "{}", "[1]", "{\"version\":1}"})
    void shouldRefuseALineThatIsNoHello(String line) {
        int fd = connect(line + "\n", List.of());
        assertTrue(receive(fd).contains("refused"));
        assertEquals("", receive(fd));
    }

    @Test
    void shouldRefuseAHelloWithoutDescriptor() {
        int fd = connect(hello(), List.of());
        String reply = receive(fd);
        assertTrue(reply.contains("0 descriptors came"), reply);
    }

    @Test
    void shouldServeUntilTheFileSystemEndsAlthoughTheMountProcessHas() throws Throwable {
        try (PretendedKernel kernel = new PretendedKernel()) {
            int fd = connect(hello(), List.of(kernel.server()));
            FileIo.close(errno, kernel.server());
            // A resent request is asked for, then what is open is said.
            assertEquals(0, kernel.next(PATIENCE).orElseThrow().unique());
            assertEquals("{\"open\":[]}\n", receive(fd));
            assertEquals(Errno.ENOENT, kernel.lookUp("missing").error());
            Sockets.shutdown(errno, fd, Sockets.SHUT_RDWR);
            assertEquals(Errno.ENOENT, kernel.lookUp("missing").error());
        }
    }

    @Test
    void shouldLeaveTheFileSystemToTheNextAgent() throws Throwable {
        try (PretendedKernel kernel = new PretendedKernel()) {
            int first = connect(hello(), List.of(kernel.server()));
            assertEquals("{\"open\":[]}\n", receive(first));
            assertTrue(kernel.next(PATIENCE).isPresent());
            mounts.close();
            assertEquals("", receive(first), "the mount process learns of the end");
            assertFalse(Files.exists(socket));
            long number = kernel.ask(1, 1, "missing\0".getBytes(StandardCharsets.UTF_8));
            assertTrue(kernel.next(Duration.ofMillis(200)).isEmpty(), "there is no agent");
            mounts = mounts();
            int second = connect(hello(), List.of(kernel.server()));
            FileIo.close(errno, kernel.server());
            assertEquals("{\"open\":[]}\n", receive(second));
            assertEquals(0, kernel.next(PATIENCE).orElseThrow().unique());
            PretendedKernel.Answer answer = kernel.next(PATIENCE).orElseThrow();
            assertEquals(number, answer.unique());
            assertEquals(Errno.ENOENT, answer.error());
        }
    }
}
