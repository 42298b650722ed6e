package io.farpage.it.simulation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Which faults of a failing seed are left out. */
class ShorteningTest {
    private static final int FAULTS = 40;
    private final List<String> tried = new ArrayList<>();

    private static Simulation.Outcome failed(String how) {
        return new Simulation.Outcome(7, how, "", "steps of " + how, 0, FAULTS, 1);
    }

    /** Fails as long as the faults 3 and 17 come; in another way if 5 does not. */
    private Simulation.Outcome run(Map<String, String> options) {
        tried.add(options.get("without"));
        List<String> without = Arrays.asList(options.get("without").split(","));
        boolean fails = !without.contains("3") && !without.contains("17");
        String how = without.contains("5") ? "not within 60 s: nodes are registered" : "guest g1, page 12: zeros";
        return failed(fails ? how : "");
    }

    @Test
    void shouldKeepTheFaultsThatTheFailureOfTheSeedNeeds() {
        String result = new Shortening(this::run, Map.of("seconds", "20", "seed", "7"), TimeUnit.HOURS.toNanos(1))
                .of(failed("guest g2, page 3: zeros"));

        String without = String.join(
                ",",
                IntStream.rangeClosed(1, FAULTS)
                        .filter(fault -> fault != 3 && fault != 5 && fault != 17)
                        .mapToObj(String::valueOf)
                        .toList());
        assertTrue(
                result.endsWith("3 of 40 faults are left after %d runs: --seed 7 --seconds 20 --without %s"
                        .formatted(tried.size(), without)),
                result);
    }

    @Test
    void shouldTellFailuresApartByWhatTheySayBesideNumbersAndNodes() {
        assertEquals(
                Shortening.kind(failed("a drops b, which has no fault: space x12 of 0123456789abcdef")),
                Shortening.kind(failed("c drops d, which has no fault: space x3 of fedcba9876543210")));
    }
}
