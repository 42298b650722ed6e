package io.farpage.agent.data.pager.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.pager.model.Step.Kind;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Which pages leave when a guest is parked, and which come back. */
final class ParkedGuestTest {
    private static final int PAGES = 60;
    private static final int KEEP = 16;
    /** Pages that a replay leaves free at the limits here. */
    private static final int FREE = 16;

    private static void run(int limit, CalmSchedule schedule, Feature... features) {
        new World(new Setup(PAGES, 0, 1, limit, 1, 8, World.MAX_FRAMES).with(features), schedule).run();
    }

    private static List<Integer> resident(World world) {
        return IntStream.range(0, PAGES)
                .filter(world.kernel()::isCached)
                .boxed()
                .toList();
    }

    private static List<Integer> pages(int first, int end) {
        return IntStream.range(first, end).boxed().toList();
    }

    private static void park(World world) {
        world.agent.park(KEEP);
    }

    private static void unpark(World world) {
        world.agent.unpark();
    }

    @Test
    void shouldBringBackWhatWasResidentWhenGuestIsUnparked() {
        run(
                PAGES,
                new CalmSchedule()
                        .write(0, 40)
                        .then(ParkedGuestTest::park)
                        .then(world -> assertTrue(world.resident() <= KEEP, world::toString))
                        .then(ParkedGuestTest::unpark)
                        .then(world -> assertEquals(pages(0, 40), resident(world))));
    }

    @Test
    void shouldNotBringBackPagesThatHadLeftBefore() {
        run(
                24,
                new CalmSchedule()
                        .write(0, 40)
                        .then(world -> assertTrue(world.resident() <= 24, world::toString))
                        .then(world -> world.agent.resize(PAGES))
                        .write(0, 2)
                        .then(ParkedGuestTest::park)
                        .then(ParkedGuestTest::unpark)
                        .then(world -> assertTrue(world.resident() <= 26, world::toString))
                        .then(world -> assertTrue(resident(world).containsAll(List.of(0, 1)), world::toString)));
    }

    @Test
    void shouldBringBackAsMuchAsTheLimitLeavesRoomFor() {
        run(
                PAGES,
                new CalmSchedule()
                        .write(0, 40)
                        .then(ParkedGuestTest::park)
                        .then(world -> world.agent.resize(32))
                        .then(ParkedGuestTest::unpark)
                        .then(world -> assertEquals(pages(0, 32 - FREE), resident(world)))
                        .then(ParkedGuestTest::park)
                        .then(world -> world.agent.resize(PAGES))
                        .then(ParkedGuestTest::unpark)
                        .then(world -> assertEquals(pages(0, 32 - FREE), resident(world), "the rest is forgotten")));
    }

    @Test
    void shouldServeFaultsWhileParked() {
        run(
                PAGES,
                new CalmSchedule()
                        .write(0, 40)
                        .then(ParkedGuestTest::park)
                        .read(0, PAGES)
                        .write(0, PAGES)
                        .then(world -> assertTrue(world.agent.pager().isParked()))
                        .then(world -> assertTrue(world.resident() <= KEEP, world::toString)));
    }

    @Test
    void shouldStayParkedWhenAgentIsKilled() {
        run(
                PAGES,
                new CalmSchedule()
                        .write(0, 40)
                        .then(ParkedGuestTest::park)
                        .then(world -> world.agent.kill(Step.of(Kind.KILL), false))
                        .then(world -> assertEquals(1, world.agent.kills()))
                        .then(world -> world.fabric.homes().forEach(home -> home.connect(world.agent.shard())))
                        .then(world -> assertTrue(world.resident() <= KEEP, world::toString))
                        .then(ParkedGuestTest::unpark)
                        .then(world -> assertEquals(pages(0, 40), resident(world))),
                Feature.KEPT);
    }
}
