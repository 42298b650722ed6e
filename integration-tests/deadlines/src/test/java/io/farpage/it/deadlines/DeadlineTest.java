package io.farpage.it.deadlines;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The rule of deadlines, on readings that the test gives. */
@Tag("portable")
class DeadlineTest {
    private static final long SECOND = 1_000_000_000L;
    /** So that the clock wraps round within the wait, as nanoTime may. */
    private static final long BEGIN = Long.MAX_VALUE - 3 * SECOND;

    private static Reading reading(int second, double share) {
        return new Reading(BEGIN + second * SECOND, share, OptionalDouble.empty());
    }

    private static Reading pressed(int second, double pressure) {
        return new Reading(BEGIN + second * SECOND, 1, OptionalDouble.of(pressure));
    }

    private static Deadline tenSeconds(Reading first) {
        return new Deadline("the port", Duration.ofSeconds(10), first);
    }

    /** The second in which a deadline that goes on with the same share is over. */
    private static int over(Deadline deadline, int from, double share) {
        int second = from;
        while (!deadline.isOver()) {
            deadline.onReading(reading(++second, share));
        }
        return second;
    }

    @Test
    void shouldEndAtTheGivenTimeOnAQuietMachine() {
        assertEquals(10, over(tenSeconds(reading(0, 1)), 0, 1));
    }

    @Test
    void shouldEndLaterByTheShareThatAThreadGets() {
        assertEquals(40, over(tenSeconds(reading(0, 0.25)), 0, 0.25));
    }

    @Test
    void shouldEndAtTwelveTimesTheGivenTimeWhenTheMachineGivesNothing() {
        assertEquals(120, over(tenSeconds(reading(0, 0.001)), 0, 0.001));
    }

    @Test
    void shouldProlongAWaitThatIsDisturbedAfterItHasBegun() {
        Deadline deadline = tenSeconds(reading(0, 1));
        for (int second = 1; second <= 5; second++) {
            deadline.onReading(reading(second, 1));
        }
        assertEquals(5 + 20, over(deadline, 5, 0.25));
    }

    @Test
    void shouldNotProlongAWaitBecauseOfWhatWasBeforeIt() {
        Deadline deadline = tenSeconds(reading(0, 0.1));
        // One second counts as a tenth, by the reading at its beginning, and all after it in full.
        assertEquals(11, over(deadline, 0, 1));
    }

    @Test
    void shouldCountAnIntervalByTheWorseOfItsEnds() {
        Deadline deadline = tenSeconds(reading(0, 1));
        deadline.onReading(reading(20, 0.5));
        assertTrue(deadline.isOver());
        deadline = tenSeconds(reading(0, 1));
        deadline.onReading(reading(19, 0.5));
        assertFalse(deadline.isOver());
    }

    @Test
    void shouldEndLaterUnderCpuPressure() {
        Deadline deadline = tenSeconds(pressed(0, 1));
        deadline.onReading(pressed(39, 1));
        assertFalse(deadline.isOver());
        deadline.onReading(pressed(40, 1));
        assertTrue(deadline.isOver());
    }

    @Test
    void shouldGoByTheWorseOfShareAndPressure() {
        assertEquals(0.25, new Reading(0, 0.8, OptionalDouble.of(1)).given());
        assertEquals(0.1, new Reading(0, 0.1, OptionalDouble.of(0.2)).given());
        assertEquals(1, new Reading(0, 1, OptionalDouble.of(0)).given());
        assertEquals(1.0 / 12, new Reading(0, 0.01, OptionalDouble.of(1)).given());
    }

    @Test
    void shouldTellThatItGoesOnPastTheGivenTime() {
        Deadline deadline = tenSeconds(reading(0, 0.5));
        deadline.onReading(reading(9, 0.5));
        assertFalse(deadline.isProlonged());
        deadline.onReading(reading(12, 0.5));
        assertTrue(deadline.isProlonged());
        deadline.onReading(reading(20, 0.5));
        assertFalse(deadline.isProlonged());
    }

    @Test
    void shouldSayWhatWasAwaitedHowLongAndWhatTheMachineGave() {
        Deadline deadline = tenSeconds(new Reading(0, 0.5, OptionalDouble.of(0.2)));
        deadline.onReading(new Reading(30 * SECOND, 0.4, OptionalDouble.of(0.1)));
        assertEquals(
                "the port: not within 10.0 s of a quiet machine; waited 30.0 s, which count as 12.0 s: a thread got at"
                        + " least 40% of a CPU, at last 40%; CPU pressure at most 20%, at last 10%",
                deadline.describe());
    }

    @Test
    void shouldSayThatThePressureIsUnknown() {
        assertTrue(tenSeconds(reading(0, 1)).describe().endsWith("CPU pressure unknown"));
    }
}
