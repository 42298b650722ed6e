package io.farpage.agent.control.pins;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.agent.control.pins.Finding.Kind;
import java.util.Optional;
import org.junit.jupiter.api.Test;

final class PinVerdictTest {
    private static final Finding CHANGING = new Finding(Kind.CHANGING, "too fast");
    private static final Finding DIRECT = new Finding(Kind.DIRECT_IO, "fd 7");

    private final PinVerdict verdict = new PinVerdict();

    private void judge(Finding found, long now) {
        verdict.judge(found, found.isClear() || found.mayPin(), now);
    }

    @Test
    void shouldHoldForGoodWhatWasFoundOnce() {
        judge(DIRECT, 0);
        judge(Finding.CLEAR, 1);
        judge(new Finding(Kind.LASTING, "fd 8"), 2);
        assertEquals(Optional.of("fd 7"), verdict.reason());
    }

    @Test
    void shouldWaitForAProcessThatChangesFast() {
        judge(CHANGING, 0);
        judge(CHANGING, PinVerdict.UNKNOWN_NANOS);
        assertEquals(Optional.empty(), verdict.reason());
        judge(CHANGING, PinVerdict.UNKNOWN_NANOS + 1);
        assertEquals(Optional.of("too fast"), verdict.reason());
    }

    @Test
    void shouldCountFromTheLastInspectionThatToldSomething() {
        judge(CHANGING, 0);
        judge(Finding.CLEAR, PinVerdict.UNKNOWN_NANOS);
        judge(CHANGING, PinVerdict.UNKNOWN_NANOS + 1);
        judge(CHANGING, 2 * PinVerdict.UNKNOWN_NANOS + 1);
        assertEquals(Optional.empty(), verdict.reason());
    }

    @Test
    void shouldNotSuspectAProcessThatIsGone() {
        judge(new Finding(Kind.GONE, "gone"), 0);
        judge(new Finding(Kind.GONE, "gone"), 2 * PinVerdict.UNKNOWN_NANOS);
        assertEquals(Optional.empty(), verdict.reason());
    }
}
