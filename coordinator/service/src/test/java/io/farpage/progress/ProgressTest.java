package io.farpage.progress;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;

/** What is written, by a clock that is moved by hand. */
class ProgressTest {
    private static final String CLEAR = "\r\u001b[K";
    private static final long MIB = 1 << 20;

    private final ByteArrayOutputStream written = new ByteArrayOutputStream();
    private long now = 7_000_000_000L;
    private int columns = 100;

    private Progress progress(Style style, Unit unit) {
        PrintStream out = new PrintStream(written, true, StandardCharsets.UTF_8);
        return new Progress(style, "save vm", unit, out, () -> columns, () -> now);
    }

    private void pass(double seconds) {
        now += (long) (seconds * 1e9);
    }

    private String written() {
        return written.toString(StandardCharsets.UTF_8);
    }

    /** What the bar has shown, one drawing after the other. */
    private List<String> drawn() {
        return Arrays.stream(written().split(CLEAR.replace("[", "\\["), -1))
                .skip(1)
                .toList();
    }

    @Test
    void shouldDrawBarPercentAmountRateAndTimeLeft() {
        Progress progress = progress(Style.BAR, Unit.BYTES);
        progress.total(3072 * MIB);
        pass(1);
        progress.done(768 * MIB);
        assertEquals(
                "save vm  [##########..............................]  25 %  0.8 of 3.0 GiB  768.0 MiB/s  3 s left",
                drawn().getLast());
    }

    @Test
    void shouldDrawAtMostTenTimesASecond() {
        Progress progress = progress(Style.BAR, Unit.BYTES);
        progress.total(1000 * MIB);
        for (int i = 0; i < 1000; i++) {
            progress.advance(MIB);
            pass(0.001);
        }
        assertEquals(10, drawn().size(), drawn().toString());
    }

    @Test
    void shouldNeverFillTheLastColumnHoweverNarrowTheTerminalIs() {
        for (columns = 1; columns <= 200; columns++) {
            written.reset();
            Progress progress = progress(Style.BAR, Unit.BYTES);
            progress.total(3072 * MIB);
            pass(60);
            progress.done(768 * MIB);
            for (String line : drawn()) {
                assertTrue(line.length() < Math.max(2, columns), columns + " columns: " + line);
            }
        }
    }

    @Test
    void shouldLeaveOutTheBarThenTheRateThenTheTimeWhereThereIsNoRoom() {
        Rendering all = new Rendering("save", Optional.of(5), "1 of 20 GiB", "9 MiB/s", "1 h", Optional.of("2 h"));
        assertEquals("save  [........]  5 %  1 of 20 GiB  9 MiB/s  2 h left", all.bar(54));
        assertEquals("save  5 %  1 of 20 GiB  9 MiB/s  2 h left", all.bar(53));
        assertEquals("save  5 %  1 of 20 GiB  2 h left", all.bar(41));
        assertEquals("save  5 %  1 of 20 GiB", all.bar(32));
        assertEquals("save  5 %  1 of", all.bar(16));
    }

    @Test
    void shouldLetTheRateFallAndTellNoTimeWhenNothingGetsOn() {
        Progress progress = progress(Style.BAR, Unit.BYTES);
        progress.total(1024 * MIB);
        pass(10);
        progress.done(100 * MIB);
        assertTrue(drawn().getLast().endsWith("10.0 MiB/s  1 min 33 s left"), drawn().getLast());
        pass(15);
        assertTrue(progress.tick());
        assertTrue(drawn().getLast().contains("  2.0 MiB/s  "), drawn().getLast());
        pass(3600);
        progress.tick();
        assertTrue(drawn().getLast().endsWith("  0 B/s"), drawn().getLast());
    }

    @Test
    void shouldLeaveALineOfWhatWasDoneAtTheEnd() {
        Progress progress = progress(Style.BAR, Unit.BYTES);
        progress.total(512 * MIB);
        pass(4);
        progress.done(512 * MIB);
        progress.finish();
        progress.close();
        assertEquals("save vm: 512.0 MiB in 4 s, 128.0 MiB/s" + System.lineSeparator(), drawn().getLast());
        assertFalse(progress.tick());
    }

    @Test
    void shouldTakeTheLineAwayWhenClosedWithoutAnEnd() {
        Progress progress = progress(Style.BAR, Unit.BYTES);
        progress.total(512 * MIB);
        progress.close();
        assertTrue(written().endsWith(CLEAR));
        written.reset();
        progress.done(5);
        progress.close();
        assertEquals("", written());
    }

    @Test
    void shouldPrintSomethingElseOnALineOfItsOwnAndDrawAnew() {
        Progress progress = progress(Style.BAR, Unit.of("rounds"));
        progress.total(4);
        progress.interrupt(() -> new PrintStream(written, true, StandardCharsets.UTF_8).print("left out: x\n"));
        assertEquals("left out: x\n", drawn().get(1));
        assertTrue(drawn().get(2).startsWith("save vm  ["), drawn().toString());
    }

    @Test
    void shouldWritePlainLineEveryTenSecondsWithoutATerminal() {
        Progress progress = progress(Style.LINES, Unit.of("rounds"));
        progress.total(40);
        for (int second = 1; second <= 20; second++) {
            pass(1);
            progress.done(second);
        }
        progress.finish();
        String end = System.lineSeparator();
        assertEquals(
                "save vm: 25 %, 10 of 40 rounds, 1.0/s, 10 s elapsed, 30 s left" + end
                        + "save vm: 50 %, 20 of 40 rounds, 1.0/s, 20 s elapsed, 20 s left" + end
                        + "save vm: 20 rounds in 20 s, 1.0/s" + end,
                written());
    }

    @Test
    void shouldWriteALineOfWhatIsExpectedWhileNothingIsDone() {
        Progress progress = progress(Style.LINES, Unit.of("rounds"));
        progress.total(40);
        progress.expect(Duration.ofSeconds(90));
        pass(11);
        assertTrue(progress.tick());
        assertEquals(
                "save vm: 0 %, 0 of 40 rounds, 0.0/min, 11 s elapsed, 1 min 19 s left" + System.lineSeparator(),
                written());
        assertTrue(progress.tick());
        assertEquals(1, written().lines().count());
        pass(9);
        progress.done(10);
        pass(20);
        progress.tick();
        assertTrue(written().strip().endsWith(", 40 s elapsed, 1 min 07 s left"), written());
    }

    @Test
    void shouldWriteNothingWhenNothingIsShown() {
        Progress progress = progress(Style.NONE, Unit.BYTES);
        progress.total(4);
        pass(10);
        progress.done(4);
        progress.finish();
        progress.close();
        assertEquals("", written());
    }

    @Test
    void shouldTellAmountAndRateWhileTheTotalIsNotKnown() {
        Progress progress = progress(Style.BAR, Unit.BYTES);
        pass(2);
        progress.done(5 * MIB);
        assertEquals("save vm  5.0 MiB  2.5 MiB/s", drawn().getLast());
    }

    @Test
    void shouldWriteTimesInTwoUnits() {
        assertEquals("59 s", Rendering.time(59));
        assertEquals("1 min 00 s", Rendering.time(60));
        assertEquals("1 h 01 min", Rendering.time(3661));
        assertEquals("2 d 01 h", Rendering.time(2 * 86_400 + 3600));
    }

    @Test
    void shouldDrawInPlaceOnlyOnATerminalThatTakesEscapeSequences() {
        assertEquals(Style.BAR, Style.of(true, false, false));
        assertEquals(Style.NONE, Style.of(true, true, false));
        assertEquals(Style.LINES, Style.of(true, true, true));
        assertEquals(Style.NONE, Style.of(false, false, false));
        assertEquals(Style.LINES, Style.of(false, false, true));
        assertTrue(ProgressOption.isDumb("dumb") && ProgressOption.isDumb("") && ProgressOption.isDumb(null));
        assertFalse(ProgressOption.isDumb("xterm-256color"));
    }

    @Test
    void shouldTakeTheWidthFromTheTerminalThenFromTheEnvironment() {
        assertEquals(132, ProgressOption.columns(OptionalInt.of(132), "60"));
        assertEquals(60, ProgressOption.columns(OptionalInt.of(0), "60"));
        assertEquals(80, ProgressOption.columns(OptionalInt.empty(), "wide"));
        assertEquals(80, ProgressOption.columns(OptionalInt.empty(), null));
    }
}
