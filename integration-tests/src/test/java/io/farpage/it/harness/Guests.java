package io.farpage.it.harness;

import static io.farpage.it.deadlines.Deadlines.await;

import java.nio.file.Path;
import java.time.Duration;
import java.util.SplittableRandom;
import tools.jackson.databind.JsonNode;

/** Guests of one agent, through its REST API, whose memory another node has. */
public final class Guests {
    private static final Duration TIMEOUT = Duration.ofSeconds(30);

    private static final int COORDINATOR_AWAY = 503;

    private final Cluster cluster;
    private final String node;
    private final String home;

    /**
     * @param node whose agent serves them
     * @param home the node that has their pages
     */
    public Guests(Cluster cluster, String node, String home) {
        this.cluster = cluster;
        this.node = node;
        this.home = home;
    }

    /** Makes ready for a guest. */
    public void attach(String space, Path socket, long bytes, long localBytes) {
        attach(space, socket, bytes, localBytes, 4096);
    }

    /** Makes ready for a guest with pages of a given size. */
    public void attach(String space, Path socket, long bytes, long localBytes, int pageSize) {
        String body = """
                {"socket": "%s", "sizeBytes": %d, "pageSize": %d, \
                "homes": ["%s"], "localBytes": %d}""".formatted(socket, bytes, pageSize, home, localBytes);
        // A busy machine may not answer in coordinator.timeout. The request may be repeated.
        await("the coordinator", TIMEOUT)
                .until(() -> tryAttach(space, body), answer -> answer.status() != COORDINATOR_AWAY)
                .expect(200);
    }

    /** Asks to make ready for a guest. */
    public Answer tryAttach(String space, String body) {
        return rest().sendJson("PUT", path(space) + "/guest", body);
    }

    public void resize(String space, long localBytes) {
        var _ = tryResize(space, localBytes);
    }

    /** Asks for another limit. */
    public Answer tryResize(String space, long localBytes) {
        return rest().sendJson("PUT", path(space) + "/guest/local", "{\"localBytes\": %d}".formatted(localBytes));
    }

    /** What the agent says of a guest. */
    public JsonNode status(String space) {
        return rest().get(path(space)).expect(200).json();
    }

    public JsonNode awaitAttached(String space) {
        return awaitState(space, "attached");
    }

    public JsonNode awaitEnded(String space) {
        return awaitState(space, "ended");
    }

    private JsonNode awaitState(String space, String state) {
        return await(space + " " + state, TIMEOUT)
                .pollInterval(Duration.ofMillis(5))
                .until(() -> status(space), now -> now.get("state").asString().equals(state));
    }

    /** Waits until {@code more} further pages were fetched. */
    public void awaitFaults(String space, int more) {
        int before = status(space).get("fetchedFaults").asInt();
        await(more + " more faults", TIMEOUT)
                .pollInterval(Duration.ofMillis(20))
                .until(() -> status(space).get("fetchedFaults").asInt() >= before + more);
    }

    /** Waits until {@code more} further pages were evicted, and then for a moment that is random. */
    public void awaitEvictions(String space, int more, SplittableRandom random) {
        int before = evictions(space);
        await(more + " evictions", TIMEOUT.multipliedBy(2))
                .pollInterval(Duration.ofMillis(1 + random.nextInt(15)))
                .until(() -> evictions(space) > before + more);
    }

    private int evictions(String space) {
        return status(space).get("evictions").asInt();
    }

    /** Forgets a guest that has ended; its space stays. */
    public void forget(String space) {
        rest().send("DELETE", path(space) + "/guest", "", new byte[0]).expect(204);
    }

    /** Forgets a guest and its space, as far as they are there. */
    public void drop(String space) {
        rest().send("DELETE", path(space) + "/guest", "", new byte[0]);
        cluster.coordinator().rest().send("DELETE", path(space) + "?force=true", "", new byte[0]);
    }

    private Rest rest() {
        return cluster.agent(node).rest();
    }

    private static String path(String space) {
        return "/api/v1/spaces/" + space;
    }
}
