package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Answer;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.PagedRam;
import io.farpage.it.harness.Pages;
import io.farpage.it.harness.ProcFs;
import io.farpage.linux.Errno;
import io.farpage.linux.FileIo;
import io.farpage.linux.Libc;
import io.farpage.linux.PosixException;
import io.farpage.linux.Sockets;
import io.farpage.linux.UnixSockets;
import io.farpage.linux.uffd.MemoryFile;
import io.farpage.linux.uffd.Userfaultfd;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The socket on which a VMM hands its memory over: a peer that sends nonsense, slowly, or to the wrong path stops no
 * other VMM.
 */
@Tag("processes")
class HostileHandoffTest {
    private static final int PAGES = 64;
    private static final long BYTES = PAGES * 4096L;
    private static final Cluster cluster = Cluster.start();

    private final Guests guests = new Guests(cluster, "a", "b");
    private final Errno errno = Errno.create();

    @TempDir
    private Path directory = Path.of("");

    @BeforeAll
    static void startNodes() {
        cluster.launchAgent("a", Map.of("pool.exported", "16MiB"));
        cluster.openAgent("b", Map.of("pool.exported", "16MiB"));
        cluster.awaitAllLinks();
    }

    @AfterAll
    static void stopNodes() {
        cluster.close();
    }

    @NeedsUserfaultfd
    @ParameterizedTest
    @ValueSource(strings = {"null", "[null]", "[[]]", "[{}]", "{}", "0", "\"]\"", "[{\"size\":null}]"})
    void shouldRefuseJsonThatIsNotAMemoryLayoutAndServeTheNext(String message) {
        guests.attach("nonsense", socket(), BYTES, BYTES);
        try {
            String answer = sendAndReadAnswer(message);
            assertTrue(answer.contains("memory region"), answer);
            assertEquals("waiting", guests.status("nonsense").get("state").asString());
            serveProperly("nonsense");
        } finally {
            guests.drop("nonsense");
        }
    }

    @NeedsUserfaultfd
    @Test
    void shouldServeAVmmWhileManyOthersSendTheirMessagesByteByByte() throws Exception {
        guests.attach("slow", socket(), BYTES, BYTES);
        int before = ProcFs.descriptors(agent());
        List<Integer> slow = new ArrayList<>();
        try {
            for (int i = 0; i < 20; i++) {
                slow.add(connect());
                sendBytes(slow.getLast(), "[");
            }
            // One after the other they would take 5 s each.
            Deadlines.Wait wait = Deadlines.begin("a proper VMM is served", Duration.ofSeconds(5));
            serveProperly("slow");
            wait.check();
        } finally {
            slow.forEach(fd -> FileIo.close(errno, fd));
            guests.drop("slow");
        }
        await("no descriptor stays", Deadlines.SHORT).until(() -> ProcFs.descriptors(agent()) <= before);
    }

    @NeedsUserfaultfd
    @Test
    void shouldGiveAMessageOneDeadlineHoweverManyPiecesItComesIn() throws Exception {
        guests.attach("dribble", socket(), BYTES, BYTES);
        int connection = connect();
        try {
            // A deadline for each piece would never be over.
            Deadlines.Wait wait = Deadlines.begin("the refusal of a message in pieces", Deadlines.SHORT);
            String answer = "";
            while (answer.isEmpty()) {
                wait.check();
                sendBytes(connection, " ");
                answer = readAnswer(connection, Duration.ofSeconds(1));
            }
            assertTrue(answer.contains("within 5 s"), answer);
            serveProperly("dribble");
        } finally {
            FileIo.close(errno, connection);
            guests.drop("dribble");
        }
    }

    @Test
    void shouldRefuseASocketWithAFullListenerWhileOthersAttach() {
        int listener = Sockets.openUnix(errno);
        List<Integer> waiting = new ArrayList<>();
        try {
            UnixSockets.bind(errno, listener, socket());
            Sockets.listen(errno, listener, 0);
            waiting.add(connect());
            Deadlines.Wait wait = Deadlines.begin("an attach beside the one that hangs", Deadlines.SHORT);
            Thread hung = Thread.ofPlatform().daemon().start(() -> {
                Answer refused = guests.tryAttach("full", attach(socket()));
                assertTrue(refused.problem().detail().contains("is in use"), refused.toString());
            });
            guests.tryAttach("beside", attach(directory.resolve("other"))).expect(200);
            wait.check();
            await("the attach to the full socket is answered", Deadlines.SHORT).until(() -> !hung.isAlive());
            assertTrue(guests.tryAttach("full", attach(socket()))
                    .expect(400)
                    .problem()
                    .detail()
                    .contains("in use"));
        } finally {
            waiting.forEach(fd -> FileIo.close(errno, fd));
            FileIo.close(errno, listener);
            guests.drop("beside");
            guests.drop("full");
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"fifo", "character device", "file", "directory", "symlink to a stale socket", "dangling symlink"
            })
    void shouldLeaveWhatIsNoSocketOfItsOwnAtThePath(String what) throws Exception {
        Path stale = directory.resolve("stale");
        makeStale(stale);
        make(what, stale);
        guests.tryAttach("paths", attach(socket())).expect(400);
        assertTrue(Files.exists(socket(), LinkOption.NOFOLLOW_LINKS), what + " is gone");
        assertTrue(Files.exists(stale, LinkOption.NOFOLLOW_LINKS), "the target of the symlink is gone");
        assertFalse(Files.exists(directory.resolve("nothing"), LinkOption.NOFOLLOW_LINKS), "made through the symlink");
        guests.drop("paths");
    }

    @NeedsUserfaultfd
    @Test
    void shouldReplaceAStaleSocketAndKeepItsOwnFromOtherUsers() throws Exception {
        makeStale(socket());
        guests.attach("stale", socket(), BYTES, BYTES);
        try {
            assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(socket())));
            serveProperly("stale");
        } finally {
            guests.drop("stale");
        }
    }

    @NeedsUserfaultfd
    @Test
    void shouldEscapeControlCharactersOfAMessageInTheLog() {
        guests.attach("forged", socket(), BYTES, BYTES);
        try {
            String line = "2026-01-01T00:00:00.000Z ERROR PageAgent - forged";
            String json = "[{\"base_host_virt_addr\":4096,\"size\":%s,\"offset\":0}]";
            for (String size : List.of("\"\\r\\n" + line + "\"", "\"\\u001b[31m\\u2028" + line + "\"")) {
                String answer = sendAndReadAnswer(json.formatted(size), List.of());
                assertTrue(answer.contains("forged") && answer.strip().lines().count() == 1, answer);
            }
            try (Userfaultfd uffd = Userfaultfd.open(0);
                    MemoryFile file = MemoryFile.create("x\n" + line, 4096)) {
                String answer = sendAndReadAnswer(json.formatted(BYTES), List.of(uffd.fd(), file.fd()));
                assertTrue(answer.contains("forged") && answer.strip().lines().count() == 1, answer);
            }
            String log = cluster.process("a").process().err();
            assertTrue(log.lines().noneMatch(l -> l.startsWith(line)), log);
            assertFalse(log.contains("\u001b"), log);
        } finally {
            guests.drop("forged");
        }
    }

    /** The limit of local memory would never hold. */
    @NeedsUserfaultfd
    @Test
    void shouldRefuseAMemoryFileThatNoPageCanBeEvictedFrom() {
        guests.attach("reading", socket(), BYTES, BYTES);
        String json = "[{\"base_host_virt_addr\":1048576,\"size\":%d,\"offset\":0}]".formatted(BYTES);
        try (Userfaultfd uffd = Userfaultfd.open(0);
                MemoryFile file = MemoryFile.create("ram", BYTES);
                MemoryFile forReading = MemoryFile.adopt(openForReading("/proc/self/fd/" + file.fd()))) {
            String answer = sendAndReadAnswer(json, List.of(uffd.fd(), forReading.fd()));
            assertTrue(answer.contains("descriptor 2 is open for reading alone; open it with O_RDWR"), answer);
            serveProperly("reading");
        } finally {
            guests.drop("reading");
        }
    }

    /** Its descriptors are a userfaultfd, a guest_memfd and the memory of a bitmap; memfds stand for the last two. */
    @NeedsUserfaultfd
    @Test
    void shouldRefuseASecretFreeVmByName() {
        guests.attach("secret", socket(), BYTES, BYTES);
        String json = ("[{\"base_host_virt_addr\":1048576,\"size\":%d,\"offset\":0,\"page_size\":4096,"
                        + "\"page_size_kib\":4096,\"gpa_start\":0,\"is_guest_memfd\":true}]")
                .formatted(BYTES);
        try (Userfaultfd uffd = Userfaultfd.open(Userfaultfd.FEATURE_EVENT_REMOVE);
                MemoryFile memory = MemoryFile.create("guest_memfd", BYTES);
                MemoryFile bitmap = MemoryFile.create("bitmap", 4096)) {
            String answer = sendAndReadAnswer(json, List.of(uffd.fd(), memory.fd(), bitmap.fd()));
            assertTrue(answer.contains("start a VM without secret_free"), answer);
            assertEquals(1, answer.strip().lines().count(), answer);
            serveProperly("secret");
        } finally {
            guests.drop("secret");
        }
    }

    /** A store to a clean page would be lost when the page is evicted, and a missing page would end the VMM. */
    @NeedsUserfaultfd
    @ParameterizedTest
    @CsvSource({"WP_ASYNC, 15, 1, use_sync_wp", "SIGBUS, 7, 0, open it without that feature"})
    void shouldRefuseAUserfaultfdThatHidesFaults(String feature, int bit, int files, String fix) {
        guests.attach("hiding", socket(), BYTES, BYTES);
        String json = "[{\"base_host_virt_addr\":1048576,\"size\":%d,\"offset\":0}]".formatted(BYTES);
        try (Userfaultfd uffd = open(1L << bit);
                MemoryFile file = MemoryFile.create("ram", BYTES)) {
            String answer =
                    sendAndReadAnswer(json, List.of(uffd.fd(), file.fd()).subList(0, 1 + files));
            assertTrue(answer.contains("descriptor 1, a userfaultfd, has UFFD_FEATURE_" + feature), answer);
            assertTrue(answer.contains(fix), answer);
            serveProperly("hiding");
        } finally {
            guests.drop("hiding");
        }
    }

    /** Whole pages of the space are evicted. */
    @NeedsUserfaultfd
    @Test
    void shouldRefuseToEvictPagesOfAnotherSize() {
        guests.attach("large", socket(), 2 << 20, 128 << 20, 2 << 20);
        String json =
                "[{\"base_host_virt_addr\":1048576,\"size\":%d,\"offset\":0,\"page_size\":4096}]".formatted(BYTES);
        try (Userfaultfd uffd = Userfaultfd.open(0);
                MemoryFile file = MemoryFile.create("ram", BYTES)) {
            String answer = sendAndReadAnswer(json, List.of(uffd.fd(), file.fd()));
            assertTrue(answer.contains("has pages of 4096 bytes, the space of 2097152"), answer);
            assertTrue(answer.contains("or send the userfaultfds without a memory file"), answer);
            assertEquals("waiting", guests.status("large").get("state").asString());
        } finally {
            guests.drop("large");
        }
    }

    private static Userfaultfd open(long features) {
        try {
            return Userfaultfd.open(features);
        } catch (PosixException e) {
            return Assumptions.abort("the kernel lacks the feature: " + e.getMessage());
        }
    }

    private int openForReading(String path) {
        MethodHandle open = Libc.capturing("open", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT));
        try (Arena arena = Arena.ofConfined()) {
            return errno.require((int) open.invokeExact(errno.segment(), arena.allocateFrom(path), 0), "open");
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    private static void makeStale(Path path) {
        Errno errno = Errno.create();
        int fd = Sockets.openUnix(errno);
        UnixSockets.bind(errno, fd, path);
        FileIo.close(errno, fd);
    }

    private void make(String what, Path stale) throws IOException, InterruptedException {
        switch (what) {
            case "fifo" -> run("mkfifo", socket().toString());
            case "character device" -> run("mknod", socket().toString(), "c", "1", "3");
            case "file" -> Files.writeString(socket(), "content");
            case "directory" -> Files.createDirectory(socket());
            case "symlink to a stale socket" -> Files.createSymbolicLink(socket(), stale);
            case "dangling symlink" -> Files.createSymbolicLink(socket(), directory.resolve("nothing"));
            default -> throw new IllegalArgumentException(what);
        }
    }

    private static void run(String... command) throws IOException, InterruptedException {
        int exit = new ProcessBuilder(command).inheritIO().start().waitFor();
        Assumptions.assumeTrue(exit == 0, () -> String.join(" ", command) + ": exit " + exit);
    }

    private String attach(Path path) {
        return "{\"socket\": \"%s\", \"sizeBytes\": %d, \"homes\": [\"b\"]}".formatted(path, BYTES);
    }

    private void serveProperly(String space) {
        try (PagedRam ram = PagedRam.handOver(socket(), PAGES)) {
            for (int page = 0; page < PAGES; page += 9) {
                ram.write(page, Pages.of(1, page, 4096));
                assertArrayEquals(Pages.of(1, page, 4096), ram.read(page));
            }
        }
        guests.awaitEnded(space);
    }

    private String sendAndReadAnswer(String message) {
        return sendAndReadAnswer(message, List.of());
    }

    private String sendAndReadAnswer(String message, List<Integer> descriptors) {
        int connection = connect();
        try {
            UnixSockets.send(errno, connection, message.getBytes(UTF_8), descriptors);
            return readAnswer(connection, Deadlines.of(Deadlines.LONG));
        } finally {
            FileIo.close(errno, connection);
        }
    }

    private void sendBytes(int connection, String text) {
        UnixSockets.send(errno, connection, text.getBytes(UTF_8), List.of());
    }

    /** What the agent says; empty if it says nothing in time. */
    private String readAnswer(int connection, Duration timeout) {
        try (Arena arena = Arena.ofConfined()) {
            Sockets.setReceiveTimeout(errno, connection, timeout);
            MemorySegment answer = arena.allocate(4096);
            int length = UnixSockets.receive(errno, connection, answer, 0).bytes();
            return new String(answer.asSlice(0, Math.max(0, length)).toArray(JAVA_BYTE), UTF_8);
        }
    }

    private int connect() {
        int fd = Sockets.openUnix(errno);
        Sockets.setBlocking(errno, fd, true);
        assertEquals(0, UnixSockets.connect(errno, fd, socket()));
        return fd;
    }

    private long agent() {
        return cluster.process("a").process().pid();
    }

    private Path socket() {
        return directory.resolve("socket");
    }
}
