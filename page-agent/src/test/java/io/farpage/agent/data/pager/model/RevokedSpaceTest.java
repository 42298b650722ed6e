package io.farpage.agent.data.pager.model;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** A space that is revoked while its pages are copied to a home that joins: the frames may be another space's soon. */
final class RevokedSpaceTest {
    private static final int PAGES = 40;
    private static final int JOINS = 2;
    /** Many more than the copy would take. */
    private static final int CYCLES = 100;

    @Test
    void shouldStayCutOffWhenRevokedDuringACopy() {
        Setup setup = new Setup(PAGES, 0, 1, 32, 1, 8, World.MAX_FRAMES).with(Feature.JOINING);
        CalmSchedule copying = new CalmSchedule()
                .write(0, PAGES)
                .then(world -> world.coordinator.join(JOINS))
                .then(world -> world.coordinator.beginPull(JOINS))
                .write(0, PAGES)
                .hold()
                .then(RevokedSpaceTest::pull)
                .then(RevokedSpaceTest::revoke);
        new World(setup, copying).run();
    }

    /** After this the agent copies what it has written home meanwhile. */
    private static void pull(World world) {
        while (world.fabric.canPull(0)) {
            world.fabric.pull(0);
        }
        assertTrue(world.fabric.canEndPull(JOINS), world::toString);
        world.coordinator.endPull(JOINS);
    }

    private static void revoke(World world) {
        assertTrue(
                isUnderWay(world),
                () -> "the copy has begun: " + world.agent.pager().copies() + world);
        world.coordinator.revoke();
        answer(world);
        world.runCycle();
        assertTrue(world.agent.pager().isCutOff());
        for (int cycle = 0; cycle < CYCLES; cycle++) {
            world.runCycle();
            assertFalse(isUnderWay(world));
            assertTrue(world.agent.pager().isCutOff());
        }
    }

    private static boolean isUnderWay(World world) {
        return world.fabric.isAny(home -> !home.underWay().isEmpty());
    }

    private static void answer(World world) {
        world.fabric.homes().forEach(home -> {
            while (!home.underWay().isEmpty()) {
                home.network().complete();
            }
        });
    }
}
