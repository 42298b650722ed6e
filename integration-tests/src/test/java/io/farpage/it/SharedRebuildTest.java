package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.CheckedPages;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.PagedRam;
import io.farpage.it.harness.SharedCluster;
import io.farpage.it.harness.Trouble;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Coordinators whose etcd has lost everything. One of them is started with {@code --rebuild}, and etcd has all again.
 */
@NeedsUserfaultfd
@Tag("soak")
class SharedRebuildTest {
    private static final int PAGE = 4096;
    private static final int PAGES = 256;

    @TempDir
    private Path directory = Path.of("");

    @Test
    void shouldRebuildInEtcdWhatAgentsKnowUnderARunningGuest() throws Exception {
        SharedCluster.missing().ifPresent(reason -> assumeTrue(false, reason));
        try (SharedCluster cluster = new SharedCluster(directory, "a", "b", "c")) {
            try (PagedRam ram = attach(cluster);
                    CheckedPages load = CheckedPages.start(ram, PAGES, 1)) {
                load.awaitEachThread(PAGES);
                SpaceExtents before = cluster.client().extents("guest").orElseThrow();
                List<String> incarnations = incarnations(cluster);
                cluster.loseStore();
                cluster.rebuild();
                cluster.awaitWhole();
                assertEquals(incarnations, incarnations(cluster), "no node has joined anew");
                assertEquals(
                        before.extents(),
                        cluster.client().extents("guest").orElseThrow().extents());
                // Another coordinator finds the rebuilt state in etcd.
                cluster.begin(Trouble.KILL_LEADER, 0);
                await("another leads", Deadlines.LONG.multipliedBy(3))
                        .ignoreExceptions()
                        .until(() -> incarnations(cluster).equals(incarnations));
                cluster.end();
                cluster.awaitWhole();
                assertEquals(
                        before.extents(),
                        cluster.client().extents("guest").orElseThrow().extents());
                load.awaitEachThread(PAGES);
                assertEquals(List.of(), load.faults());
            } catch (Exception | Error e) {
                System.err.println(cluster.describe());
                throw e;
            }
        }
    }

    private static List<String> incarnations(SharedCluster cluster) throws Exception {
        return cluster.client().nodes().stream()
                .map(node -> node.id() + " " + node.incarnation())
                .sorted()
                .toList();
    }

    private PagedRam attach(SharedCluster cluster) {
        Path socket = directory.resolve("vmm");
        cluster.agent("a")
                .rest()
                .sendJson("PUT", "/api/v1/spaces/guest/guest", """
                        {"socket": "%s", "sizeBytes": %d, "pageSize": %d, "homes": ["b"], \
                        "localBytes": %d}""".formatted(
                                socket, (long) PAGES * PAGE, PAGE, (long) PAGES / 4 * PAGE))
                .expect(200);
        PagedRam ram = PagedRam.handOver(socket, PAGES);
        await("the guest is attached", Deadlines.LONG)
                .until(() -> cluster.agent("a")
                        .rest()
                        .get("/api/v1/spaces/guest")
                        .expect(200)
                        .json()
                        .get("state")
                        .asString()
                        .equals("attached"));
        return ram;
    }
}
