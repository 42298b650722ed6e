package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import io.farpage.bench.Main;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.ChildJvm;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.PagedRam;
import io.farpage.it.harness.Pages;
import io.farpage.it.harness.ProcFs;
import io.farpage.it.harness.Soak;
import io.farpage.linux.Errno;
import io.farpage.linux.EventFd;
import io.farpage.linux.FileIo;
import io.farpage.linux.Sockets;
import io.farpage.linux.UnixSockets;
import io.farpage.linux.uffd.MemoryFile;
import io.farpage.linux.uffd.Userfaultfd;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;

/** A VMM that is broken, hostile or suddenly gone hurts only itself, and leaves nothing behind. */
@NeedsUserfaultfd
@Tag("processes")
class HostileVmmTest {
    private static final int PAGES = 64;
    private static final long BYTES = PAGES * 4096L;
    private static final int CYCLES = Soak.part(1_000);
    private static final Cluster cluster = Cluster.start();

    private final Guests guests = new Guests(cluster, "a", "b");
    private final Errno errno = Errno.create();

    @TempDir
    private Path directory = Path.of("");

    @BeforeAll
    static void startNodes() {
        cluster.launchAgent("a", Map.of("pool.exported", "64MiB"));
        cluster.openAgent("b", Map.of("pool.exported", "64MiB"));
        cluster.awaitAllLinks();
    }

    @AfterAll
    static void stopNodes() {
        cluster.close();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            garbage ]                                                                    | no JSON array
            {"base_host_virt_addr":0}]                                                   | no JSON array
            []                                                                           | 0 memory regions
            [{"base_host_virt_addr":4096,"size":4096}]                                   | offset
            [{"base_host_virt_addr":4097,"size":4096,"offset":0}] \
            | base_host_virt_addr 4097 is not 0 or a positive multiple
            [{"base_host_virt_addr":4096,"size":100,"offset":0}] | size 100 is not 0 or a positive multiple
            [{"base_host_virt_addr":4096,"size":-4096,"offset":0}] | size -4096 is not 0 or a positive multiple
            [{"base_host_virt_addr":4096,"size":0,"offset":0}]                           | has size 0
            [{"base_host_virt_addr":4096,"size":4096,"offset":262144}]                   | reaches beyond the space
            [{"base_host_virt_addr":4096,"size":9223372036854771712,"offset":4096}]      | reaches beyond the space
            [{"base_host_virt_addr":9223372036854771712,"size":4096,"offset":0}] | is not an address of a process
            [{"base_host_virt_addr":4096,"size":4096,"offset":0,"page_size":2097152}] | of the page size 2097152
            [{"base_host_virt_addr":4096,"size":8192,"offset":0},\
            {"base_host_virt_addr":8192,"size":4096,"offset":8192}] | host addresses
            [{"base_host_virt_addr":4096,"size":8192,"offset":0},\
            {"base_host_virt_addr":16384,"size":4096,"offset":4096}] | offsets
            [{"base_host_virt_addr":4096,"size":4096,"offset":0,"userfaultfd":"x"}]      | no JSON array
            [{"base_host_virt_addr":4096,"size":4096,"offset":0,"userfaultfd":-1}] | userfaultfd -1; 0 to 15 are allowed
            [{"base_host_virt_addr":4096,"size":4096,"offset":0,"userfaultfd":16}] | userfaultfd 16; 0 to 15 are allowed
            [{"base_host_virt_addr":4096,"size":4096,"offset":0,"userfaultfd":1}]        | no region names userfaultfd 0
            """)
    void shouldRefuseAMessageAndSayWhatIsWrongWithIt(String json, String said) {
        guests.attach("message", socket(), BYTES, BYTES);
        try (Userfaultfd uffd = Userfaultfd.open(0)) {
            String answer = send(json, List.of(uffd.fd()));
            assertTrue(answer.contains(said), answer);
            awaitDetail("message", said);
            serveProperly("message");
        } finally {
            guests.drop("message");
        }
    }

    /**
     * The pager reads the file on the shard's thread: a file server that does not answer would stop every guest of the
     * shard.
     */
    @Test
    void shouldRefuseAMemoryFileWhosePagesAreNotMemory() throws IOException {
        String json = "[{\"base_host_virt_addr\":4096,\"size\":%d,\"offset\":0}]".formatted(BYTES);
        Path disk = Files.createFile(directory.resolve("disk")).toRealPath();
        guests.attach("on-disk", socket(), BYTES, BYTES);
        try (Userfaultfd uffd = Userfaultfd.open(0);
                FileChannel file = FileChannel.open(disk, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            file.write(ByteBuffer.allocate(1), BYTES - 1);
            assumeFalse(Files.getFileStore(disk).type().equals("tmpfs"), "the tests' temporary directory is on tmpfs");
            String answer = send(json, List.of(uffd.fd(), ProcFs.descriptorOf(disk)));
            assertTrue(answer.contains("is " + disk + ", not a memory file: send a memfd"), answer);
            serveProperly("on-disk");
        } finally {
            guests.drop("on-disk");
        }
    }

    @Test
    void shouldRefuseDescriptorsThatAreSomethingElse() {
        String json = "[{\"base_host_virt_addr\":4096,\"size\":%d,\"offset\":0}]".formatted(BYTES);
        guests.attach("descriptors", socket(), BYTES, BYTES);
        int before = ProcFs.descriptors(agent());
        try (Userfaultfd uffd = Userfaultfd.open(0);
                EventFd event = new EventFd();
                MemoryFile small = MemoryFile.create("small", 4096)) {
            send(json, List.of());
            awaitDetail("descriptors", "0 descriptors came");
            send(json, List.of(event.fd()));
            awaitDetail("descriptors", "descriptor 1 is anon_inode:[eventfd], not a userfaultfd");
            send(json, List.of(uffd.fd(), event.fd()));
            awaitDetail("descriptors", "descriptor 2 is anon_inode:[eventfd], not a memory file");
            send(json, List.of(uffd.fd(), small.fd()));
            awaitDetail("descriptors", "has 4096 bytes, the regions reach up to 262144");
            send(json, List.of(uffd.fd(), small.fd(), event.fd(), event.fd()));
            awaitDetail("descriptors", "4 descriptors came");
            send("", List.of());
            awaitDetail("descriptors", "closed the connection without a message");
            await("no descriptor stays", Deadlines.SHORT).until(() -> ProcFs.descriptors(agent()) <= before);
            serveProperly("descriptors");
        } finally {
            guests.drop("descriptors");
        }
    }

    @Test
    void shouldRefuseUserfaultfdsThatAreNotThoseOfTheRegions() {
        String region = "{\"base_host_virt_addr\":%d,\"size\":4096,\"offset\":%d,\"userfaultfd\":%d}";
        String json = "[" + region.formatted(4096, 0, 0) + "," + region.formatted(8192, 4096, 1) + "]";
        guests.attach("several", socket(), BYTES, BYTES);
        int before = ProcFs.descriptors(agent());
        try (Userfaultfd one = Userfaultfd.open(0);
                Userfaultfd other = Userfaultfd.open(0);
                EventFd event = new EventFd();
                MemoryFile file = MemoryFile.create("several", BYTES)) {
            assertRefused("several", json, List.of(one.fd()), "1 descriptors came with the message; send the 2");
            assertRefused("several", json, List.of(one.fd(), one.fd()), "descriptor 2 is the same userfaultfd as");
            assertRefused("several", json, List.of(one.fd(), event.fd()), "descriptor 2 is anon_inode:[eventfd]");
            assertRefused("several", json, List.of(one.fd(), file.fd(), other.fd()), "not a userfaultfd");
            assertRefused("several", json, List.of(one.fd(), other.fd(), event.fd()), "not a memory file");
            assertRefused("several", json, Collections.nCopies(32, one.fd()), "32 descriptors came with the message");
            String between = "[" + region.formatted(4096, 0, 0) + "," + region.formatted(8192, 4096, 1) + ","
                    + region.formatted(16384, 8192, 0) + "]";
            assertRefused("several", between, List.of(one.fd(), other.fd()), "lie between one another");
            assertRefused(
                    "several",
                    json,
                    List.of(one.fd(), other.fd(), file.fd()),
                    "2 userfaultfds need a limit of 128 pages or more, and it is 64");
            await("no descriptor stays", Deadlines.SHORT).until(() -> ProcFs.descriptors(agent()) <= before);
            serveProperly("several");
        } finally {
            guests.drop("several");
        }
    }

    private void assertRefused(String space, String json, List<Integer> descriptors, String said) {
        String answer = send(json, descriptors);
        assertTrue(answer.contains(said), answer);
        awaitDetail(space, said);
    }

    @Test
    void shouldNotWaitForEverForAVmmThatSaysNothing() {
        guests.attach("silent", socket(), BYTES, BYTES);
        int silent = connect();
        try {
            awaitDetail("silent", "no message came within 5 s");
            serveProperly("silent");
        } finally {
            FileIo.close(errno, silent);
            guests.drop("silent");
        }
    }

    @Test
    void shouldRefuseAnAttachmentThatCannotBe() {
        String attach = "{\"socket\": \"%s\", \"sizeBytes\": %d, \"localBytes\": %d}";
        guests.tryAttach("refused", attach.formatted("/nonexistent/socket", BYTES, BYTES))
                .expect(400);
        guests.tryAttach("refused", attach.formatted(socket(), BYTES, 4096)).expect(400);
        guests.tryAttach("refused", "{\"socket\": \"%s\"}".formatted("x".repeat(200)))
                .expect(400);
        guests.tryAttach("unheard-of", "{\"socket\": \"%s\"}".formatted(socket()))
                .expect(404);
        guests.attach("refused", socket(), BYTES, BYTES);
        try {
            guests.tryAttach("refused", attach.formatted(socket(), BYTES, BYTES))
                    .expect(409);
            cluster.agent("a").page("refused", 0).expect(409);
            new Guests(cluster, "b", "b")
                    .tryAttach("refused", "{\"socket\": \"%s.b\"}".formatted(socket()))
                    .expect(409);
        } finally {
            guests.drop("refused");
        }
    }

    @Test
    @Tag("soak")
    void shouldServeAnotherGuestWhenVmmsAreKilledDuringFaults() {
        killAmidFaults(4);
    }

    @Test
    @Tag("soak")
    void shouldServeAnotherGuestWhenVmmsWithOnePagerDieDuringFaults() {
        killAmidFaults(1);
    }

    private void killAmidFaults(int pagers) {
        for (int round = 0; round < 5; round++) {
            guests.attach("killed", socket(), 16 << 20, 2 << 20);
            try (ChildJvm stress = ChildJvm.start(
                    "stress",
                    Main.class,
                    List.of(
                            "stress",
                            "--socket=" + socket(),
                            "--memory=16MiB",
                            "--pagers=" + pagers,
                            "--operations=100000000"))) {
                guests.awaitAttached("killed");
                guests.awaitFaults("killed", 1_000);
                stress.kill();
                JsonNode status = guests.awaitEnded("killed");
                assertTrue(status.get("detail").asString().contains("VMM has ended"), status.toString());
            } finally {
                guests.drop("killed");
            }
        }
        assertNothingLeft();
    }

    @Test
    @Tag("soak")
    void shouldLeakNothingInAThousandAttachments() {
        guests.attach("cycles", socket(), BYTES, BYTES);
        serveProperly("cycles");
        int descriptors = ProcFs.descriptors(agent());
        int threads = ProcFs.threads(agent());
        String before = openThings();
        for (int i = 0; i < CYCLES; i++) {
            guests.attach("cycles", socket(), BYTES, BYTES);
            if (i % 4 == 0) {
                serveProperly("cycles");
            }
            guests.drop("cycles");
        }
        await("descriptors and threads as before", Duration.ofSeconds(20))
                .untilAsserted(() -> assertTrue(
                        ProcFs.descriptors(agent()) <= descriptors + 4 && ProcFs.threads(agent()) <= threads + 4,
                        () -> "before: " + before + "\nafter:  " + openThings()));
        assertNothingLeft();
    }

    private String openThings() {
        return ProcFs.descriptorKinds(agent()) + ", threads "
                + ProcFs.threadNames(agent()).stream().sorted().toList();
    }

    /** All staging frames are free again but those that hold the pool headers of peers. */
    private void assertNothingLeft() {
        await("staging frames are free", Deadlines.SHORT)
                .until(() -> freeFrames(
                                cluster.agent("a").rest().get("/metrics").text())
                        == freeFrames(cluster.agent("b").rest().get("/metrics").text()));
    }

    private static double freeFrames(String metrics) {
        return metrics.lines()
                .filter(line -> line.startsWith("farpage_agent_pool_staging_frames_free "))
                .mapToDouble(line -> Double.parseDouble(line.substring(line.indexOf(' '))))
                .findFirst()
                .orElseThrow();
    }

    /** A proper VMM after an improper one: it is served. */
    private void serveProperly(String space) {
        try (PagedRam ram = PagedRam.handOver(socket(), PAGES)) {
            for (int page = 0; page < PAGES; page += 9) {
                ram.write(page, Pages.of(1, page, 4096));
                assertArrayEquals(Pages.of(1, page, 4096), ram.read(page));
            }
        }
        assertEquals(
                "its VMM has unmapped its memory",
                guests.awaitEnded(space).get("detail").asString());
    }

    private void awaitDetail(String space, String said) {
        await("'" + said + "'", Duration.ofSeconds(20))
                .pollInterval(Duration.ofMillis(5))
                .until(() -> guests.status(space).get("detail").asString(), detail -> detail.contains(said));
        assertEquals("waiting", guests.status(space).get("state").asString());
    }

    /** Sends a message, or nothing if it is empty, and returns what the agent says to it. */
    private String send(String message, List<Integer> descriptors) {
        int connection = connect();
        try (Arena arena = Arena.ofConfined()) {
            if (message.isEmpty()) {
                return "";
            }
            UnixSockets.send(errno, connection, message.getBytes(StandardCharsets.UTF_8), descriptors);
            Sockets.setReceiveTimeout(errno, connection, Deadlines.of(Deadlines.LONG));
            MemorySegment answer = arena.allocate(4096);
            int length = UnixSockets.receive(errno, connection, answer, 0).bytes();
            assertTrue(length >= 0, () -> "error " + -length);
            return new String(answer.asSlice(0, length).toArray(JAVA_BYTE), StandardCharsets.UTF_8);
        } finally {
            FileIo.close(errno, connection);
        }
    }

    private int connect() {
        int fd = Sockets.openUnix(errno);
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
