package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.Directories;
import io.farpage.it.harness.NeedsUserfaultfd;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The coordinator loses or rolls back its store. The right store, or a rebuild, makes the cluster whole. */
@NeedsUserfaultfd
@Tag("soak")
@Tag("long")
class LostCoordinatorTest extends GuestUnderCoordinators {
    @Test
    void shouldRebuildADeletedStoreFromAgentsUnderARunningGuest() throws Exception {
        makeSpace("second", 2);
        makeSpace("deleted", 3);
        cluster.client().deleteSpace("deleted");
        await("deleted", Deadlines.LONG)
                .until(() -> cluster.client().space("deleted").isEmpty());
        makeSpace("third", 4);
        Map<String, Integer> spaces = Map.of("first", 1, "second", 2, "third", 4);
        List<SpaceExtents> before = extents();
        List<String> incarnations = incarnations();

        coordinator().process().kill();
        Directories.delete(coordinator().store());
        coordinator().restart();
        awaitNotObeyed("keeps cluster");
        assertServed(incarnations, spaces);
        assertEquals(List.of(), cluster.client().nodes(), "no agent has registered anew");

        coordinator().process().kill();
        Directories.delete(coordinator().store());
        coordinator().rebuild("a", "b", "c");
        awaitObeyed();
        assertEquals(incarnations, incarnations());
        assertWhole(before, spaces);
        assertGuestIsRight();
        // The rebuilt store is a store like any other.
        coordinator().process().kill();
        coordinator().restart();
        awaitObeyed();
        verify("third", 4);
    }

    @Test
    void shouldNotObeyAnOlderStoreAndRebuildIt() throws Exception {
        coordinator().process().kill();
        Path older = directory.resolve("older");
        copyStore(older);
        coordinator().restart();
        awaitObeyed();
        makeSpace("newer", 2);
        Map<String, Integer> spaces = Map.of("first", 1, "newer", 2);
        List<SpaceExtents> before = extents();
        List<String> incarnations = incarnations();

        coordinator().process().kill();
        Directories.delete(coordinator().store());
        Files.move(older, coordinator().store());
        coordinator().restart();
        awaitNotObeyed("older copy");
        assertServed(incarnations, spaces);
        assertEquals(
                503, coordinator().rest().get("/health").status(), "the coordinator has learned that it is behind");
        assertEquals(
                503,
                coordinator()
                        .rest()
                        .sendJson("POST", "/api/v1/spaces", "{\"name\":\"over-newer\",\"sizeBytes\":4096}")
                        .status());

        coordinator().process().kill();
        coordinator().rebuild("a", "b", "c");
        awaitObeyed();
        assertWhole(before, spaces);
        assertGuestIsRight();
    }

    @Test
    void shouldObeyNoOtherClustersCoordinatorAndResumeWithItsOwn() throws Exception {
        Map<String, Integer> spaces = Map.of("first", 1);
        List<SpaceExtents> before = extents();
        List<String> incarnations = incarnations();
        Path kept = directory.resolve("kept");
        Path others = directory.resolve("others");
        try (Cluster other = Cluster.startProcess()) {
            other.openAgent("a", Map.of());
            other.awaitActive("a", "");
            other.makeSpace("theirs", SPACE_PAGES, 4096, "a");
            other.coordinatorProcess().process().kill();
            Files.move(other.coordinator().store(), others);
        }
        coordinator().process().kill();
        Files.move(coordinator().store(), kept);
        Files.move(others, coordinator().store());
        coordinator().restart();
        awaitNotObeyed("keeps cluster");
        assertServed(incarnations, spaces);

        coordinator().process().kill();
        Directories.delete(coordinator().store());
        Files.move(kept, coordinator().store());
        coordinator().restart();
        awaitObeyed();
        assertEquals(incarnations, incarnations());
        assertWhole(before, spaces);
        assertGuestIsRight();
    }
}
