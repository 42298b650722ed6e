package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import io.farpage.access.Role;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Certificates;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.Directories;
import io.farpage.it.harness.Pages;
import io.farpage.it.harness.Rest;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A coordinator with certificates whose store is lost. */
@Tag("soak")
class SecuredRebuildTest {
    private static final int PAGE = 4096;

    @TempDir
    Path directory;

    @Test
    void shouldTakeReportsOnlyFromTheNodesThemselvesWhileItIsRebuilt() throws Exception {
        Certificates certificates = new Certificates(directory.resolve("ca"));
        try (Cluster cluster = Cluster.securedProcesses(certificates, Map.of(), "a", "b")) {
            cluster.makeSpace("s", 16, PAGE, "b");
            cluster.agent("a").putPage("s", 3, Pages.of(1, 3, PAGE)).expect(204);
            cluster.coordinatorProcess().process().kill();
            Directories.delete(cluster.coordinator().store());
            // Node c never reports, so the rebuild goes on until a person ends it.
            cluster.coordinatorProcess().rebuild("a", "b", "c");
            Rest coordinator = cluster.coordinator().rest();
            coordinator.with(certificates.anonymous()).get("/api/v1/rebuild").expect(401);
            coordinator
                    .with(certificates.tls("a"))
                    .sendJson("PUT", "/api/v1/rebuild/nodes/c", "{}")
                    .expect(403);
            for (Role role : List.of(Role.VIEWER, Role.OPERATOR)) {
                certificates
                        .as(role, coordinator)
                        .sendJson("POST", "/api/v1/rebuild/finish", "{\"without\":[\"c\"]}")
                        .expect(403);
            }
            await("both report", Deadlines.LONG)
                    .until(() -> certificates
                                    .as(Role.VIEWER, coordinator)
                                    .get("/api/v1/rebuild")
                                    .expect(200)
                                    .json()
                                    .get("reported")
                                    .size()
                            == 2);
            certificates
                    .as(Role.ADMIN, coordinator)
                    .sendJson("POST", "/api/v1/rebuild/finish", "{\"without\":[\"c\"]}")
                    .expect(200);
            await("both are active", Deadlines.LONG)
                    .ignoreExceptions()
                    .until(() -> cluster.client().nodes().stream()
                                    .filter(node -> node.status() == io.farpage.coordinator.model.NodeStatus.ACTIVE)
                                    .count()
                            == 2);
            assertArrayEquals(
                    Pages.of(1, 3, PAGE),
                    cluster.agent("a").page("s", 3).expect(200).body());
        }
    }
}
