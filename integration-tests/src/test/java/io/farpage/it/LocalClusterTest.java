package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.ChildJvm;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.ProcFs;
import java.io.IOException;
import java.net.ConnectException;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code farpage up} and {@code farpage down}, as an operator types them, and what they leave behind. */
@Tag("portable")
@Tag("processes")
class LocalClusterTest {
    private static final Path ROOT =
            Path.of(System.getProperty("farpage.root", "..")).toAbsolutePath().normalize();
    private static final Path HUGEPAGES = Path.of("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages");

    private static final List<String> NOBODY =
            List.of("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all");

    /** Five JVMs start, on a machine that may be busy. */
    private static final Duration DEADLINE = Duration.ofMinutes(3);

    /** Tests that run beside this one may borrow hugepages at the same moment. */
    private static final int ATTEMPTS = 3;

    @TempDir
    Path scratch;

    private Path state = Path.of("");

    @BeforeEach
    void isAssembled() {
        Path lib = ROOT.resolve("target/farpage/lib");
        assumeTrue(Files.isDirectory(lib), lib + " does not exist; make build assembles it");
        state = scratch.resolve("state");
    }

    @AfterEach
    void end() {
        run(0, "down");
    }

    private String run(int code, String command, String... more) {
        return run(code, List.of(), command, more);
    }

    private String run(int code, List<String> prefix, String command, String... more) {
        List<String> line = new ArrayList<>(prefix);
        line.addAll(List.of(ROOT.resolve("bin/farpage").toString(), command, "--state", state.toString()));
        line.addAll(List.of(more));
        try (ChildJvm child = ChildJvm.launch("farpage-" + command, line, Map.of(), scratch)) {
            await(String.join(" ", line), DEADLINE).until(() -> !child.isAlive());
            assertEquals(code, child.awaitEnd(), () -> child.out() + child.err());
            return child.out() + child.err();
        }
    }

    /** Processes whose environment names the folder, by the name that it has for them. */
    private Map<String, ProcessHandle> members() throws IOException {
        Map<String, ProcessHandle> found = new TreeMap<>();
        try (DirectoryStream<Path> processes = Files.newDirectoryStream(Path.of("/proc"), "[0-9]*")) {
            for (Path process : processes) {
                String environment = environment(process);
                Matcher name = Pattern.compile("\0LOCAL_FARPAGE_NAME=([^\0]+)").matcher("\0" + environment);
                if (environment.contains(state + "\0") && name.find()) {
                    ProcessHandle.of(Long.parseLong(process.getFileName().toString()))
                            .ifPresent(handle -> found.put(name.group(1), handle));
                }
            }
        }
        return found;
    }

    private static String environment(Path process) {
        try {
            return new String(Files.readAllBytes(process.resolve("environ")), StandardCharsets.UTF_8);
        } catch (IOException e) {
            return ""; // ended, or another user's
        }
    }

    private void kill(String member) throws IOException {
        ProcessHandle process = Optional.ofNullable(members().get(member)).orElseThrow();
        process.destroyForcibly();
        await("the end of a process that was killed", Deadlines.SHORT).until(() -> !process.isAlive());
    }

    private static URI url(String out) {
        Matcher found =
                Pattern.compile("^dashboard +(\\S+)$", Pattern.MULTILINE).matcher(out);
        assertTrue(found.find(), out);
        return URI.create(found.group(1));
    }

    private void assertNothingIsLeft(URI url) throws Exception {
        assertEquals(Map.of(), members());
        assertFalse(Files.exists(state), "the folder");
        assertFalse(Files.readString(Path.of("/proc/net/unix")).contains(state.toString()), "a Unix socket");
        assertFalse(Files.readString(Path.of("/proc/self/mounts")).contains(state.toString()), "a mount");
        try (Socket _ = new Socket(url.getHost(), url.getPort())) {
            throw new AssertionError(url + " is still served");
        } catch (ConnectException expected) {
            // Nothing listens.
        }
    }

    @Test
    void shouldTellAnOrdinaryUserAllThatIsMissingBeforeAnyStart() throws Exception {
        assumeTrue(System.getProperty("user.name").equals("root"), "only root can become another user");
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/setpriv")), "setpriv (package util-linux) is missing");
        assumeTrue(
                Files.readString(Path.of("/proc/sys/vm/unprivileged_userfaultfd"))
                        .startsWith("0"),
                "vm.unprivileged_userfaultfd is 1, so all users may have a userfaultfd");
        assumeFalse(succeedsAsNobody("test", "-w", "/dev/userfaultfd"), "all users may open /dev/userfaultfd");
        assumeTrue(
                succeedsAsNobody(ROOT.resolve("bin/java-home").toString())
                        && succeedsAsNobody(
                                "test", "-r", ROOT.resolve("target/farpage/lib").toString()),
                "user 65534 can run no program of " + ROOT);
        Files.setPosixFilePermissions(scratch, PosixFilePermissions.fromString("rwxrwxrwx"));

        String said = run(1, NOBODY, "up", "--local", "2", "--guest", "--pool", "64TiB");

        assertTrue(
                said.contains("farpage: the guest needs a userfaultfd: EPERM: not permitted to this user,"
                        + " vm.unprivileged_userfaultfd is 0"),
                said);
        assertTrue(said.contains("; fix: sysctl -w vm.unprivileged_userfaultfd=1, or run this as root"), said);
        assertTrue(said.contains("farpage: the cluster needs "), said);
        assertFalse(said.contains("reserve"), said);
        assertEquals(Map.of(), members());
        try (Stream<Path> left = Files.list(scratch)) {
            assertEquals(List.of(), left.toList());
        }
    }

    private boolean succeedsAsNobody(String... command) throws Exception {
        List<String> line = new ArrayList<>(NOBODY);
        line.addAll(List.of(command));
        return new ProcessBuilder(line)
                        .redirectErrorStream(true)
                        .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                        .start()
                        .waitFor()
                == 0;
    }

    /** A process that is killed with SIGKILL gives nothing back itself. */
    @Test
    @Tag("soak")
    void shouldGiveAllHugepagesBackThoughEveryProcessWasKilled() throws Exception {
        boolean given = false;
        for (int attempt = 0; attempt < ATTEMPTS && !given; attempt++) {
            long before = hugepages();
            String up = run(0, "up", "--local", "1", "--pool", "2MiB");
            assumeTrue(up.contains("reserved 10 hugepages of 2MiB"), up);
            kill("local-1");
            kill("coordinator");
            String down = run(0, "down");
            assertTrue(down.contains("gave 10 hugepages back"), down);
            given = hugepages() == before;
        }
        assertTrue(given, "hugepages stay reserved");
    }

    @Test
    void shouldEndWhatACrashHasLeftAndStartAnew() throws Exception {
        URI first = url(run(0, "up", "--local", "1", "--pool", "2MiB"));
        assertEquals(Set.of("coordinator", "local-1"), members().keySet());
        assertEquals(
                List.of(),
                ProcFs.realTimeThreads(
                        Objects.requireNonNull(members().get("local-1")).pid()));
        assertTrue(run(0, "up", "--local", "1", "--pool", "2MiB").contains("runs already"));
        kill("coordinator");
        String again = run(0, "up", "--local", "1", "--pool", "2MiB");
        assertTrue(again.contains("ending it first"), again);
        assertTrue(again.contains("ended local-1"), again);
        assertEquals(Set.of("coordinator", "local-1"), members().keySet());
        assertTrue(run(0, "down").contains("nothing of the cluster is left"));
        assertNothingIsLeft(first);
        assertNothingIsLeft(url(again));
    }

    @Test
    @Tag("soak")
    @NeedsUserfaultfd
    void shouldRunAGuestAndLeaveNothingThoughAnAgentWasKilled() throws Exception {
        boolean given = false;
        for (int attempt = 0; attempt < ATTEMPTS && !given; attempt++) {
            long before = hugepages();
            String up = run(0, "up", "--local", "3", "--pool", "16MiB", "--guest", "8MiB");
            assertEquals(
                    Set.of("coordinator", "guest", "local-1", "local-2", "local-3"),
                    members().keySet());
            assertTrue(up.contains("cluster local formed: 3 of 3 nodes registered"), up);
            kill("local-3");
            kill("guest");
            String down = run(0, "down");
            assertNothingIsLeft(url(up));
            given = hugepages() == before
                    && up.contains("reserved 51 hugepages") == down.contains("gave 51 hugepages back");
        }
        assertTrue(given, "hugepages stay reserved");
    }

    private static long hugepages() throws IOException {
        return Files.exists(HUGEPAGES)
                ? Long.parseLong(Files.readString(HUGEPAGES).strip())
                : 0;
    }
}
