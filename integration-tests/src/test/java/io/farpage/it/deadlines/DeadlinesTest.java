package io.farpage.it.deadlines;

import static org.junit.jupiter.api.Assertions.assertEquals;
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
    private static final Duration MOMENT = Duration.ofMillis(100);

    @Test
    void shouldWaitUntilTheConditionHolds() {
        AtomicInteger asked = new AtomicInteger();
        int last = Deadlines.await("the third answer", Deadlines.LONG).until(asked::incrementAndGet, n -> n == 3);
        assertEquals(3, last);
    }

    @Test
    void shouldSayWhatTheMachineGaveWhenAWaitFails() {
        TerminalFailureException failed = assertThrows(
                TerminalFailureException.class,
                () -> Deadlines.await("the sun at night", MOMENT)
                        .untilAsserted(() -> assertEquals("sun", "moon", "above the horizon")));
        String said = String.valueOf(failed.getCause());
        assertTrue(said.contains("the sun at night: not within 0.1 s of a quiet machine; waited "), said);
        assertTrue(said.contains("of a CPU"), said);
        assertTrue(said.contains("above the horizon"), said);
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
}
