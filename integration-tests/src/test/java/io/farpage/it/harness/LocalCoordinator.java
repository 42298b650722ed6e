package io.farpage.it.harness;

import io.farpage.config.Config;
import io.farpage.coordinator.cluster.Time;
import io.farpage.coordinator.config.Settings;
import io.farpage.tls.Credentials;
import io.farpage.tls.Tls;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/** A coordinator in this JVM, for what does not kill or stop it. */
final class LocalCoordinator implements Coordinator {
    private final Path store;
    private final io.farpage.coordinator.server.Coordinator coordinator;
    private final Optional<Tls> tls;
    private final Rest rest;

    LocalCoordinator(Path directory, Map<String, String> settings) {
        store = directory.resolve("store");
        Map<String, String> all = new LinkedHashMap<>(CoordinatorProcess.settings(store, 0));
        all.putAll(settings);
        Config config = Settings.SCHEMA.load(Optional.empty(), Map.of(), all);
        coordinator = io.farpage.coordinator.server.Coordinator.start(config, Time.system());
        tls = Certificates.ofSettings(all);
        rest = Rest.of(coordinator.url().getPort(), tls);
    }

    @Override
    public Rest rest() {
        return rest;
    }

    @Override
    public Path store() {
        return store;
    }

    @Override
    public Credentials credentials() {
        return Credentials.of(tls);
    }

    @Override
    public void close() {
        coordinator.close();
    }
}
