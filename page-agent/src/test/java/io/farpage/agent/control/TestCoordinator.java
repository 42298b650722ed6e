package io.farpage.agent.control;

import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.cluster.Time;
import io.farpage.coordinator.config.Settings;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.PoolInfo;
import io.farpage.coordinator.model.Registration;
import io.farpage.coordinator.model.TransportKind;
import io.farpage.coordinator.server.Coordinator;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A real coordinator in this process, for tests of what agents agree on with it. */
public final class TestCoordinator implements AutoCloseable {
    private final Coordinator coordinator;
    private final CoordinatorClient client;

    /** @param directory of its store */
    public TestCoordinator(Path directory) {
        coordinator = Coordinator.start(
                Settings.SCHEMA.load(
                        Optional.empty(),
                        Map.of(),
                        Map.of("server.listen", "127.0.0.1:0", "store.directory", directory.toString())),
                Time.system());
        client = new CoordinatorClient(url(), Duration.ofSeconds(10));
    }

    public URI url() {
        return URI.create("http://" + coordinator.listening());
    }

    public CoordinatorClient client() {
        return client;
    }

    /** Registers a node with a pool of {@code poolBytes}. */
    public void register(String node, Incarnation incarnation, long poolBytes) throws CoordinatorException {
        client.register(
                node,
                new Registration(
                        incarnation,
                        "host",
                        "127.0.0.1:7410",
                        2,
                        1L << 33,
                        List.of(),
                        new PoolInfo(poolBytes, 4096, Optional.empty()),
                        List.of(TransportKind.TCP),
                        Optional.empty(),
                        Optional.empty(),
                        Optional.empty(),
                        Optional.empty()));
    }

    @Override
    public void close() {
        client.close();
        coordinator.close();
    }
}
