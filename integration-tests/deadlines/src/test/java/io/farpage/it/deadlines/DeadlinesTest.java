package io.farpage.it.deadlines;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.OptionalDouble;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.core.TerminalFailureException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Waits, and the probe, on the machine as it is: no bound of time. */
@Tag("portable")
class DeadlinesTest {
    private static final long SECOND = 1_000_000_000L;
    private static final Duration MOMENT = Duration.ofMillis(100);

    @Test
    void shouldWaitUntilTheConditionHolds() {
        AtomicInteger asked = new AtomicInteger();
        int last = Deadlines.await("the third answer", Deadlines.LONG).until(asked::incrementAndGet, n -> n == 3);
        assertEquals(3, last);
    }

    /** Each look at the clock moves it by a second, so the deadline is over at the first poll. */
    @Test
    void shouldSayWhatTheMachineGaveWhenAWaitFails() {
        TerminalFailureException failed = assertThrows(
                TerminalFailureException.class,
                () -> Deadlines.await("the sun at night", MOMENT, new GivenMachine(SECOND))
                        .untilAsserted(() -> assertEquals("sun", "moon", "above the horizon")));
        String said = String.valueOf(failed.getCause());
        assertTrue(
                said.contains(
                        "the sun at night: not within 0.1 s of a quiet machine; waited 1.0 s, which count as 0.5 s:"
                                + " a thread got at least 50% of a CPU"),
                said);
    }

    @Test
    void shouldSayWhatDidNotHoldWhenAWaitFails() {
        GivenMachine machine = new GivenMachine(SECOND / 10);
        TerminalFailureException failed = assertThrows(
                TerminalFailureException.class,
                () -> Deadlines.await("the sun at night", MOMENT, machine)
                        .pollInterval(Duration.ofMillis(1))
                        .untilAsserted(() -> assertEquals("sun", "moon", "above the horizon")));
        String said = String.valueOf(failed.getCause());
        assertTrue(said.contains("waited 0.2 s, which count as 0.1 s"), said);
        assertTrue(said.contains("above the horizon"), said);
    }

    /** The clock of the wait stands still, so the deadline is never over. */
    @Test
    void shouldSayWhatTheMachineGaveWhenAwaitilityEndsTheWait() {
        AssertionError failed = assertThrows(
                AssertionError.class,
                () -> Deadlines.await("the sun at night", MOMENT, new GivenMachine(0))
                        .atMost(Duration.ofMillis(150))
                        .untilAsserted(() -> assertEquals("sun", "moon", "above the horizon")));
        String said = failed.toString();
        assertTrue(said.contains("the sun at night: not within 0.1 s of a quiet machine; waited 0.0 s"), said);
        assertTrue(said.contains("a thread got at least 50% of a CPU"), said);
        assertTrue(said.contains("ended by Awaitility"), said);
    }

    @Test
    void shouldFailAWaitOfTheCallersOwnWhenTheDeadlineIsOver() {
        GivenMachine machine = new GivenMachine(SECOND / 10);
        Deadlines.Wait wait = new Deadlines.Wait("the sun at night", MOMENT, machine);
        assertFalse(wait.isOver(), "half of a tenth of a second counts");
        AssertionError failed = assertThrows(AssertionError.class, wait::check);
        assertTrue(failed.toString().contains("waited 0.2 s, which count as 0.1 s"), failed.toString());
    }

    @Test
    void shouldPassOnTheFailureOfATask() throws Exception {
        assertEquals(7, Deadlines.get("seven", MOMENT, CompletableFuture.completedFuture(7)));
        ExecutionException failed = assertThrows(
                ExecutionException.class,
                () -> Deadlines.get(
                        "seven", MOMENT, CompletableFuture.failedFuture(new IllegalStateException("no seven"))));
        assertTrue(failed.toString().contains("no seven"), failed.toString());
    }

    @Test
    void shouldGiveNoLessThanTheTimeOfAQuietMachine() {
        assertTrue(Deadlines.of(MOMENT).compareTo(MOMENT) >= 0);
        assertTrue(Deadlines.of(MOMENT).compareTo(MOMENT.multipliedBy(Deadline.LONGEST)) <= 0);
    }

    @Test
    void shouldReadThePressureOfTheKernel() {
        assertEquals(OptionalDouble.of(0.2458), CpuProbe.pressure("""
                        some avg10=24.58 avg60=24.75 avg300=28.99 total=217961976
                        full avg10=0.00 avg60=0.00 avg300=0.00 total=0
                        """));
        assertEquals(OptionalDouble.empty(), CpuProbe.pressure(""));
    }

    @Test
    void shouldReadAShareOfOneCpu() {
        CpuProbe probe = new CpuProbe();
        Reading reading = probe.read();
        assertTrue(reading.share() > 0 && reading.share() <= 1, reading.toString());
        assertEquals(reading.share(), probe.recent(Long.MAX_VALUE).share());
    }

    /**
     * Gives half of a CPU. Each call of {@link #nanos} moves the clock by one step; a reading has the time of the
     * latest call.
     */
    private static final class GivenMachine implements Machine {
        private final long step;
        private long nanos;

        GivenMachine(long step) {
            this.step = step;
        }

        @Override
        public long nanos() {
            nanos += step;
            return nanos;
        }

        @Override
        public Reading read() {
            return new Reading(nanos, 0.5, OptionalDouble.empty());
        }

        @Override
        public Reading recent(long within) {
            return read();
        }
    }
}
