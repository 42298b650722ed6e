package io.farpage.coordinator.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.client.Allegiance;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorNotObeyedException;
import io.farpage.coordinator.cluster.FakeTime;
import io.farpage.coordinator.cluster.Fixture;
import io.farpage.coordinator.model.Seen;
import io.farpage.coordinator.model.Stamp;
import io.farpage.tls.Credentials;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * An agent's client at coordinators that have lost, rolled back or copied the store, all real and on one port after
 * another.
 */
@Tag("portable")
class LostHistoryTest {

    private final Path directory;
    private final Allegiance agent = new Allegiance();
    private Running running;

    LostHistoryTest(@TempDir Path directory) {
        this.directory = directory;
        this.running = start("store");
    }

    @BeforeEach
    void joinOneAgent() throws CoordinatorException {
        register(1);
        agent.join();
    }

    @AfterEach
    void close() {
        running.close();
    }

    private Running start(String store) {
        return new Running(directory.resolve(store), new FakeTime(), Map.of());
    }

    private void restart(String store) {
        running.close();
        running = start(store);
    }

    private void copy(String from, String to) throws IOException {
        Files.createDirectories(directory.resolve(to));
        try (Stream<Path> files = Files.list(directory.resolve(from))) {
            for (Path file : files.toList()) {
                Files.copy(file, directory.resolve(to).resolve(file.getFileName()));
            }
        }
    }

    private void register(int devices) throws CoordinatorException {
        try (CoordinatorClient client = client()) {
            client.register("a", Fixture.node(devices, 1 << 20));
        }
    }

    /** What an operator does, who has seen nothing. */
    private void change(String name) throws CoordinatorException {
        running.client.createSpace(new io.farpage.coordinator.model.SpaceRequest(
                name, 4096, java.util.OptionalInt.empty(), Optional.empty()));
    }

    private CoordinatorClient client() {
        return new CoordinatorClient(running.coordinator.url(), Duration.ofSeconds(30), agent, Credentials.NONE);
    }

    private void ask() throws CoordinatorException {
        try (CoordinatorClient client = client()) {
            client.nodes();
        }
    }

    private String refusal() {
        CoordinatorNotObeyedException refused = assertThrows(CoordinatorNotObeyedException.class, this::ask);
        assertTrue(agent.status().refusal().isPresent());
        return String.valueOf(refused.getMessage());
    }

    @Test
    void shouldObeyACoordinatorThatRestartsOnItsStore() throws CoordinatorException {
        for (int i = 0; i < 3; i++) {
            change("more" + i);
            ask();
            restart("store");
            ask();
        }
        assertEquals(4, agent.status().seen().map(seen -> seen.epoch().number()).orElse(0L));
        assertEquals(Optional.empty(), agent.status().refusal());
    }

    @Test
    void shouldNotObeyACoordinatorWhoseStoreWasDeleted() throws CoordinatorException {
        restart("empty");
        assertTrue(refusal().contains("keeps cluster"), this::refusal);
        restart("store");
        ask();
        assertEquals(Optional.empty(), agent.status().refusal());
    }

    @Test
    void shouldNotObeyAnOlderCopyNorLetItCarryAnythingOut() throws Exception {
        running.close();
        copy("store", "older");
        running = start("store");
        change("newer");
        ask();
        restart("older");
        // A request goes out before its answer is judged, so the coordinator must refuse it too.
        try (CoordinatorClient client = client()) {
            assertThrows(CoordinatorNotObeyedException.class, () -> client.register("a", Fixture.node(1, 1 << 20)));
        }
        assertTrue(refusal().contains("older copy"), this::refusal);
        assertEquals(
                503,
                running.send("POST", "/api/v1/spaces", "{\"name\":\"x\",\"sizeBytes\":4096}")
                        .statusCode());
        assertTrue(running.send("GET", "/health", "").body().contains("an agent has seen"));
        assertEquals(200, running.send("GET", "/live", "").statusCode(), "a start would not help");
        restart("store");
        ask();
    }

    /**
     * The copy's index passes what the agent saw, and its latest epoch begins beyond it; the coordinator's history
     * tells.
     */
    @Test
    void shouldNotObeyAnOlderCopyThatHasOvertakenTheAgentAndRestarted() throws Exception {
        running.close();
        copy("store", "older");
        running = start("store");
        change("newer");
        ask();
        restart("older");
        for (int i = 0; i < 20; i++) {
            change("diverging" + i);
        }
        restart("older");
        assertTrue(refusal().contains("older copy"), this::refusal);
    }

    @Test
    void shouldTellTwoCoordinatorsOnCopiesOfOneStoreApart() throws Exception {
        running.close();
        copy("store", "copy");
        running = start("store");
        ask();
        restart("copy");
        assertTrue(refusal().contains("copies of one store"), this::refusal);
        // The first of the two restarts and is obeyed; the copy then has the older epoch.
        restart("store");
        ask();
        restart("copy");
        assertTrue(refusal().contains("copies of one store"), this::refusal);
    }

    @Test
    @Tag("soak")
    void shouldStampEveryAnswerWithADurableRevisionThatNeverGoesBack() throws Exception {
        long last = 0;
        Set<String> clusters = new HashSet<>();
        for (int i = 0; i < 5; i++) {
            change("one" + i);
            for (String path :
                    new String[] {"/api/v1/nodes", "/api/v1/nodes/absent", "/health", "/api/v1/events?index=0"}) {
                HttpResponse<String> answer = running.send("GET", path, "");
                Stamp stamp =
                        Stamp.read(name -> answer.headers().firstValue(name)).orElseThrow();
                assertTrue(stamp.revision() >= last, stamp + " after " + last);
                last = stamp.revision();
                clusters.add(stamp.cluster().toString());
            }
            restart("store");
        }
        assertEquals(1, clusters.size());
    }

    /** Attaching tells no event, so the index of events would not show that it was rolled back. */
    @Test
    void shouldCountChangesThatTellNoEvent() throws Exception {
        change("s");
        long before = revision();
        running.client.attach(
                "s",
                "a",
                new io.farpage.coordinator.model.AttachRequest(
                        new io.farpage.coordinator.model.Incarnation(1),
                        io.farpage.coordinator.model.AttachMode.EXCLUSIVE));
        assertNotEquals(before, revision());
    }

    private long revision() throws CoordinatorException {
        ask();
        return agent.status().seen().map(Seen::revision).orElseThrow();
    }
}
