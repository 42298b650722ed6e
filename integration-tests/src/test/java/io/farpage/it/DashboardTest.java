package io.farpage.it;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.CloneRequest;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.it.harness.Axe;
import io.farpage.it.harness.Chromium;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.ClusterLog;
import io.farpage.it.harness.Pictures;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The dashboard of a coordinator with three agents, in a browser. */
@Tag("portable")
@Tag("processes")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class DashboardTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(30);

    private Optional<Chromium> browser = Optional.empty();
    private Optional<Cluster> cluster = Optional.empty();

    @RegisterExtension
    final ClusterLog log = new ClusterLog(this::cluster);

    @BeforeAll
    void start() throws CoordinatorException {
        browser = Optional.of(Chromium.start());
        cluster = Optional.of(Cluster.of("a", "b", "c"));
        cluster()
                .client()
                .createSpace(new SpaceRequest("mirrored", 1 << 20, OptionalInt.of(4096), Optional.of(List.of("b", "c")))
                        .withReplicas(2));
        cluster().makeSpace("vm1", 256, 4096, "b");
    }

    @AfterAll
    void close() {
        browser.ifPresent(Chromium::close);
        cluster.ifPresent(Cluster::close);
    }

    private Chromium browser() {
        return browser.orElseThrow();
    }

    private Cluster cluster() {
        return cluster.orElseThrow();
    }

    private void open() {
        browser().open(cluster().coordinator().rest().base().resolve("/"));
        browser()
                .awaitTrue(
                        "document.querySelector('#state.live')"
                                + " && document.querySelectorAll('#space-table svg').length === 2",
                        TIMEOUT);
    }

    @Test
    void shouldShowNodesAndChangesWithoutAComplaintOfTheBrowser() throws CoordinatorException, IOException {
        open();
        assertEquals(
                3,
                browser()
                        .evaluate("document.querySelectorAll('#node-table tbody th').length")
                        .asInt());
        assertEquals("3", browser().text("#figures .value"));
        assertEquals(
                "Nothing: no node is missing, and all pages have their copies.",
                browser().text("#attention-summary"));
        cluster().makeSpace("made-while-watched", 16, 4096, "c");
        browser()
                .awaitTrue(
                        "document.getElementById('space-table').textContent.includes('made-while-watched')", TIMEOUT);
        browser()
                .awaitTrue(
                        "document.querySelector('#event-table td:nth-of-type(2)').textContent === 'space created'",
                        TIMEOUT);
        cluster().client().makeSnapshot("made-while-watched");
        cluster().client().makeClone("made-while-watched", new CloneRequest("cloned-while-watched"));
        browser()
                .awaitTrue(
                        "document.getElementById('space-table').textContent.includes('pages of 4 KiB, snapshot')"
                                + " && document.getElementById('space-table').textContent.includes('4 KiB, clone')",
                        TIMEOUT);
        Pictures.take(browser(), "three-idle-nodes");
        browser().prefer("light");
        assertEquals(List.of(), Axe.violations(browser()));
        cluster().client().deleteSpace("cloned-while-watched");
        cluster().client().deleteSpace("made-while-watched");
        assertEquals(List.of(), browser().complaints());
    }
}
