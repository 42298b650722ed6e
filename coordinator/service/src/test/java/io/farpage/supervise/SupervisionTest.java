package io.farpage.supervise;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.linux.DatagramSocket;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The manager is a process of its own with a real socket: written in Perl, since the JDK has no datagram sockets of
 * this kind.
 */
class SupervisionTest {
    @TempDir
    private Path scratch;

    /** A service manager's socket: prints each datagram on a line, with its line ends as blanks. */
    private record Manager(Process process, BufferedReader lines) implements AutoCloseable {
        private static final String PROGRAM = """
                use Socket;
                socket(my $s, AF_UNIX, SOCK_DGRAM, 0) or die;
                my $name = $ARGV[0];
                $name =~ s/^@/\\0/;
                bind($s, pack('S a*', AF_UNIX, $name)) or die "bind: $!";
                $| = 1;
                print "bound\\n";
                while (defined recv($s, my $text, 4096, 0)) { $text =~ s/\\n/$ARGV[1]/g; print "$text\\n"; }
                """;

        static Manager at(String address) throws IOException {
            return at(address, " ");
        }

        /** Prints a vertical bar for the end of each line within a datagram. */
        static Manager atLines(String address) throws IOException {
            return at(address, "|");
        }

        private static Manager at(String address, String lineEnd) throws IOException {
            assumeTrue(
                    Stream.of(System.getenv("PATH").split(":"))
                            .anyMatch(path -> Files.isExecutable(Path.of(path, "perl"))),
                    "no service manager: perl is missing (apt-get install perl-base)");
            Process process = new ProcessBuilder("perl", "-e", PROGRAM, address, lineEnd)
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
            Manager manager = new Manager(process, process.inputReader(StandardCharsets.UTF_8));
            assertEquals("bound", manager.next());
            return manager;
        }

        String next() throws IOException {
            return String.valueOf(lines.readLine());
        }

        @Override
        public void close() {
            process.destroyForcibly();
        }
    }

    private String address(String kind) {
        return kind.equals("path")
                ? scratch.resolve("notify").toString()
                : "@farpage-test-" + ProcessHandle.current().pid();
    }

    @ParameterizedTest
    @ValueSource(strings = {"path", "abstract"})
    void shouldSayWhenReadyAndWhenStopping(String kind) throws IOException {
        try (Manager manager = Manager.at(address(kind));
                Supervision supervision = Supervision.begin(Map.of("NOTIFY_SOCKET", address(kind)), Optional::empty)) {
            supervision.ready("listening");
            supervision.stopping();
            assertEquals("READY=1 STATUS=listening", manager.next());
            assertEquals("STOPPING=1", manager.next());
        }
    }

    @Test
    void shouldNotFeedTheWatchdogWhileTheProgramIsStalled() throws IOException {
        AtomicLong asked = new AtomicLong();
        try (Manager manager = Manager.at(address("path"));
                Supervision supervision = Supervision.begin(
                        Map.of("NOTIFY_SOCKET", address("path"), "WATCHDOG_USEC", "40000"),
                        () -> asked.incrementAndGet() < 10 ? Optional.of("a thread\nsleeps") : Optional.empty())) {
            assertEquals("STATUS=stalled, the watchdog is not fed: a thread sleeps", manager.next());
            assertEquals("WATCHDOG=1", manager.next());
            assertTrue(asked.get() >= 10, asked + " times asked before the watchdog was fed");
            supervision.stopping();
        }
    }

    @Test
    void shouldReplaceTheStatusWhileTheProgramIsStalledAndRestoreIt() throws IOException {
        AtomicReference<Optional<String>> stalled = new AtomicReference<>(Optional.empty());
        try (Manager manager = Manager.at(address("path"));
                Supervision supervision = Supervision.begin(
                        Map.of("NOTIFY_SOCKET", address("path"), "WATCHDOG_USEC", "40000"), stalled::get)) {
            supervision.ready("listening");
            assertEquals("READY=1 STATUS=listening", nextBut(manager, "WATCHDOG=1"));
            stalled.set(Optional.of("stuck"));
            assertEquals("STATUS=stalled, the watchdog is not fed: stuck", nextBut(manager, "WATCHDOG=1"));
            stalled.set(Optional.empty());
            assertEquals("STATUS=listening", manager.next());
            assertEquals("WATCHDOG=1", manager.next());
        }
    }

    private static String nextBut(Manager manager, String skipped) throws IOException {
        String line = manager.next();
        while (line.equals(skipped)) {
            line = manager.next();
        }
        return line;
    }

    @Test
    void shouldNotFeedTheWatchdogWhenProgressCannotBeTold() throws IOException {
        try (Manager manager = Manager.at(address("path"));
                Supervision supervision =
                        Supervision.begin(Map.of("NOTIFY_SOCKET", address("path"), "WATCHDOG_USEC", "40000"), () -> {
                            throw new IllegalStateException("broken");
                        })) {
            assertEquals(
                    "STATUS=stalled, the watchdog is not fed: the program's progress is not known: "
                            + "java.lang.IllegalStateException: broken",
                    manager.next());
            supervision.stopping();
            assertEquals("STOPPING=1", manager.next());
        }
    }

    @Test
    void shouldNotFeedAWatchdogThatTheManagerDoesNotHave() throws IOException {
        AtomicLong asked = new AtomicLong();
        try (Manager manager = Manager.at(address("path"));
                Supervision supervision = Supervision.begin(Map.of("NOTIFY_SOCKET", address("path")), () -> {
                    asked.incrementAndGet();
                    return Optional.empty();
                })) {
            supervision.ready("listening");
            supervision.stopping();
            assertEquals("READY=1 STATUS=listening", manager.next());
            assertEquals("STOPPING=1", manager.next());
            assertEquals(0, asked.get());
        }
    }

    @Test
    void shouldKeepAStatusOfSeveralLinesFromMakingFurtherAssignments() throws IOException {
        try (Manager manager = Manager.atLines(address("path"));
                Supervision supervision =
                        Supervision.begin(Map.of("NOTIFY_SOCKET", address("path")), Optional::empty)) {
            supervision.ready("one\nMAINPID=1");
            assertEquals("READY=1|STATUS=one MAINPID=1", manager.next());
        }
    }

    @Test
    void shouldSendAgainWhatWasRefused() throws IOException {
        try (Supervision supervision = Supervision.begin(Map.of("NOTIFY_SOCKET", address("path")), Optional::empty)) {
            supervision.ready("early");
            try (Manager manager = Manager.at(address("path"))) {
                assertEquals("READY=1 STATUS=early", manager.next());
            }
        }
    }

    @Test
    void shouldSayNothingWithoutAManager() {
        try (Supervision supervision =
                Supervision.begin(Map.of("WATCHDOG_USEC", "1000"), () -> Optional.of("unasked"))) {
            supervision.ready("unheard");
            supervision.stopping();
        }
    }

    @ParameterizedTest
    @MethodSource("notAddresses")
    void shouldRunWithoutAManagerWhoseAddressIsNone(String address) {
        try (Supervision supervision = Supervision.begin(
                Map.of("NOTIFY_SOCKET", address, "WATCHDOG_USEC", "1000"), () -> Optional.of("unasked"))) {
            supervision.ready("unheard");
            supervision.stopping();
        }
        String message = String.valueOf(assertThrows(IllegalArgumentException.class, () -> DatagramSocket.to(address))
                .getMessage());
        assertTrue(message.contains("'" + address + "'") && message.contains("absolute path"), message);
    }

    static Stream<String> notAddresses() {
        return Stream.of("", "relative", "@", "/", "vsock:2:1234", "/" + "x".repeat(107), "@" + "x".repeat(107));
    }

    @ParameterizedTest
    @ValueSource(strings = {"/", "@"})
    void shouldTakeTheLongestAddress(String first) {
        DatagramSocket.to(first + "x".repeat(106)).close();
    }

    @Test
    void shouldIgnoreAWatchdogOfAnotherProcess() {
        String own = Long.toString(ProcessHandle.current().pid());
        assertEquals(Optional.empty(), Watchdog.period(Map.of("WATCHDOG_USEC", "1000", "WATCHDOG_PID", "1")));
        assertEquals(
                Optional.of(Duration.ofMillis(1)),
                Watchdog.period(Map.of("WATCHDOG_USEC", "1000", "WATCHDOG_PID", own)));
        assertEquals(Optional.of(Duration.ofMillis(1)), Watchdog.period(Map.of("WATCHDOG_USEC", "1000")));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "0", "-1", "soon", "9223372036854775807", "99999999999999999999"})
    void shouldTakeAPeriodThatIsNoneForNoWatchdog(String period) {
        assertEquals(Optional.empty(), Watchdog.period(Map.of("WATCHDOG_USEC", period)));
    }

    @Test
    void shouldFeedTheWatchdogFourTimesInItsPeriod() {
        assertEquals(Duration.ofMillis(500), Watchdog.pause(Duration.ofSeconds(2)));
        assertEquals(Duration.ofSeconds(10), Watchdog.pause(Duration.ofMinutes(10)));
        assertEquals(Duration.ofMillis(1), Watchdog.pause(Duration.ofNanos(1_000)), "it does not spin");
    }

    @Test
    void shouldCallALoopStalledWhenItIsOverdue() {
        AtomicLong clock = new AtomicLong();
        LoopPulse pulse = new LoopPulse("the loop", clock::get);
        pulse.beat(Duration.ofSeconds(2));
        clock.addAndGet(Duration.ofSeconds(2).toNanos());
        assertEquals(Optional.empty(), pulse.stalled());
        clock.addAndGet(Duration.ofSeconds(3).toNanos());
        assertEquals(Optional.of("the loop should have gone on 3000 ms ago"), pulse.stalled());
    }
}
