package io.farpage.coordinator.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.config.Config;
import io.farpage.coordinator.config.Settings;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("portable")
final class LeadRehearsalTest {

    @TempDir
    private Path directory = Path.of("");

    private Config configured(Map<String, String> more) {
        Map<String, String> flags = new HashMap<>(more);
        flags.put("store.directory", directory.resolve("store").toString());
        return Settings.SCHEMA.load(Optional.empty(), Map.of(), flags);
    }

    private Map<String, String> certificates(Secured secured) {
        return Map.of(
                "tls.certificate", secured.at("coordinator.pem").toString(),
                "tls.key", secured.at("coordinator.key").toString(),
                "tls.ca", secured.at("ca.pem").toString());
    }

    @Test
    void shouldStartAndEndACoordinatorAndLeaveNothingBehind() throws IOException {
        assertTrue(LeadRehearsal.run(configured(Map.of())));
        assertFalse(Files.exists(store()));
    }

    @Test
    void shouldDeleteWhatAProcessHasLeftThatWasKilledMeanwhile() throws IOException {
        Files.createDirectories(store());
        Files.writeString(store().resolve("coordinator.mv.db"), "half a file");
        assertTrue(LeadRehearsal.run(configured(Map.of())));
        assertFalse(Files.exists(store()));
    }

    @Test
    void shouldDoSoWithCertificates() throws IOException {
        try (Secured secured = new Secured(directory, Map.of())) {
            assertTrue(LeadRehearsal.run(configured(certificates(secured))));
        }
        assertFalse(Files.exists(store()));
    }

    @Test
    void shouldRefuseStrangersAsTheConfiguredCoordinatorDoes() throws Exception {
        try (Secured secured = new Secured(directory, Map.of());
                Coordinator rehearsed =
                        LeadRehearsal.open(directory.resolve("rehearsal"), configured(certificates(secured)));
                HttpClient stranger = secured.stranger()) {
            assertEquals("https", rehearsed.url().getScheme());
            HttpRequest request = HttpRequest.newBuilder(URI.create(rehearsed.url() + "/log"))
                    .timeout(Duration.ofSeconds(30))
                    .PUT(HttpRequest.BodyPublishers.ofString("{\"level\":\"error\"}"))
                    .header("Content-Type", "application/json")
                    .build();
            assertEquals(401, stranger.send(request, BodyHandlers.discarding()).statusCode());
        }
    }

    @Test
    void shouldSayThatItFailedWhenTheConfigurationCannotBeUsed() {
        assertFalse(LeadRehearsal.run(configured(Map.of("tls.ca_key", "/missing"))));
    }

    private Path store() {
        return directory.resolve("store").resolve(LeadRehearsal.STORE);
    }
}
