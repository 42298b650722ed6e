package io.farpage.coordinator.command;

import io.farpage.coordinator.client.Allegiance;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.tls.ClientOptions;
import java.net.URI;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The coordinator that a command calls, and what it shows to it. */
final class CoordinatorTarget {

    private static final String DEFAULT = "http://127.0.0.1:7400";

    @Option(
            names = "--coordinator",
            paramLabel = "URL",
            description = "Where the coordinator is, http:// or https://, or several of them with commas between; or"
                    + " FARPAGE_COORDINATOR_URL (default " + DEFAULT + ").")
    private @Nullable String coordinator;

    @Mixin
    private final ClientOptions security = new ClientOptions();

    CoordinatorTarget() {}

    CoordinatorClient client(Duration deadline) {
        String urls = Optional.ofNullable(coordinator)
                .or(() -> Optional.ofNullable(System.getenv("FARPAGE_COORDINATOR_URL")))
                .orElse(DEFAULT);
        List<URI> bases = Arrays.stream(urls.split(",", -1))
                .map(String::strip)
                .map(URI::create)
                .toList();
        return new CoordinatorClient(bases, deadline, new Allegiance(), security.credentials());
    }
}
