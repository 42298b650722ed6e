package io.farpage.coordinator;

import io.farpage.coordinator.client.Allegiance;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.tls.ClientOptions;
import java.net.URI;
import java.time.Duration;
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
            description = "Where the coordinator is, http:// or https://; or FARPAGE_COORDINATOR_URL (default "
                    + DEFAULT + ").")
    private @Nullable URI coordinator;

    @Mixin
    private final ClientOptions security = new ClientOptions();

    CoordinatorTarget() {}

    CoordinatorClient client(Duration deadline) {
        URI base = Optional.ofNullable(coordinator)
                .orElseGet(() -> URI.create(Optional.ofNullable(System.getenv("FARPAGE_COORDINATOR_URL"))
                        .orElse(DEFAULT)));
        return new CoordinatorClient(base, deadline, new Allegiance(), security.credentials());
    }
}
