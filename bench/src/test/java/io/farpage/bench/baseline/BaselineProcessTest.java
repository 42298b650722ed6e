package io.farpage.bench.baseline;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.bench.baseline.BaselineSettings.Mode;
import io.farpage.bench.baseline.BaselineSettings.Verification;
import io.farpage.bench.pattern.PagePattern;
import io.farpage.it.deadlines.Deadlines;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class BaselineProcessTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(60);

    @TempDir
    private static Path directory;

    private static BaselineProgram program = new BaselineProgram.Unavailable("not built yet");

    @BeforeAll
    static void build() throws InterruptedException {
        assumeTrue(CCompiler.find(System.getenv("PATH")).isPresent(), "no C compiler on the PATH");
        program = BaselineProgram.build(BaselineProgram.FETCH, directory.resolve("baseline"));
    }

    @ParameterizedTest
    @CsvSource({
        "BLOCK, 1, 4096, RANDOM",
        "BLOCK, 32, 4096, SEQUENTIAL",
        "BLOCK, 7, 16384, ZIPF",
        "BLOCK, 3, 2097152, RANDOM",
        "SPIN, 1, 4096, ZIPF",
        "SPIN, 64, 4096, RANDOM",
        "SPIN, 5, 2097152, SEQUENTIAL"
    })
    void shouldFetchWhatItIsAskedAndFindItRight(Mode mode, int depth, int pageSize, PagePattern pattern)
            throws InterruptedException {
        assumeTrue(mode == Mode.BLOCK || Runtime.getRuntime().availableProcessors() > 1, "spinning needs two CPUs");
        try (BaselineProcess baseline = start(settings(mode, depth, pageSize, pattern))) {
            for (long count : new long[] {1, 257, 50}) {
                BaselineProcess.Measured turn = baseline.run(count, TIMEOUT);
                assertEquals(count, turn.round().latencies().getTotalCount());
                assertEquals(0, turn.round().mismatches());
                assertTrue(turn.round().latencies().getMinValue() > 500, "no loopback round trip takes under 0.5 µs");
                assertTrue(turn.placement().contains("client cpu"), turn.placement());
            }
        }
    }

    @Test
    void shouldFetchUntilTheTimeIsOverWhenRunByTime() throws InterruptedException {
        try (BaselineProcess baseline = start(settings(Mode.BLOCK, 4, 4096, PagePattern.RANDOM))) {
            BaselineProcess.Measured turn = baseline.runFor(Duration.ofMillis(50), TIMEOUT);
            assertTrue(turn.round().elapsed().toMillis() >= 50, turn.round().elapsed()::toString);
            assertTrue(turn.round().latencies().getTotalCount() > 100);
        }
    }

    @Test
    void shouldThrowTheProgramsMessageWhenItRefusesAnOption() {
        BaselineException refused =
                assertThrows(BaselineException.class, () -> start(settings(Mode.BLOCK, 1, 5000, PagePattern.RANDOM)));
        assertEquals("fetch_baseline: --page-size 5000: must be a power of two", refused.getMessage());
    }

    @Test
    void shouldThrowWhenTheProgramHasEnded() throws InterruptedException {
        BaselineProcess baseline = start(settings(Mode.BLOCK, 1, 4096, PagePattern.RANDOM));
        baseline.close();
        BaselineException ended = assertThrows(BaselineException.class, () -> baseline.run(10, TIMEOUT));
        assertTrue(ended.toString().contains("ended"), ended.toString());
    }

    @Test
    void shouldSleepBetweenRounds() throws Exception {
        assumeTrue(Runtime.getRuntime().availableProcessors() > 1, "spinning needs two CPUs");
        try (BaselineProcess baseline = start(settings(Mode.SPIN, 1, 4096, PagePattern.RANDOM))) {
            baseline.run(1000, TIMEOUT);
            ProcessHandle client = client();
            ProcessHandle server = client.children().findFirst().orElseThrow();
            Deadlines.await("both processes sleep", TIMEOUT).until(() -> sleeps(client) && sleeps(server));
            baseline.run(1000, TIMEOUT);
        }
    }

    private static ProcessHandle client() {
        return ProcessHandle.current()
                .children()
                .filter(child -> child.info().command().orElse("").endsWith(BaselineProgram.FETCH))
                .findFirst()
                .orElseThrow();
    }

    private static boolean sleeps(ProcessHandle process) throws IOException {
        String stat = Files.readString(Path.of("/proc/" + process.pid() + "/stat"));
        return stat.charAt(stat.lastIndexOf(')') + 2) == 'S';
    }

    @Test
    void shouldEndItsServerWithItself() throws InterruptedException {
        BaselineProcess baseline = start(settings(Mode.BLOCK, 1, 4096, PagePattern.RANDOM));
        ProcessHandle server = client().children().findFirst().orElseThrow();
        assertTrue(server.isAlive());
        baseline.close();
        server.onExit().orTimeout(10, TimeUnit.SECONDS).join();
    }

    @Test
    void shouldBeUnavailableWithTheFixWhenThereIsNoCompiler() throws InterruptedException {
        BaselineProgram none =
                BaselineProgram.build(BaselineProgram.FETCH, directory.resolve("none"), directory.toString());
        String reason =
                assertInstanceOf(BaselineProgram.Unavailable.class, none).reason();
        assertTrue(reason.startsWith("no C compiler: none of cc, gcc, clang is on the PATH"), reason);
    }

    @Test
    void shouldBeUnavailableWithTheCompilersMessageWhenItFails() throws Exception {
        Path bin = Files.createDirectories(directory.resolve("bin"));
        Path cc = Files.writeString(bin.resolve("cc"), "#!/bin/sh\necho 'no such thing as C' >&2\nexit 3\n");
        assertTrue(cc.toFile().setExecutable(true));
        BaselineProgram failed =
                BaselineProgram.build(BaselineProgram.FETCH, directory.resolve("failed"), bin.toString());
        String reason =
                assertInstanceOf(BaselineProgram.Unavailable.class, failed).reason();
        assertTrue(reason.contains("exit 3: no such thing as C"), reason);
    }

    private static BaselineProcess start(BaselineSettings settings) throws InterruptedException {
        return BaselineProcess.start(
                assertInstanceOf(BaselineProgram.Built.class, program).program(), settings, TIMEOUT);
    }

    private static BaselineSettings settings(Mode mode, int depth, int pageSize, PagePattern pattern) {
        return new BaselineSettings(
                mode,
                depth,
                pageSize,
                16,
                pattern,
                0.99,
                Verification.FULL,
                OptionalInt.empty(),
                OptionalInt.empty(),
                true,
                7,
                10);
    }
}
