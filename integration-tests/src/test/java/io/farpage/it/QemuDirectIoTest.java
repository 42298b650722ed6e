package io.farpage.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.ChildJvm;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.SharedRam;
import io.farpage.it.harness.Soak;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * A Linux guest in an unmodified QEMU with 64 of its 512 MiB resident reads a virtio-blk disk under memory pressure.
 * Every block of the disk carries its number and words that follow from it, and the guest compares every word. Each
 * case opens the disk in another way.
 */
@Tag("soak")
@NeedsUserfaultfd
class QemuDirectIoTest {
    private static final long MIB = 1 << 20;
    private static final long LOCAL_PAGES = 64 * MIB / 4096;
    private static final int DISK_BLOCKS = 32_768;
    private static final int MISSING = 77;
    private static final String STARTED = "direct-io: reads";
    private static final String RESULT = "direct-io: {";
    /** A boot takes some seconds, and half a minute on a loaded machine. */
    private static final Duration BOOT_TIMEOUT = Duration.ofMinutes(2);

    private static final int BOOTS = 3;
    private static final Path ROOT =
            Path.of(System.getProperty("farpage.root", "..")).toAbsolutePath();

    @TempDir
    private static Path image = Path.of("");

    private static Optional<SharedRam> library = Optional.empty();

    @SuppressWarnings("NullAway.Init") // set before all tests
    private static Cluster cluster;

    @SuppressWarnings("NullAway.Init")
    private static Guests guests;

    @TempDir
    private Path directory = Path.of("");

    private String space = "";

    @BeforeAll
    static void start() throws Exception {
        assumeTrue(
                Stream.of(System.getenv("PATH").split(":"))
                        .anyMatch(path -> Files.isExecutable(Path.of(path, "qemu-system-x86_64"))),
                "there is no qemu-system-x86_64; apt-get install qemu-system-x86");
        library = Optional.of(SharedRam.compile(image));
        prepareImage();
        cluster = Cluster.start();
        cluster.openAgent("a", Map.of("pool.staging", "32MiB"));
        // Two spaces: the room of the one before is still being released when the next guest is attached.
        cluster.openAgent("b", Map.of("pool.exported", "1100MiB", "pool.staging", "32MiB"));
        cluster.awaitAllLinks();
        guests = new Guests(cluster, "a", "b");
    }

    private static void prepareImage() throws InterruptedException {
        String prepare = ROOT.resolve("integration-tests/direct-io/prepare").toString();
        Map<String, String> environment = Optional.ofNullable(System.getenv("FARPAGE_FETCH_KERNEL"))
                .map(fetch -> Map.of("FARPAGE_FETCH_KERNEL", fetch))
                .orElse(Map.of());
        List<String> command = List.of(prepare, image.toString(), Integer.toString(DISK_BLOCKS));
        try (ChildJvm preparation = ChildJvm.launch("prepare", command, environment, image)) {
            awaitEnd(preparation, Duration.ofMinutes(2));
            int code = preparation.awaitEnd();
            assumeTrue(code != MISSING, preparation.err());
            assertEquals(0, code, preparation::err);
        }
    }

    @AfterAll
    static void stopNodes() {
        Optional.ofNullable(cluster).ifPresent(Cluster::close);
    }

    /**
     * A guest that hangs before its first process runs is started again. QEMU's TCG with a thread for each vCPU does
     * that now and then, with RAM of its own as well: a vCPU executes an instruction that the kernel on the other vCPU
     * has just patched, without end. A guest that hangs later fails the test.
     */
    @ParameterizedTest
    @CsvSource({"none, threads", "none, native", "none, io_uring", "writeback, threads"})
    @Timeout(value = 27, unit = TimeUnit.MINUTES)
    void shouldReadManyBlocksRightWhenPagesAreEvicted(String cache, String aio) throws Exception {
        for (int boot = 1; !boots(cache, aio, boot); boot++) {
            assertTrue(boot < BOOTS, "none of " + BOOTS + " boots has reached the first process");
        }
    }

    private boolean boots(String cache, String aio, int boot) throws Exception {
        space = "disk-" + cache + "-" + aio.replace('_', '-') + "-" + boot;
        Path socket = directory.resolve("socket-" + boot);
        guests.attach(space, socket, 512 * MIB, LOCAL_PAGES * 4096);
        Map<String, String> environment = Map.of("FARPAGE_SOCKET", socket.toString());
        int blocks = Soak.part(262_144);
        try (ChildJvm qemu = ChildJvm.launch("qemu", command(cache, aio, blocks), environment, directory)) {
            guests.awaitAttached(space);
            if (awaitStart(qemu)) {
                read(qemu, cache, aio, blocks, Duration.ofMinutes(20));
                return true;
            }
            System.out.println("boot " + boot + " has not reached the first process within " + BOOT_TIMEOUT + "\n"
                    + qemu.out() + qemu.err() + guests.status(space) + stacks(qemu.pid()));
        }
        guests.awaitEnded(space);
        guests.drop(space);
        return false;
    }

    private void read(ChildJvm qemu, String cache, String aio, int blocks, Duration timeout) throws Exception {
        if (!awaitEnd(qemu, timeout)) {
            throw new AssertionError("the guest has not powered off within " + timeout + "\n" + qemu.out() + qemu.err()
                    + guests.status(space) + stacks(qemu.pid()));
        }
        JsonNode result = result(qemu);
        assertEquals(0, result.get("differences").asInt(), qemu::out);
        assertTrue(result.get("blocks").asInt() >= blocks, result::toString);
        assertEquals(cache.equals("none"), qemu.err().contains("without O_DIRECT"), qemu::err);
        JsonNode status = guests.awaitEnded(space);
        System.out.println("cache=" + cache + " aio=" + aio + ": " + result + ", " + status.get("evictions")
                + " evictions, " + status.get("fetchedFaults") + " faults fetched, longest "
                + status.get("faultMaxNs") + " ns");
        assertFalse(status.get("pins").get("held").asBoolean(), status::toString);
        assertTrue(status.get("evictions").asLong() > LOCAL_PAGES, status::toString);
        assertTrue(status.get("peakResidentPages").asLong() <= LOCAL_PAGES, status::toString);
        assertEquals(0, status.get("lostPages").asInt(), status::toString);
    }

    private static JsonNode result(ChildJvm qemu) {
        assertEquals(0, qemu.awaitEnd(), () -> qemu.out() + qemu.err());
        String line = qemu.out()
                .lines()
                .filter(said -> said.startsWith(RESULT))
                .findFirst()
                .orElseThrow(() -> new AssertionError(qemu.out() + qemu.err()));
        return new JsonMapper().readTree(line.substring(RESULT.length() - 1));
    }

    private static List<String> command(String cache, String aio, int blocks) throws IOException {
        List<String> command = new ArrayList<>(
                List.of("env", "LD_PRELOAD=" + library.orElseThrow().library()));
        command.addAll(List.of("qemu-system-x86_64", "-m", "512", "-smp", "2", "-nodefaults", "-no-user-config"));
        command.addAll(List.of("-display", "none", "-no-reboot", "-serial", "stdio"));
        command.addAll(List.of("-object", "memory-backend-memfd,id=m,size=512M,share=on"));
        command.addAll(List.of("-machine", "q35,memory-backend=m"));
        command.addAll(Files.readAllLines(image.resolve("acceleration")));
        command.addAll(List.of("-kernel", image.resolve("vmlinuz").toString()));
        command.addAll(List.of("-initrd", image.resolve("initramfs.gz").toString()));
        command.addAll(List.of(
                "-append",
                "console=ttyS0 quiet panic=-1 mitigations=off nokaslr tsc=reliable cryptomgr.notests directio.blocks="
                        + blocks));
        command.addAll(List.of(
                "-drive",
                "if=none,id=d,format=raw,readonly=on,file=%s,cache=%s,aio=%s"
                        .formatted(image.resolve("disk"), cache, aio)));
        command.addAll(List.of("-device", "virtio-blk-pci,drive=d"));
        return command;
    }

    /** Whether the guest has said that it reads, or has ended before. */
    private static boolean awaitStart(ChildJvm qemu) throws InterruptedException {
        Deadlines.Wait wait = Deadlines.begin("the first process of the guest", BOOT_TIMEOUT);
        while (qemu.isAlive() && !qemu.out().contains(STARTED)) {
            if (wait.isOver()) {
                return false;
            }
            Thread.sleep(50);
        }
        return true;
    }

    private static boolean awaitEnd(ChildJvm process, Duration timeout) throws InterruptedException {
        Deadlines.Wait wait = Deadlines.begin("the end of " + process.name(), timeout);
        while (process.isAlive()) {
            if (wait.isOver()) {
                return false;
            }
            Thread.sleep(50);
        }
        return true;
    }

    /**
     * Where the threads of a process are in the kernel: tells a vCPU that waits for a page from a guest that is slow.
     */
    private static String stacks(long pid) throws IOException {
        StringBuilder stacks = new StringBuilder();
        try (Stream<Path> tasks = Files.list(Path.of("/proc", Long.toString(pid), "task"))) {
            for (Path task : tasks.toList()) {
                stacks.append('\n').append(Files.readString(task.resolve("comm")));
                stacks.append(Files.readString(task.resolve("stack")));
            }
        }
        return stacks.toString();
    }

    @AfterEach
    void drop() {
        if (!space.isEmpty()) {
            guests.drop(space);
        }
    }
}
