package io.farpage.agent.data.pager.model;

import ch.qos.logback.classic.Level;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The agent is killed at any step, before and after each of its calls into the kernel, and another one adopts what it
 * has left; that one may be killed in the midst of that. The {@link Invariants} hold all the same.
 */
@Tag("portable")
final class AdoptionModelTest {
    private static final int RUNS = 200;
    private static final int SOAK_RUNS =
            Integer.getInteger("farpage.runs", 200 * Integer.getInteger("farpage.soak.percent", 100));
    private static final Duration WHOLE = Duration.ofSeconds(60);
    private static final Duration PART = Duration.ofMillis(250);
    private static final Duration SOAK_PART = Duration.ofSeconds(5);
    private static final Duration LONG = Duration.ofMinutes(5);

    @BeforeAll
    static void beSilent() {
        PagingModelTest.logger.setLevel(Level.OFF);
    }

    @AfterAll
    static void logAgain() {
        PagingModelTest.logger.setLevel(null);
    }

    /** The same schedules each time. */
    @Test
    void shouldKeepEveryPageInFixedSchedules() {
        PagingModelTest.run(random -> Setup.random(random, Set.of(Feature.KEPT)), 3, RUNS, WHOLE);
    }

    /** The same schedules each time. The guest gives up parts of pages, too. */
    @Test
    void shouldKeepEveryLargePageInFixedSchedules() {
        PagingModelTest.run(
                random -> Setup.random(random, EnumSet.of(Feature.KEPT, Feature.LARGE_PAGES)), 6, RUNS, WHOLE);
    }

    @ParameterizedTest
    @EnumSource(names = {"TWO_HOMES", "MIRRORED", "JOINING", "SEALED", "SCARCE_MEMORY"})
    void shouldKeepEveryLargePageWith(Feature feature) {
        PagingModelTest.run(
                random -> Setup.random(random, EnumSet.of(Feature.KEPT, Feature.LARGE_PAGES, feature)),
                PagingModelTest.anySeed(),
                RUNS,
                Duration.ofSeconds(1));
    }

    @Test
    void shouldKeepEveryPageWithTwoHomes() {
        PagingModelTest.run(
                random -> Setup.random(random, EnumSet.of(Feature.KEPT, Feature.TWO_HOMES)),
                PagingModelTest.anySeed(),
                RUNS,
                Duration.ofSeconds(1));
    }

    /** The same schedules each time. Tags and versions outlive the agent, and the successor seals under another key. */
    @Test
    void shouldKeepEverySealedPageInFixedSchedules() {
        PagingModelTest.run(random -> Setup.random(random, EnumSet.of(Feature.KEPT, Feature.SEALED)), 5, RUNS, WHOLE);
    }

    @ParameterizedTest
    @EnumSource(names = {"TWO_HOMES", "MIRRORED", "JOINING"})
    void shouldKeepEverySealedPageAtSeveralHomes(Feature feature) {
        PagingModelTest.run(
                random -> Setup.random(random, EnumSet.of(Feature.KEPT, Feature.SEALED, feature)),
                PagingModelTest.anySeed(),
                RUNS,
                Duration.ofSeconds(1));
    }

    /**
     * The same schedules each time. Each page has several homes; one of them may be dropped, and another one joining,
     * when the agent is killed.
     */
    @ParameterizedTest
    @EnumSource(names = {"MIRRORED", "JOINING"})
    void shouldKeepEveryPageAtSeveralHomesInFixedSchedules(Feature feature) {
        PagingModelTest.run(random -> mirrored(random, feature), 4, RUNS, WHOLE);
    }

    @ParameterizedTest
    @EnumSource(names = {"MIRRORED", "JOINING"})
    void shouldKeepEveryPageAtSeveralHomes(Feature feature) {
        PagingModelTest.run(
                random -> mirrored(random, feature), PagingModelTest.anySeed(), RUNS, Duration.ofSeconds(1));
    }

    /** Half of the worlds are small and evict much. */
    private static Setup mirrored(SplittableRandom random, Feature feature) {
        if (random.nextBoolean()) {
            return Setup.random(random, EnumSet.of(Feature.KEPT, feature));
        }
        int pages = random.nextInt(2, 7);
        int slots = random.nextInt(4, 9);
        return new Setup(pages, 0, random.nextInt(2, 5), random.nextInt(1, 4), 1, slots, 8).with(Feature.KEPT, feature);
    }

    @ParameterizedTest
    @ValueSource(strings = {"w0/0 ; w1/1", "w0/0 C0/0 r0/0", "w0/1 w0/0 ; C1/0 r1/0"})
    void shouldKeepEveryLargePageWhenAgentIsKilledAtAnyStep(String programs) {
        PagingModelTest.explore(programs, false, PART, Feature.KEPT, Feature.LARGE_PAGES);
    }

    @ParameterizedTest
    @ValueSource(strings = {"w0/0 ; w1/1", "w0/0 b0/0", "z0/0 ; w1/0", "w0/1 w0/0 ; B1/0 r1/1"})
    void shouldKeepEveryPageWhenAgentIsKilledAtAnyStep(String programs) {
        PagingModelTest.explore(programs, false, PART, Feature.KEPT);
    }

    @Test
    @Tag("soak")
    void shouldKeepEveryPageInManySchedules() {
        PagingModelTest.run(
                random -> Setup.random(random, Set.of(Feature.KEPT)), PagingModelTest.anySeed(), SOAK_RUNS, LONG);
    }

    @Test
    @Tag("soak")
    void shouldKeepEveryLargePageInManySchedules() {
        PagingModelTest.run(
                random -> Setup.random(random, EnumSet.of(Feature.KEPT, Feature.LARGE_PAGES)),
                PagingModelTest.anySeed(),
                SOAK_RUNS / 4,
                LONG);
    }

    @Test
    @Tag("soak")
    void shouldKeepEverySealedPageInManySchedules() {
        PagingModelTest.run(
                random -> Setup.random(random, EnumSet.of(Feature.KEPT, Feature.SEALED)),
                PagingModelTest.anySeed(),
                SOAK_RUNS,
                LONG);
    }

    @ParameterizedTest
    @Tag("soak")
    @EnumSource(names = {"MIRRORED", "JOINING"})
    void shouldKeepEveryPageAtSeveralHomesInManySchedules(Feature feature) {
        PagingModelTest.run(random -> mirrored(random, feature), PagingModelTest.anySeed(), SOAK_RUNS, LONG);
    }

    @ParameterizedTest
    @Tag("soak")
    @ValueSource(
            strings = {"w0/0 ; w1/1", "w0/0 b0/0", "z0/0 ; w1/0", "w0/1 w0/0 ; B1/0 r1/1", "w0/0 r0/1 ; w1/1 r1/0"})
    void shouldKeepEveryPageInManyOrdersWhenAgentOrVmmIsKilled(String programs) {
        PagingModelTest.explore(programs, true, SOAK_PART, Feature.KEPT);
    }
}
