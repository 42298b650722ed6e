package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Answer;
import io.farpage.it.harness.CoordinatorProcess;
import io.farpage.it.harness.Directories;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.Pages;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Two coordinators run on copies of one store, one after the other or at the same time. */
@NeedsUserfaultfd
@Tag("soak")
@Tag("long")
class TwoCoordinatorsTest extends GuestUnderCoordinators {
    /**
     * The second coordinator takes the place of the first at the same address, as behind a name that was moved; then
     * the first is back.
     */
    @Test
    void shouldNotObeyTheOlderOfTwoCoordinatorsOnCopiesOfOneStore() throws Exception {
        Map<String, Integer> spaces = Map.of("first", 1);
        List<SpaceExtents> before = extents();
        List<String> incarnations = incarnations();
        Path first = directory.resolve("first");
        coordinator().process().kill();
        copyStore(first);
        coordinator().restart();
        awaitObeyed();
        coordinator().process().kill();
        Path second = directory.resolve("second");
        Files.move(coordinator().store(), second);
        Files.move(first, coordinator().store());
        coordinator().restart();
        awaitNotObeyed("copies of one store");
        assertServed(incarnations, spaces);

        coordinator().process().kill();
        Directories.delete(coordinator().store());
        Files.move(second, coordinator().store());
        coordinator().restart();
        awaitObeyed();
        assertWhole(before, spaces);
        assertGuestIsRight();
    }

    /**
     * Two coordinators run on copies of one store at the same time. Agents a and b use the first; c is started anew and
     * uses the second. Neither coordinator introduces c to b, so c reaches no page, although it knows the spaces.
     */
    @Test
    void shouldMixNothingUpWhenTwoCoordinatorsServeCopiesOfAStore() throws Exception {
        List<String> incarnations = incarnations();
        coordinator().process().kill();
        Path second = directory.resolve("second");
        copyStore(second.resolve("store"));
        coordinator().restart();
        awaitObeyed();
        CoordinatorProcess other = cluster.startAnotherCoordinator(second);
        cluster.process("c").process().kill();
        cluster.startAgent("c", Map.of("coordinator.url", other.rest().base().toString(), "fetch.deadline", "500ms"));

        // Each side says which nodes it misses.
        awaitNodeStatus(coordinator(), "c", "failed");
        awaitNodeStatus(other, "c", "active");
        awaitNodeStatus(other, "a", "failed");
        awaitNodeStatus(other, "b", "failed");
        awaitNodeStatus(coordinator(), "a", "active");

        // The second coordinator lets c learn where pages live; c neither reads nor writes them.
        for (long page = 0; page < 2; page++) {
            assertTrue(cluster.agent("c").page("first", page).status() >= 400);
            assertTrue(cluster.agent("c")
                            .putPage("first", page, Pages.of(77, page, 4096))
                            .status()
                    >= 400);
        }
        // Room of b is given to none but the first coordinator's spaces, and the guest's space to none.
        Answer made = other.rest()
                .sendJson("POST", "/api/v1/spaces", "{\"name\":\"over\",\"sizeBytes\":4096,\"homes\":[\"b\"]}");
        assertTrue(made.status() >= 400, made::toString);
        Answer taken = new Guests(cluster, "c", "b")
                .tryAttach("vm", "{\"socket\": \"%s\", \"force\": true}".formatted(directory.resolve("taken")));
        assertEquals(409, taken.status(), taken::toString);
        // Accepted there at most as a wish: the homes that would have to cut a off obey the first.
        other.rest().send("DELETE", "/api/v1/spaces/vm?force=true", "", new byte[0]);
        other.rest().send("DELETE", "/api/v1/spaces/first?force=true", "", new byte[0]);

        cluster.makeSpace("afterwards", SPACE_PAGES, 4096, "b");
        for (long page = 0; page < SPACE_PAGES; page++) {
            cluster.agent("a")
                    .putPage("afterwards", page, Pages.of(5, page, 4096))
                    .expect(204);
        }
        assertGuestIsRight();
        verify("a", "first", 1);
        verify("a", "afterwards", 5);
        assertEquals(incarnations.subList(0, 2), incarnations().subList(0, 2), "a and b have not begun anew");

        // The mistake is mended: c is configured to the first coordinator again.
        cluster.process("c").process().kill();
        other.process().kill();
        cluster.startAgent("c", Map.of());
        awaitObeyed();
        cluster.awaitAllLinks();
        verify("first", 1);
        verify("afterwards", 5);
        assertGuestIsRight();
    }

    private static void awaitNodeStatus(CoordinatorProcess at, String node, String status) {
        await(node + " is " + status, Deadlines.LONG)
                .ignoreExceptions()
                .until(() -> at.rest()
                        .get("/api/v1/nodes/" + node)
                        .expect(200)
                        .json()
                        .get("status")
                        .asString()
                        .equals(status));
    }
}
