package io.farpage.coordinator.command;

import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.rest.Json;
import java.io.PrintWriter;
import java.time.Duration;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Options of the commands that only show something. */
final class ViewOptions {

    private static final Duration DEADLINE = Duration.ofSeconds(10);

    @Mixin
    private final CoordinatorTarget coordinator = new CoordinatorTarget();

    @Option(names = "--json", description = "Print JSON instead of text.")
    private boolean json;

    ViewOptions() {}

    CoordinatorClient client() {
        return coordinator.client(DEADLINE);
    }

    boolean json() {
        return json;
    }

    static void printJson(PrintWriter out, Object value) {
        out.println(Json.STRICT.writerWithDefaultPrettyPrinter().writeValueAsString(value));
        out.flush();
    }
}
