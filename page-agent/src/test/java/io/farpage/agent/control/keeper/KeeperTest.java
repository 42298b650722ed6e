package io.farpage.agent.control.keeper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.linux.Errno;
import io.farpage.linux.FileIo;
import io.farpage.linux.SharedMemory;
import io.farpage.linux.UnixSockets;
import io.farpage.linux.uffd.MemoryFile;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class KeeperTest {
    private static final int LENGTH = 1 << 16;

    @TempDir
    private Path directory = Path.of("");

    private Keeper keeper;
    private Thread thread;

    @BeforeEach
    void listen() throws IOException {
        keeper = Keeper.listen(directory.resolve("keeper"));
        thread = Thread.ofPlatform().start(keeper::run);
    }

    @AfterEach
    void end() throws InterruptedException {
        keeper.close();
        Deadlines.join("the end of the thread", Deadlines.SHORT, thread);
        assertTrue(Files.notExists(directory.resolve("keeper")));
    }

    private KeeperConnection connect() throws IOException {
        return KeeperConnection.open(keeper.path());
    }

    /**
     * As an agent that is opened again in one process: the keeper learns of the end of the connection in its own time.
     */
    private KeeperConnection claimed() {
        return Deadlines.await("the claim", Deadlines.SHORT)
                .pollInterval(Duration.ofMillis(5))
                .ignoreExceptionsInstanceOf(KeeperBusyException.class)
                .until(
                        () -> {
                            KeeperConnection next = connect();
                            try {
                                left = next.claim();
                                return next;
                            } catch (KeeperBusyException e) {
                                next.close();
                                throw e;
                            }
                        },
                        _ -> true);
    }

    private Optional<Integer> left = Optional.empty();

    private static int memory(long content) {
        int fd = (int) SharedMemory.create("kept", 0).value();
        assertTrue(SharedMemory.setLength(fd, LENGTH).succeeded());
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment value = arena.allocateFrom(ValueLayout.JAVA_LONG, content);
            assertEquals(8, FileIo.write(Errno.create(), fd, value.address(), 8));
        }
        return fd;
    }

    private static long content(int fd) {
        try (MemoryFile file = MemoryFile.adopt(fd);
                Arena arena = Arena.ofConfined()) {
            MemorySegment value = arena.allocate(ValueLayout.JAVA_LONG);
            assertEquals(8, file.read(0, value.address(), 8));
            return value.get(ValueLayout.JAVA_LONG, 0);
        }
    }

    private static void close(int fd) {
        FileIo.close(Errno.create(), fd);
    }

    @Test
    void shouldHandOnWhatWasKeptLast() throws IOException {
        int first = memory(1);
        int second = memory(2);
        try (KeeperConnection agent = claimed()) {
            assertEquals(Optional.empty(), left);
            agent.keep(first);
            agent.keep(second);
        }
        close(first);
        close(second);
        for (int successor = 0; successor < 2; successor++) {
            try (KeeperConnection agent = claimed()) {
                assertEquals(2, content(left.orElseThrow()));
                assertTrue(!agent.isBroken());
            }
        }
    }

    @Test
    void shouldLetGoOfWhatIsDropped() throws IOException {
        int memory = memory(1);
        try (KeeperConnection agent = claimed()) {
            agent.keep(memory);
            agent.drop();
        }
        close(memory);
        try (KeeperConnection _ = claimed()) {
            assertEquals(Optional.empty(), left);
        }
    }

    @Test
    void shouldHoldDescriptorsUnderNamesForTheNextHolder() throws IOException {
        int first = memory(1);
        int second = memory(2);
        int third = memory(3);
        try (KeeperConnection agent = claimed()) {
            assertTrue(agent.held().isEmpty());
            assertTrue(agent.hold(new KeptName(7, 16), first));
            assertTrue(agent.hold(new KeptName(7, 0), first));
            assertTrue(agent.hold(new KeptName(7, 0), second));
            assertTrue(agent.hold(new KeptName(KeptName.LAST_GROUP, 255), third));
        }
        List.of(first, second, third).forEach(KeeperTest::close);
        try (KeeperConnection agent = claimed()) {
            Map<KeptName, Integer> held = agent.held();
            Map<KeptName, Long> contents = new TreeMap<>();
            held.forEach((name, fd) -> contents.put(name, content(fd)));
            assertEquals(
                    Map.of(
                            new KeptName(7, 0), 2L,
                            new KeptName(7, 16), 1L,
                            new KeptName(KeptName.LAST_GROUP, 255), 3L),
                    contents);
            agent.release(7);
            assertEquals(1, agent.held().size());
            agent.drop();
            assertTrue(agent.held().isEmpty(), "the pool is given up with its guests");
        }
    }

    @Test
    void shouldHoldAndNameNothingForAConnectionThatHasNotClaimed() throws IOException {
        int memory = memory(1);
        try (KeeperConnection agent = claimed();
                KeeperConnection other = connect()) {
            assertTrue(agent.hold(new KeptName(7, 0), memory));
            assertFalse(other.hold(new KeptName(8, 0), memory));
            assertThrows(IOException.class, () -> other.release(7));
            assertThrows(IOException.class, other::held);
            assertEquals(1, agent.held().size());
            agent.drop();
        }
        close(memory);
    }

    @Test
    void shouldRefuseMoreDescriptorsThanItMayHold() {
        HeldDescriptors held = new HeldDescriptors(Errno.create());
        for (int i = 0; i < HeldDescriptors.CAPACITY; i++) {
            assertTrue(held.hold(new KeptName(i, 0), -1));
        }
        assertFalse(held.hold(new KeptName(HeldDescriptors.CAPACITY, 0), -1));
        assertTrue(held.hold(new KeptName(0, 0), -1));
        held.release(0);
        assertTrue(held.hold(new KeptName(HeldDescriptors.CAPACITY, 0), -1));
        held.clear();
        assertTrue(held.isEmpty());
    }

    @Test
    void shouldGiveAStandbyNothingWhileTheProcessOfTheHolderRuns() throws IOException, InterruptedException {
        int memory = memory(1);
        try (KeeperConnection standby = connect()) {
            assertEquals(0, standby.await());
            try (KeeperConnection agent = claimed()) {
                agent.keep(memory);
                int self = (int) ProcessHandle.current().pid();
                assertEquals(new KeeperState(self, self), agent.look());
            }
            // The connection of the holder has ended, and its process runs.
            try (KeeperConnection other = connect()) {
                assertEquals(LENGTH, other.await());
                Thread.sleep(100);
                assertFalse(other.isBroken(), "the keeper has said something");
            }
            assertFalse(standby.isBroken(), "the keeper has said something");
        }
        close(memory);
    }

    @Test
    void shouldRefuseAProcessThatDoesNotKnowTheFormatOfWhatIsKept() throws IOException {
        int memory = memory(1);
        try (KeeperConnection agent = connect()) {
            assertEquals(Optional.empty(), agent.claim(KeptFormat.VERSION + 1));
            agent.keep(memory);
            try (KeeperConnection standby = connect()) {
                KeptFormatException refused = assertThrows(KeptFormatException.class, standby::await);
                assertTrue(
                        String.valueOf(refused.getMessage())
                                .contains("has format %d, and this version of page-agent reads formats up to %d"
                                        .formatted(KeptFormat.VERSION + 1, KeptFormat.VERSION)),
                        refused.getMessage());
            }
        }
        close(memory);
        try (KeeperConnection older = connect()) {
            assertThrows(KeptFormatException.class, older::claim);
        }
        try (KeeperConnection same = connect()) {
            assertEquals(1, content(same.claim(KeptFormat.VERSION + 1).orElseThrow()));
        }
        try (KeeperConnection drop = connect()) {
            close(drop.claim(KeptFormat.ANY).orElseThrow());
            drop.drop();
        }
        try (KeeperConnection older = connect()) {
            assertEquals(Optional.empty(), older.claim());
        }
    }

    @Test
    void shouldLetNoMoreStandbysWaitThanItMay() throws IOException {
        Standbys standbys = new Standbys();
        for (int i = 0; i < Standbys.CAPACITY; i++) {
            assertTrue(standbys.add(new Standbys.Standby(connection(i), 1)));
        }
        assertFalse(standbys.add(new Standbys.Standby(connection(9), 1)));
        assertEquals(
                Standbys.CAPACITY - 1,
                standbys.next().orElseThrow().connection().fd(),
                "the last is the next");
        standbys.remove(connection(Standbys.CAPACITY - 1));
        assertEquals(
                Standbys.CAPACITY - 2,
                standbys.next().orElseThrow().connection().fd());
        assertTrue(standbys.add(new Standbys.Standby(connection(9), 1)));
    }

    private static Keeper.Connection connection(int fd) {
        return new Keeper.Connection(fd, new UnixSockets.Credentials(1, 0, 0, Set.of(0)));
    }

    @Test
    void shouldRefuseAClaimWhileTheHolderIsConnected() throws IOException {
        try (KeeperConnection _ = claimed();
                KeeperConnection other = connect()) {
            KeeperBusyException refused = assertThrows(KeeperBusyException.class, other::claim);
            assertTrue(
                    String.valueOf(refused.getMessage())
                            .contains("process " + ProcessHandle.current().pid()),
                    refused.getMessage());
        }
    }

    @Test
    void shouldTakeAndDropNothingForAConnectionThatHasNotClaimed() throws IOException {
        int memory = memory(1);
        try (KeeperConnection agent = claimed();
                KeeperConnection other = connect()) {
            agent.keep(memory);
            assertThrows(IOException.class, () -> other.keep(memory));
            assertThrows(IOException.class, other::drop);
        }
        close(memory);
        try (KeeperConnection _ = claimed()) {
            assertEquals(1, content(left.orElseThrow()));
        }
    }

    @Test
    void shouldRefuseAFileWhoseLengthCanChange() throws IOException {
        try (KeeperConnection agent = claimed();
                MemoryFile plain = MemoryFile.create("plain", LENGTH)) {
            assertThrows(IOException.class, () -> agent.keep(plain.fd()));
            agent.drop();
        }
    }

    @Test
    void shouldGoOnWithItsHolderWhateverOthersDo() throws IOException {
        int memory = memory(1);
        try (KeeperConnection agent = claimed()) {
            agent.keep(memory);
            for (int i = 0; i < 20; i++) {
                // More than it keeps open at once.
                var _ = connect();
            }
            agent.keep(memory);
        }
        close(memory);
    }

    @Test
    void shouldLetNoOtherUserConnect() throws IOException {
        assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(keeper.path())));
    }

    @Test
    void shouldNotReplaceAKeeperThatListens() {
        IOException refused = assertThrows(IOException.class, () -> Keeper.listen(keeper.path()));
        assertTrue(String.valueOf(refused.getMessage()).contains("a process listens there"), refused.getMessage());
    }
}
