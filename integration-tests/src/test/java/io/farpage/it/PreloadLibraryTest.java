package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.it.harness.ChildJvm;
import io.farpage.it.harness.HandoffListener;
import io.farpage.it.harness.SharedRam;
import io.farpage.it.harness.TinyPager;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code libfarpage-preload.so} in a process that knows nothing of it. */
class PreloadLibraryTest {
    private static final String QEMUS_NAME = SharedRam.QEMUS_NAME;
    private static final int PAGES = 50;
    private static final int LARGE = 8192; // 32 MiB

    @TempDir
    private static Path built = Path.of("");

    private static Optional<SharedRam> program = Optional.empty();

    @TempDir
    private Path directory = Path.of("");

    @BeforeAll
    static void compile() {
        program = Optional.of(SharedRam.compile(built));
    }

    @Test
    void shouldHandOverMemoryThatCanBePagedInAndOut() {
        try (HandoffListener listener = new HandoffListener(socket());
                ChildJvm process = start(QEMUS_NAME, PAGES, Map.of(), "read", "rounds");
                TinyPager pager = accept(listener)) {
            assertEquals(0, process.awaitEnd(), () -> process.out() + process.err());
            assertEquals("read\nrounds\n", process.out());
            assertEquals(4 * PAGES, pager.faults());
            assertEquals(4 * PAGES - 1, pager.evictions());
        }
    }

    /** Cut between huge pages where there are enough of them: of four parts of 9 MiB none has less than 2 MiB. */
    @ParameterizedTest
    @CsvSource({"2, 50, '25 25'", "3, 50, '16 17 17'", "4, 2304, '512 512 512 768'", "16, 5, '1 1 1 1 1'"})
    void shouldCutTheMemoryIntoParts(int parts, int pages, String sizes) {
        Map<String, String> environment = Map.of("FARPAGE_PAGERS", Integer.toString(parts));
        try (HandoffListener listener = new HandoffListener(socket());
                ChildJvm process = start(QEMUS_NAME, pages, environment, "read", "rounds");
                HandoffListener.Parts all = listener.receive().pageParts(pages)) {
            assertEquals(0, process.awaitEnd(), () -> process.out() + process.err());
            assertEquals("read\nrounds\n", process.out());
            assertEquals(sizes, all.pagers().stream().map(p -> "" + p.pages()).collect(Collectors.joining(" ")));
            for (TinyPager pager : all.pagers()) {
                // A part of one page keeps it.
                long rounds = pager.pages() == 1 ? 1 : 4;
                assertEquals(rounds * pager.pages(), pager.faults());
                assertEquals(rounds * pager.pages() - 1, pager.evictions());
            }
        }
    }

    /** By every name that a program may call open(2) by, and by fcntl(2). */
    @Test
    void shouldOpenFilesWithoutDirectIoAndSaySoOnce() {
        try (HandoffListener listener = new HandoffListener(socket());
                ChildJvm process = start(QEMUS_NAME, PAGES, Map.of(), "direct", "read", "direct");
                TinyPager pager = accept(listener)) {
            assertEquals(0, process.awaitEnd(), () -> process.out() + process.err());
            assertEquals("direct: 0 of 9\ndirect\nread\ndirect: 0 of 9\ndirect\n", process.out());
            assertEquals(1, process.err().split("without O_DIRECT", -1).length - 1, process.err());
            assertEquals(PAGES, pager.faults());
        }
    }

    @Test
    void shouldRefuseDirectIoIfToldTo() {
        try (HandoffListener listener = new HandoffListener(socket());
                ChildJvm process = start(QEMUS_NAME, PAGES, Map.of("FARPAGE_DIRECT_IO", "refuse"), "direct", "read");
                TinyPager pager = accept(listener)) {
            assertEquals(0, process.awaitEnd(), () -> process.out() + process.err());
            assertEquals("direct: 0 of 0\ndirect\nread\n", process.out());
            assertTrue(process.err().contains("is refused: it is opened with O_DIRECT"), process.err());
            assertEquals(PAGES, pager.faults());
        }
    }

    @Test
    void shouldTakeDirectIoFromInheritedDescriptors() throws IOException {
        Path disk = Files.write(directory.resolve("disk"), new byte[4096]);
        List<String> command =
                new ArrayList<>(List.of(built.resolve("shared_ram").toString(), "with-direct", disk.toString()));
        command.addAll(command(QEMUS_NAME, PAGES, "inherited", "read", "inherited"));
        try (HandoffListener listener = new HandoffListener(socket());
                ChildJvm process = launch(command, Map.of());
                TinyPager pager = accept(listener)) {
            assertEquals(0, process.awaitEnd(), () -> process.out() + process.err());
            assertEquals("inherited: 0\ninherited\nread\ninherited: 0\ninherited\n", process.out());
            assertTrue(process.err().contains("a file that was open already is used without O_DIRECT"), process.err());
            assertEquals(PAGES, pager.faults());
        }
    }

    @Test
    void shouldTellTheAgentThatTheMemoryWasUnmapped() {
        try (HandoffListener listener = new HandoffListener(socket());
                ChildJvm process = start(QEMUS_NAME, PAGES, Map.of(), "read", "unmap");
                TinyPager pager = accept(listener)) {
            assertEquals(0, process.awaitEnd(), () -> process.out() + process.err());
            assertEquals("read\nunmap\n", process.out());
            // The process goes on when the event has been read, which is a moment before it is looked at.
            await("the pager sees the unmapping", Duration.ofSeconds(5)).until(pager::sawUnmapping);
        }
    }

    /** The kernel reports MADV_REMOVE before it removes the pages. It does not report a punched hole. */
    @ParameterizedTest
    @ValueSource(strings = {"remove", "punch", "balloon"})
    void shouldTellTheAgentOfPagesBeforeTheyAreGivenUp(String how) {
        try (HandoffListener listener = new HandoffListener(socket());
                ChildJvm process = start(QEMUS_NAME, PAGES, Map.of(), "read", how, "zeros");
                TinyPager pager = accept(listener)) {
            assertEquals(0, process.awaitEnd(), () -> process.out() + process.err());
            assertEquals("read\n" + how + "\nzeros\n", process.out());
            assertEquals(PAGES, pager.removals());
            assertEquals(2L * PAGES, pager.faults(), "each page is asked for again");
        }
    }

    /** The kernel reports a removal, but leaves the pages of shared memory in the file. */
    @ParameterizedTest
    @ValueSource(strings = {"free", "drop", "straddle"})
    void shouldKeepPagesThatAnAdviceDoesNotRemove(String how) {
        try (HandoffListener listener = new HandoffListener(socket());
                ChildJvm process = start(QEMUS_NAME, PAGES, Map.of(), "rounds", how, "kept");
                TinyPager pager = accept(listener)) {
            assertEquals(0, process.awaitEnd(), () -> process.out() + process.err());
            assertEquals("rounds\n" + how + "\nkept\n", process.out());
            assertEquals(0, pager.removals());
        }
    }

    /** A hole punched into a huge page that the kernel cannot split leaves zeros in the file. */
    @Test
    void shouldKeepHugePagesOffWhenTheVmmAsksForThem() {
        try (HandoffListener listener = new HandoffListener(socket());
                ChildJvm process = start(QEMUS_NAME, PAGES, Map.of(), "huge", "read");
                TinyPager pager = accept(listener)) {
            assertEquals(0, process.awaitEnd(), () -> process.out() + process.err());
            assertEquals("huge pages: off\nhuge\nread\n", process.out());
            assertEquals(PAGES, pager.faults());
        }
    }

    /** Another process would map it, and find zeros where this one faults. */
    @Test
    void shouldNotSendTheMemoryToAnotherProcess() {
        try (HandoffListener listener = new HandoffListener(socket());
                ChildJvm process = start(QEMUS_NAME, PAGES, Map.of(), "send", "read");
                TinyPager pager = accept(listener)) {
            assertEquals(0, process.awaitEnd(), () -> process.out() + process.err());
            assertEquals("send\nread\n", process.out());
            assertTrue(process.err().contains("guest RAM is not sent to another process"), process.err());
            assertEquals(PAGES, pager.faults());
        }
    }

    @Test
    void shouldKeepTheMemoryFromChildProcesses() {
        try (HandoffListener listener = new HandoffListener(socket());
                ChildJvm process = start(QEMUS_NAME, PAGES, Map.of(), "fork", "read");
                TinyPager pager = accept(listener)) {
            assertEquals(0, process.awaitEnd(), () -> process.out() + process.err());
            assertEquals(PAGES, pager.faults(), "the child's access is none");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"0", "1"})
    void shouldRefuseASecondMappingOfTheMemory(String required) {
        Map<String, String> environment = Map.of("FARPAGE_REQUIRED", required);
        try (HandoffListener listener = new HandoffListener(socket());
                ChildJvm process = start(QEMUS_NAME, PAGES, environment, "again", "read", "rounds");
                TinyPager pager = accept(listener)) {
            assertEquals(0, process.awaitEnd(), () -> process.out() + process.err());
            assertEquals("again\nread\nrounds\n", process.out());
            assertTrue(process.err().contains("a second mapping of guest RAM is refused"), process.err());
            assertEquals(4 * PAGES, pager.faults());
        }
    }

    /** As with memory that is plugged in: a VMM to which mmap(2) fails refuses it, and its guest goes on. */
    @ParameterizedTest
    @CsvSource({"1, Device or resource busy", "0, local"})
    void shouldRefuseASecondMemoryBackendUnlessItMayBeLocal(String required, String result) {
        Map<String, String> environment = Map.of("FARPAGE_REQUIRED", required);
        try (HandoffListener listener = new HandoffListener(socket());
                ChildJvm process = start(QEMUS_NAME, PAGES, environment, "another", "read", "rounds");
                TinyPager pager = accept(listener)) {
            assertEquals(0, process.awaitEnd(), () -> process.out() + process.err());
            assertEquals("another: " + result + "\nanother\nread\nrounds\n", process.out());
            assertTrue(process.err().contains("a second memory backend cannot be handed over"), process.err());
            assertEquals(4 * PAGES, pager.faults());
        }
    }

    /** QEMU asks for one before it lets a postcopy migration in. */
    @Test
    void shouldRefuseASecondUserfaultfd() {
        try (HandoffListener listener = new HandoffListener(socket());
                ChildJvm process = start(QEMUS_NAME, PAGES, Map.of(), "userfaultfd", "read");
                TinyPager pager = accept(listener)) {
            assertEquals(0, process.awaitEnd(), () -> process.out() + process.err());
            assertEquals("userfaultfd\nread\n", process.out());
            assertTrue(process.err().contains("a second userfaultfd is refused"), process.err());
            assertEquals(PAGES, pager.faults());
        }
    }

    @Test
    void shouldSayThatPrivateMemoryIsNotHandedOver() {
        Finished finished = finish("other", PAGES, Map.of(), "private", "private");

        assertEquals(0, finished.code(), finished.err());
        assertEquals(
                1, finished.err().split("nothing has been handed over, and 64 MiB", -1).length - 1, finished.err());
    }

    @Test
    void shouldNotSpeakOfPrivateMemoryOnceTheRamIsHandedOver() {
        try (HandoffListener listener = new HandoffListener(socket());
                ChildJvm process = start(QEMUS_NAME, PAGES, Map.of(), "private", "read");
                TinyPager pager = accept(listener)) {
            assertEquals(0, process.awaitEnd(), () -> process.out() + process.err());
            assertTrue(!process.err().contains("nothing has been handed over"), process.err());
            assertEquals(PAGES, pager.faults());
        }
    }

    @ParameterizedTest
    @CsvSource({"FARPAGE_MEMFD_NAME, pc.*", "FARPAGE_MIN_SIZE, 200k", "FARPAGE_MIN_SIZE, 204800"})
    void shouldRecogniseTheMemoryByPatternOrSize(String variable, String value) {
        try (HandoffListener listener = new HandoffListener(socket());
                ChildJvm process = start("pc.ram", PAGES, Map.of(variable, value), "read");
                TinyPager pager = accept(listener)) {
            assertEquals(0, process.awaitEnd(), () -> process.out() + process.err());
            assertEquals(PAGES, pager.faults());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"FARPAGE_MEMFD_NAME", "FARPAGE_MIN_SIZE"})
    void shouldLeaveOtherMemoryAloneAndNameItIfItIsLarge(String variable) {
        Map<String, String> environment = variable.equals("FARPAGE_MIN_SIZE") ? Map.of(variable, "1g") : Map.of();
        Finished finished = finish("other", LARGE, environment, "zeros", "rounds");

        assertEquals(0, finished.code(), finished.err());
        assertEquals("zeros\nrounds\n", finished.out());
        assertEquals(
                environment.isEmpty(),
                finished.err().contains("32 MiB of shared memory 'other' stay local"),
                finished.err());
    }

    @Test
    void shouldNotRunOnLocalMemoryWhenNoAgentListens() {
        Finished finished = finish(QEMUS_NAME, PAGES, Map.of(), "zeros");

        assertEquals(1, finished.code());
        assertEquals("", finished.out());
        assertTrue(
                finished.err()
                        .contains("no agent listens at FARPAGE_SOCKET '" + socket() + "': No such file or directory;"
                                + " run: page-agent attach --space NAME --socket " + socket()),
                finished.err());
    }

    @Test
    void shouldNotRunOnLocalMemoryWhenTheAgentIsGone() throws IOException {
        new HandoffListener(socket()).close();
        assertTrue(Files.exists(socket(), LinkOption.NOFOLLOW_LINKS));

        Finished finished = finish(QEMUS_NAME, PAGES, Map.of(), "zeros");

        assertEquals(1, finished.code());
        assertTrue(finished.err().contains("Connection refused"), finished.err());
    }

    @Test
    void shouldSayWhyTheAgentRefusesTheMemory() {
        try (HandoffListener listener = new HandoffListener(socket());
                ChildJvm process = start(QEMUS_NAME, PAGES, Map.of(), "zeros")) {
            listener.refuse("the space is smaller than that");
            assertEquals(1, process.awaitEnd());
            assertTrue(process.err().contains("refused the memory: the space is smaller than that\n"), process.err());
        }
    }

    @Test
    void shouldRunOnLocalMemoryIfTheAgentRefusesIt() {
        try (HandoffListener listener = new HandoffListener(socket());
                ChildJvm process = start(QEMUS_NAME, PAGES, Map.of("FARPAGE_REQUIRED", "0"), "zeros", "rounds")) {
            listener.refuse("the space is smaller than that");
            assertEquals(0, process.awaitEnd(), () -> process.out() + process.err());
            assertEquals("zeros\nrounds\n", process.out());
        }
    }

    @Test
    void shouldRunOnLocalMemoryIfThatIsAllowed() {
        Finished finished = finish(QEMUS_NAME, PAGES, Map.of("FARPAGE_REQUIRED", "0"), "zeros", "rounds");

        assertEquals(0, finished.code(), finished.err());
        assertEquals("zeros\nrounds\n", finished.out());
        assertTrue(finished.err().contains("no agent listens"), finished.err());
        assertTrue(finished.err().contains("its RAM is local memory"), finished.err());
    }

    @ParameterizedTest
    @CsvSource({
        "FARPAGE_SOCKET, '', FARPAGE_SOCKET is not set",
        "FARPAGE_MIN_SIZE, 0, FARPAGE_MIN_SIZE is '0'",
        "FARPAGE_MIN_SIZE, 12x, FARPAGE_MIN_SIZE is '12x'",
        "FARPAGE_MIN_SIZE, 4 k, FARPAGE_MIN_SIZE is '4 k'",
        "FARPAGE_MIN_SIZE, 99999999999999999999, FARPAGE_MIN_SIZE is '99999999999999999999'",
        "FARPAGE_MIN_SIZE, 99999999999g, FARPAGE_MIN_SIZE is '99999999999g'",
        "FARPAGE_PAGERS, 0, FARPAGE_PAGERS is '0'; it must be a number from 1 to 16",
        "FARPAGE_PAGERS, 17, FARPAGE_PAGERS is '17'",
        "FARPAGE_PAGERS, -1, FARPAGE_PAGERS is '-1'",
        "FARPAGE_PAGERS, 2x, FARPAGE_PAGERS is '2x'",
        "FARPAGE_DIRECT_IO, on, FARPAGE_DIRECT_IO is 'on'; it must be buffered or refuse"
    })
    void shouldNameASettingThatIsWrong(String variable, String value, String said) {
        Finished finished = finish(QEMUS_NAME, PAGES, Map.of(variable, value), "zeros");

        assertEquals(1, finished.code());
        assertTrue(finished.err().contains(said), finished.err());
    }

    @Test
    void shouldRefuseASocketPathThatIsTooLong() {
        String path = "/tmp/" + "x".repeat(200);
        Finished finished = finish(QEMUS_NAME, PAGES, Map.of("FARPAGE_SOCKET", path), "zeros");

        assertEquals(1, finished.code());
        assertTrue(finished.err().contains("has at most 107 bytes"), finished.err());
    }

    @Test
    void shouldSayHowAUserWithoutPrivilegesGetsUserfaultfd() throws IOException {
        assumeUserfaultfdIsPrivileged();
        try (HandoffListener _ = openListener();
                ChildJvm process = launch(unprivileged(command(QEMUS_NAME, PAGES, "zeros")), Map.of())) {
            assertEquals(1, process.awaitEnd());
            assertTrue(
                    process.err().contains("userfaultfd(2) is not permitted, and /dev/userfaultfd: "), process.err());
            assertTrue(process.err().contains("setfacl -m u:65534:rw /dev/userfaultfd"), process.err());
        }
    }

    @Test
    void shouldNameTheSocketWhenTheUserMayNotConnect() throws IOException {
        assumeUserfaultfdIsPrivileged();
        try (HandoffListener _ = openListener()) {
            chmod("600", socket().toString());
            try (ChildJvm process = launch(unprivileged(command(QEMUS_NAME, PAGES, "zeros")), Map.of())) {
                assertEquals(1, process.awaitEnd());
                assertTrue(
                        process.err().contains("Permission denied; let user 65534 write to the socket"), process.err());
            }
        }
    }

    @Test
    void shouldOpenTheDeviceWhenTheSystemCallIsNotPermitted() throws IOException {
        assumeUserfaultfdIsPrivileged();
        Path device = directory.resolve("userfaultfd");
        // The device, for everybody, in a mount namespace of its own.
        String script = "cp -a /dev/userfaultfd '" + device + "' && chmod 666 '" + device + "' && mount --bind '"
                + device + "' /dev/userfaultfd && exec \"$@\"";
        List<String> command = new ArrayList<>(List.of("unshare", "--mount", "sh", "-c", script, "sh"));
        command.addAll(unprivileged(command(QEMUS_NAME, PAGES, "read", "rounds")));
        try (HandoffListener listener = openListener();
                ChildJvm process = launch(command, Map.of());
                TinyPager pager = accept(listener)) {
            assertEquals(0, process.awaitEnd(), () -> process.out() + process.err());
            assertEquals(4 * PAGES, pager.faults());
        }
    }

    /** As where a seccomp filter does not know the system call. */
    @Test
    void shouldOpenTheDeviceWhenTheSystemCallDoesNotExist() {
        assumeTrue(Files.exists(Path.of("/dev/userfaultfd")), "there is no /dev/userfaultfd");
        List<String> command =
                new ArrayList<>(List.of(built.resolve("shared_ram").toString(), "without-userfaultfd"));
        command.addAll(command(QEMUS_NAME, PAGES, "read", "rounds"));
        try (HandoffListener listener = new HandoffListener(socket());
                ChildJvm process = launch(command, Map.of());
                TinyPager pager = accept(listener)) {
            assertEquals(0, process.awaitEnd(), () -> process.out() + process.err());
            assertEquals(4 * PAGES, pager.faults());
        }
    }

    private static void assumeUserfaultfdIsPrivileged() throws IOException {
        assumeTrue(System.getProperty("user.name").equals("root"), "only root can become another user");
        assumeTrue(
                Files.readString(Path.of("/proc/sys/vm/unprivileged_userfaultfd"))
                        .startsWith("0"),
                "vm.unprivileged_userfaultfd is 1, so the call is permitted to everybody");
        assumeTrue(Files.exists(Path.of("/dev/userfaultfd")), "there is no /dev/userfaultfd");
    }

    /** Another user can connect to it. */
    private HandoffListener openListener() {
        HandoffListener listener = new HandoffListener(socket());
        chmod("-R", "go+rwx", directory.toString(), built.toString());
        return listener;
    }

    private static List<String> unprivileged(List<String> command) {
        List<String> all = new ArrayList<>(
                List.of("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"));
        all.addAll(command);
        return all;
    }

    private static TinyPager accept(HandoffListener listener) {
        return listener.receive().page(PAGES, 2);
    }

    private ChildJvm start(String name, int pages, Map<String, String> environment, String... words) {
        return launch(command(name, pages, words), environment);
    }

    private Finished finish(String name, int pages, Map<String, String> environment, String... words) {
        try (ChildJvm process = start(name, pages, environment, words)) {
            return new Finished(process.awaitEnd(), process.out(), process.err());
        }
    }

    private ChildJvm launch(List<String> command, Map<String, String> environment) {
        Map<String, String> all = new HashMap<>(Map.of("FARPAGE_SOCKET", socket().toString()));
        all.putAll(environment);
        return ChildJvm.launch("shared-ram", command, all, directory);
    }

    private static List<String> command(String name, int pages, String... words) {
        return program.orElseThrow().preloaded(name, pages, words);
    }

    private Path socket() {
        return directory.resolve("socket");
    }

    private record Finished(int code, String out, String err) {}

    private static void chmod(String... arguments) {
        List<String> command = new ArrayList<>(List.of("chmod"));
        command.addAll(List.of(arguments));
        try (ChildJvm process = ChildJvm.launch("chmod", command, Map.of(), Path.of(""))) {
            assertEquals(0, process.awaitEnd(), process.err());
        }
    }
}
