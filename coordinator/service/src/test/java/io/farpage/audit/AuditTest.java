package io.farpage.audit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.access.Identity;
import io.farpage.audit.AuditEvent.Actor;
import io.farpage.audit.AuditEvent.Outcome;
import io.farpage.config.ConfigException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class AuditTest {

    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final Audit.Source SOURCE = new Audit.Source("page-agent", "a");
    private static final Actor STRANGER = Actor.of(new Identity.Stranger(""), "10.0.0.9");

    @TempDir
    private Path temporary;

    private Path directory() {
        return temporary.resolve("kept");
    }

    private Path file() {
        return directory().resolve("audit.json");
    }

    private Audit open(long maxBytes, int keep, boolean required) {
        return Audit.open(SOURCE, new Audit.Options(file(), maxBytes, keep, required));
    }

    /** The default of an agent, which has no directory that is surely its own. */
    @Test
    void shouldTellTheLogOfRefusedAttemptsIfThereIsNoFile() {
        List<String> log = new ArrayList<>();
        try (Audit audit = Audit.refusalsTo(SOURCE, log::add)) {
            audit.record(done("s1"));
            assertEquals(List.of(), log, "what was done is not told");
            for (int i = 0; i < 30; i++) {
                audit.record(new AuditEvent(STRANGER, "link.hello", "qp 0x1", Outcome.refused("not proven")));
            }
            assertEquals(20, log.size(), "a flood");
            JsonNode first = JSON.readTree(log.getFirst());
            assertEquals("not proven", first.get("reason").asString());
            assertEquals("10.0.0.9", first.get("from").asString());
            assertEquals("a", first.get("node").asString());
            audit.record(new AuditEvent(
                    Actor.of(new Identity.Node("b"), "10.0.0.2"), "request", "", Outcome.refused("another kind")));
            assertEquals(22, log.size());
            assertEquals(10, JSON.readTree(log.get(20)).get("count").asInt(), "those that were not told");
        }
    }

    private static AuditEvent done(String target) {
        return new AuditEvent(Actor.of(new Identity.Node("b"), "10.0.0.2"), "space.create", target, Outcome.OK);
    }

    private static List<JsonNode> lines(Path file) throws IOException {
        return Files.readAllLines(file).stream().map(JSON::readTree).toList();
    }

    /** The lines of the file and of all rotated ones. */
    private List<JsonNode> allLines() throws IOException {
        List<JsonNode> all = new ArrayList<>();
        try (Stream<Path> files = Files.list(directory())) {
            for (Path each : files.toList()) {
                if (each.toString().endsWith(".gz")) {
                    try (GZIPInputStream in = new GZIPInputStream(Files.newInputStream(each))) {
                        new String(in.readAllBytes(), StandardCharsets.UTF_8)
                                .lines()
                                .forEach(line -> all.add(JSON.readTree(line)));
                    }
                } else {
                    all.addAll(lines(each));
                }
            }
        }
        return all;
    }

    @Test
    void shouldWriteOneLineWithAllFields() throws Exception {
        try (Audit audit = open(1 << 20, 3, false)) {
            audit.record(new AuditEvent(
                    new Actor("operator", "ann", "10.0.0.7"),
                    "space.delete",
                    "/api/v1/spaces/\ns1\u001b[2J",
                    new Outcome(AuditEvent.Result.FAILED, "in use", OptionalInt.of(409)),
                    Map.of("force", true, "act", "forged")));
        }
        List<JsonNode> lines = lines(file());
        assertEquals(1, lines.size());
        JsonNode line = lines.getFirst();
        assertTrue(line.get("time").asString().matches("\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z"));
        assertEquals(
                "{\"program\":\"page-agent\",\"node\":\"a\",\"who\":{\"kind\":\"operator\",\"name\":\"ann\"},"
                        + "\"from\":\"10.0.0.7\",\"act\":\"space.delete\","
                        + "\"target\":\"/api/v1/spaces/\\\\ns1\\\\u001b[2J\",\"result\":\"failed\","
                        + "\"reason\":\"in use\",\"status\":409,\"force\":true}",
                Files.readString(file()).strip().replaceFirst("\"time\":\"[^\"]*\",", ""));
    }

    @Test
    void shouldBeReadableByTheOwnerAlone() throws Exception {
        Files.createDirectory(
                directory(), PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwxr-xr-x")));
        Files.writeString(file(), "");
        Files.setPosixFilePermissions(file(), PosixFilePermissions.fromString("rw-r--r--"));
        try (Audit audit = open(4096, 3, false)) {
            for (int i = 0; i < 100; i++) {
                audit.record(done("s" + i));
            }
        }
        try (Stream<Path> files = Files.list(directory())) {
            List<Path> all = files.toList();
            assertTrue(all.size() > 1, "rotated: " + all);
            for (Path each : all) {
                assertEquals(
                        "rw-------",
                        PosixFilePermissions.toString(Files.getPosixFilePermissions(each)),
                        each.toString());
            }
        }
    }

    @Test
    void shouldMakeItsDirectoryForTheOwnerAlone() throws Exception {
        open(4096, 3, false).close();
        assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(directory())));
    }

    @Test
    void shouldRefuseAFileThatIsNone() throws Exception {
        Files.createDirectory(directory());
        Files.createSymbolicLink(file(), temporary.resolve("elsewhere"));
        ConfigException e = assertThrows(ConfigException.class, () -> open(4096, 3, false));
        assertTrue(String.valueOf(e.getMessage()).contains("not a regular file"), e.getMessage());
        assertFalse(Files.exists(temporary.resolve("elsewhere")));
    }

    @Test
    void shouldRotateBySizeAndKeepSoMany() throws Exception {
        try (Audit audit = open(4096, 3, false)) {
            for (int i = 0; i < 500; i++) {
                audit.record(done("s" + i));
            }
        }
        try (Stream<Path> files = Files.list(directory())) {
            List<String> names =
                    files.map(path -> path.getFileName().toString()).sorted().toList();
            assertEquals(4, names.size(), names.toString());
            assertEquals("audit.json", names.getFirst());
            assertTrue(
                    names.stream().skip(1).allMatch(name -> name.matches("audit\\.json\\.[0-9T.]+Z\\.gz")),
                    names.toString());
        }
        assertTrue(Files.size(file()) <= 4096);
        assertEquals("s499", lines(file()).getLast().get("target").asString());
    }

    @Test
    void shouldLoseNoLineOfACommandWhileTheServiceRotates() throws Exception {
        try (Audit audit = open(4096, 1_000, false);
                ExecutorService threads = Executors.newFixedThreadPool(2)) {
            Future<?> command = threads.submit(() -> {
                for (int i = 0; i < 300; i++) {
                    Audit.append(file(), new Audit.Source("coordinator", ""), done("command" + i));
                }
                return 0;
            });
            for (int i = 0; i < 300; i++) {
                audit.record(done("service" + i));
            }
            command.get();
        }
        List<String> targets =
                allLines().stream().map(line -> line.get("target").asString()).toList();
        assertEquals(600, targets.size());
        assertEquals(600, targets.stream().distinct().count());
    }

    @Test
    void shouldCountWhatAFloodRepeatsAndStillWriteOtherRefusals() throws Exception {
        try (Audit audit = open(1 << 20, 3, false)) {
            for (int i = 0; i < 100_000; i++) {
                audit.record(new AuditEvent(STRANGER, "request", "/", Outcome.refused("no token")));
            }
            audit.record(new AuditEvent(
                    Actor.of(new Identity.Node("b"), "10.0.0.9"), "request", "/", Outcome.refused("not yours")));
            audit.record(done("s1"));
            assertTrue(audit.suppressed() > 99_900, audit.suppressed() + " suppressed");
        }
        List<JsonNode> lines = lines(file());
        assertTrue(lines.size() < 40, lines.size() + " lines");
        JsonNode count = lines.getLast();
        assertEquals("suppressed", count.get("act").asString());
        assertEquals("request of stranger", count.get("target").asString());
        long written = lines.stream()
                .filter(line -> line.path("reason").asString("").equals("no token"))
                .count();
        assertEquals(100_000, written + count.get("count").asLong());
        assertTrue(
                lines.stream().anyMatch(line -> line.path("reason").asString("").equals("not yours")));
        assertTrue(
                lines.stream().anyMatch(line -> line.path("target").asString("").equals("s1")));
    }

    @Test
    void shouldKeepLinesWhileFileIsUnwritableAndWriteThemLater() throws Exception {
        try (Audit audit = open(1 << 20, 3, true)) {
            audit.require(done("before"));
            Path away = temporary.resolve("away");
            Files.move(directory(), away);
            Files.writeString(directory(), "a file where the directory was");
            AuditUnavailableException e =
                    assertThrows(AuditUnavailableException.class, () -> audit.require(done("meanwhile")));
            assertTrue(e.reason().contains(file().toString()), e.reason());
            assertTrue(audit.failures() > 0);
            Files.delete(directory());
            Files.move(away, directory());
            audit.require(done("after"));
        }
        assertEquals(
                List.of("before", "meanwhile", "after"),
                lines(file()).stream()
                        .map(line -> line.get("target").asString())
                        .toList());
    }

    @Test
    void shouldBeginANewFileIfTheOldOneIsTakenAway() throws Exception {
        try (Audit audit = open(1 << 20, 3, true)) {
            audit.require(done("one"));
            Files.move(file(), directory().resolve("taken"));
            audit.require(done("two"));
        }
        assertEquals("two", lines(file()).getFirst().get("target").asString());
        assertEquals(1, lines(directory().resolve("taken")).size());
    }
}
