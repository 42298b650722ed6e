package io.farpage.agent.data.pager.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** Eviction while a direct read is under way, and the inspections that find it. */
@Tag("portable")
final class PinnedPagesTest {
    private static final int PAGES = 40;
    private static final int LIMIT = 32;
    private static final Logger logger = (Logger) LoggerFactory.getLogger("io.farpage.agent");

    @BeforeAll
    static void beSilent() {
        logger.setLevel(Level.OFF);
    }

    @AfterAll
    static void logAgain() {
        logger.setLevel(null);
    }

    @Test
    void shouldKeepPageWhenInspectionBeganBeforeItWasPinned() {
        Replay.run(
                new Setup(2, 0, 1, 1, 1, 2, 4), World.LONG_NANOS, Step.parse("i d0/1 . . . g . . . . I . . . . . g"));
    }

    @Test
    void shouldRequestInspectionWhenAllItsPagesAreWriteProtected() {
        int[] askedWhenProtected = new int[PAGES];
        Set<Integer> copied = new HashSet<>();
        CalmSchedule schedule = new CalmSchedule()
                .then(world -> world.kernel()
                        .host()
                        .observe(page -> askedWhenProtected[page] = world.pins.asked(), page -> {
                            copied.add(page);
                            assertTrue(
                                    world.pins.asked() > askedWhenProtected[page],
                                    () -> "page " + page
                                            + " is copied; no inspection was asked for since it was protected");
                        }))
                .write(0, PAGES)
                .then(world -> assertFalse(copied.isEmpty(), world::toString));
        run(schedule);
    }

    /** All pages are clean, and as many are resident as may be. */
    private static CalmSchedule cleanPages() {
        return new CalmSchedule()
                .write(0, PAGES)
                .read(0, PAGES)
                .read(0, PAGES)
                .then(world -> assertEquals(0, world.agent.pager().status().dirtyPages(), world::toString));
    }

    private static void run(CalmSchedule schedule) {
        new World(new Setup(PAGES, 0, 1, LIMIT, 1, 8, World.MAX_FRAMES), schedule).run();
    }

    @Test
    void shouldEvictNothingWhenPinsMayLast() {
        run(cleanPages()
                .then(world -> world.pins.keep(true))
                .read(0, PAGES)
                .then(world -> assertEquals(PAGES, world.resident(), world::toString)));
    }

    @Test
    void shouldEvictOnlyCleanPagesWhenPinsMayNotLast() {
        run(cleanPages()
                .then(world -> world.pins.keep(false))
                .read(0, PAGES)
                .then(world -> assertTrue(world.resident() < LIMIT, world::toString))
                .write(0, PAGES)
                .then(world -> assertEquals(PAGES, world.agent.pager().status().dirtyPages(), world::toString)));
    }

    @Test
    void shouldLeaveWrittenPagesUnprotectedWhenPinsAreHeld() {
        run(cleanPages()
                .then(world -> {
                    world.pins.keep(false);
                    world.kernel()
                            .host()
                            .observe(
                                    page -> fail("page " + page + " is protected, which no inspection can follow"),
                                    page -> {});
                })
                .write(0, PAGES / 2)
                .read(PAGES / 2, PAGES)
                .read(PAGES / 2, PAGES));
    }

    @Test
    void shouldEvictCleanPagesWhenPinsKeepWrittenOnes() {
        CalmSchedule schedule = new CalmSchedule()
                .write(0, PAGES)
                .then(world -> world.guest.begin(world.threads.get(1), Step.Kind.DIRECT, PAGES - 1))
                .read(0, PAGES - 1)
                .then(world -> {
                    assertTrue(world.pins.isHeld());
                    assertTrue(world.kernel().isCached(PAGES - 1), "a pinned page was evicted");
                    assertTrue(world.agent.pager().status().dirtyPages() > 1, world::toString);
                    assertTrue(
                            world.resident()
                                    <= Math.max(
                                            LIMIT, world.agent.pager().status().dirtyPages()),
                            world::toString);
                })
                .then(world -> world.guest.goOn(world.threads.get(1)))
                .read(0, PAGES)
                .then(world -> assertTrue(world.resident() <= LIMIT, world::toString));
        new World(new Setup(PAGES, 0, 2, LIMIT, 1, 5, 15), schedule).run();
    }
}
