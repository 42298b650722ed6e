package io.farpage.coordinator.rebuild;

import static io.farpage.coordinator.rebuild.Reports.PAGE;
import static io.farpage.coordinator.rebuild.Reports.seen;
import static io.farpage.coordinator.rebuild.Reports.space;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.config.HostPort;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.cluster.Fixture;
import io.farpage.coordinator.cluster.Ledger;
import io.farpage.coordinator.cluster.State;
import io.farpage.coordinator.model.Hosted;
import io.farpage.coordinator.model.NodeReport;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.coordinator.model.operation.RebuildOperations;
import io.farpage.coordinator.server.DeclaredOperations;
import io.farpage.coordinator.store.MvStore;
import io.farpage.coordinator.store.Store;
import io.farpage.rest.Entrance;
import io.farpage.rest.Json;
import io.farpage.rest.Operation;
import io.farpage.rest.RestServer;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The REST interface of a rebuild. */
@Tag("portable")
class RebuildServerTest {

    private final Store store;

    RebuildServerTest(@TempDir Path directory) {
        this.store = MvStore.open(directory.resolve("store"));
    }

    @AfterEach
    void close() {
        store.close();
    }

    private State state() {
        return new Ledger(store, 10, nanos -> {}).state();
    }

    @Test
    void shouldTakeAReportOfMoreThan4MiBThroughRest() throws Exception {
        int spaces = 16_000;
        List<SpaceExtents> all = LongStream.rangeClosed(1, spaces)
                .mapToObj(id -> space(id, "a-space-with-a-name-" + id, "b", id - 1, 1))
                .toList();
        NodeReport long16000 = new NodeReport(
                Optional.of(seen(100)),
                0,
                Fixture.node(2, (long) spaces * PAGE),
                new Hosted(100, all, List.of(), List.of(), List.of(), List.of()),
                List.of(),
                List.of(),
                List.of(),
                List.of(),
                Optional.empty(),
                Optional.empty());
        int bytes = Json.STRICT.writeValueAsBytes(long16000).length;
        assertTrue(bytes > 4 << 20, bytes + " bytes");
        RestServer.Options options =
                new RestServer.Options("test", "1", Entrance.open(new HostPort("127.0.0.1", 0)), 4 << 20, () -> true);
        try (RebuildServer server = new RebuildServer(options, store, Set.of("b"));
                CoordinatorClient client =
                        new CoordinatorClient(URI.create("http://" + server.listening()), Duration.ofSeconds(30))) {
            List<String> expected = new ArrayList<>(
                    List.of("GET /health", "GET /live", "GET /metrics", "GET /openapi.json", "GET /log", "PUT /log"));
            DeclaredOperations.all().stream()
                    .map(Operation::name)
                    .filter(name -> name.contains(RebuildOperations.PATH))
                    .forEach(expected::add);
            assertEquals(
                    expected.stream().sorted().toList(), server.registered(), "each operation is bound exactly once");
            assertTrue(client.report("b", long16000).finished());
            server.awaitFinished();
        }
        assertEquals(spaces, state().spaces().size());
    }
}
