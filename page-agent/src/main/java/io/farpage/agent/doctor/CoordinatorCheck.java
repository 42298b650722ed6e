package io.farpage.agent.doctor;

import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import java.net.URI;
import java.time.Duration;
import java.util.List;

/** Whether the coordinator answers. */
final class CoordinatorCheck implements Check {
    static final Duration DEADLINE = Duration.ofSeconds(2);

    private static final String ID = "cluster.coordinator";

    private final String url;
    private final boolean configured;

    /** @param configured whether the URL was configured; a default URL need not answer */
    CoordinatorCheck(String url, boolean configured) {
        this.url = url;
        this.configured = configured;
    }

    @Override
    public List<Line> run() {
        try (CoordinatorClient client = new CoordinatorClient(URI.create(url), DEADLINE)) {
            String cluster =
                    client.cluster().map(found -> "cluster " + found.name()).orElse("no cluster formed yet");
            return List.of(Line.ok(ID, "coordinator", url + " answers: " + cluster));
        } catch (CoordinatorException e) {
            return List.of(new Line(
                    ID,
                    "coordinator",
                    configured ? Level.FAIL : Level.WARN,
                    e.getMessage() + "; the agent would wait for it",
                    "curl -sS -m 2 " + url + "/health || coordinator run"));
        } catch (IllegalArgumentException e) {
            return List.of(Line.fail(
                    ID,
                    "coordinator",
                    "coordinator.url '" + url + "': " + e.getMessage(),
                    "export FARPAGE_COORDINATOR_URL=http://127.0.0.1:7400"));
        }
    }
}
