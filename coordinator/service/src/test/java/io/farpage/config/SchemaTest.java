package io.farpage.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SchemaTest {

    private enum Mode {
        AUTO,
        RDMA_ONLY
    }

    private static final Key<Integer> DEPTH = Key.integer("rdma.max_send_wr", 64, 1, 16_384, "Depth.");
    private static final Key<Duration> PERIOD = Key.duration("rdma.period", "5ms", "1ms", "1m", "Period.");
    private static final Key<Long> SIZE = Key.bytes("pool.size", "512MiB", "2MiB", "1TiB", "Size.");
    private static final Key<Mode> MODE = Key.choice("transport.mode", Mode.AUTO, "Mode.");
    private static final Key<Optional<Integer>> GID =
            Key.of("rdma.gid_index", ValueTypes.orWord("auto", ValueTypes.integer(0, 255)), "auto", "Index.");
    private static final Key<Optional<String>> NAME = Key.optional("node.id", ValueTypes.text(), "Id.");
    private static final Key<List<String>> DEVICES = Key.texts("rdma.devices", "", "Devices.");
    private static final Key<Boolean> PIN = Key.bool("pager.pin", false, "Pin.");
    private static final Schema SCHEMA =
            Schema.of("tester", List.of(DEPTH, PERIOD, SIZE, MODE, GID, NAME, DEVICES, PIN));

    @TempDir
    private Path directory = Path.of("");

    private Path yaml(String text) throws IOException {
        return Files.writeString(directory.resolve("tester.yaml"), text);
    }

    private static Config load(Map<String, String> environment, Map<String, String> flags) {
        return SCHEMA.load(Optional.empty(), environment, flags);
    }

    private static List<String> problems(
            Optional<Path> file, Map<String, String> environment, Map<String, String> flags) {
        return assertThrows(ConfigException.class, () -> SCHEMA.load(file, environment, flags))
                .problems();
    }

    @Test
    void shouldGiveDefaultsWhenNothingIsSet() {
        Config config = load(Map.of(), Map.of());
        assertEquals(64, config.get(DEPTH));
        assertEquals(Duration.ofMillis(5), config.get(PERIOD));
        assertEquals(512L << 20, config.get(SIZE));
        assertEquals(Mode.AUTO, config.get(MODE));
        assertEquals(Optional.empty(), config.get(GID));
        assertEquals(Optional.empty(), config.get(NAME));
        assertEquals(List.of(), config.get(DEVICES));
        assertEquals("default", config.origin(DEPTH));
        assertFalse(config.isSet(DEPTH));
    }

    @Test
    void shouldReadNestedYamlListsAndDottedKeys() throws IOException {
        Path file = yaml("""
                rdma:
                  max_send_wr: 128
                  devices: [mlx5_0, mlx5_1]
                  gid_index: 3
                pool.size: 1GiB
                pager:
                  pin: true
                node:
                """);
        Config config = SCHEMA.load(Optional.of(file), Map.of(), Map.of());
        assertEquals(128, config.get(DEPTH));
        assertEquals(List.of("mlx5_0", "mlx5_1"), config.get(DEVICES));
        assertEquals(Optional.of(3), config.get(GID));
        assertEquals(1L << 30, config.get(SIZE));
        assertEquals(true, config.get(PIN));
        assertEquals("file " + file, config.origin(DEPTH));
    }

    @Test
    void shouldLetEnvironmentWinOverFileAndFlagsOverBoth() throws IOException {
        Path file = yaml("rdma: {max_send_wr: 1, period: 2ms}\npool: {size: 4MiB}\n");
        Config config = SCHEMA.load(
                Optional.of(file),
                Map.of("FARPAGE_RDMA_MAX_SEND_WR", "2", "FARPAGE_RDMA_PERIOD", "3ms", "PATH", "/bin"),
                Map.of("rdma.max_send_wr", "3"));
        assertEquals(3, config.get(DEPTH));
        assertEquals(Duration.ofMillis(3), config.get(PERIOD));
        assertEquals(4L << 20, config.get(SIZE));
        assertEquals("command line", config.origin(DEPTH));
        assertEquals("environment FARPAGE_RDMA_PERIOD", config.origin(PERIOD));
    }

    @Test
    void shouldReportAllFaultsWithKeyValueOriginAndAllowedValues() throws IOException {
        Path file = yaml("rdma: {max_send_wr: lots}\npool: {size: 1MB}\n");
        List<String> problems = problems(
                Optional.of(file), Map.of("FARPAGE_RDMA_PERIOD", "5"), Map.of("transport.mode", "carrier-pigeon"));
        assertEquals(4, problems.size(), problems::toString);
        assertTrue(
                problems.contains(
                        ("rdma.max_send_wr: 'lots' from file %s is not valid: it is not a whole number; allowed is a"
                                        + " whole number from 1 to 16384")
                                .formatted(file)),
                problems::toString);
        assertTrue(
                problems.contains(
                        "transport.mode: 'carrier-pigeon' from command line is not valid: allowed is one of auto,"
                                + " rdma-only"),
                problems::toString);
        assertTrue(
                problems.stream()
                        .anyMatch(p ->
                                p.startsWith("rdma.period: '5' from environment FARPAGE_RDMA_PERIOD is not valid")),
                problems::toString);
        assertTrue(
                problems.stream().anyMatch(p -> p.contains("pool.size: '1MB'") && p.contains("from 2MiB to 1TiB")),
                problems::toString);
    }

    @Test
    void shouldSuggestTheNearestKeyForOneThatIsUnknown() throws IOException {
        List<String> problems = problems(
                Optional.of(yaml("rdma: {max_send_rw: 1}\n")),
                Map.of("FARPAGE_RDMA_GIDINDEX", "1"),
                Map.of("gid_index", "1"));
        assertEquals(3, problems.size(), problems::toString);
        assertTrue(problems.get(0).endsWith("did you mean rdma.max_send_wr?"), problems::toString);
        assertTrue(problems.get(1).endsWith("did you mean FARPAGE_RDMA_GID_INDEX?"), problems::toString);
        assertTrue(problems.get(2).endsWith("did you mean rdma.gid_index?"), problems::toString);
    }

    @Test
    void shouldOnlyWarnOfVariablesOfAnotherProgram() {
        Config config = load(Map.of("FARPAGE_LEASE_DURATION", "5s", "FARPAGE_HOME", "/opt"), Map.of());
        assertEquals(1, config.warnings().size());
        assertTrue(config.warnings().getFirst().contains("FARPAGE_LEASE_DURATION"));
    }

    @Test
    void shouldRefuseFilesThatAreMissingBrokenOrSayAKeyTwice() throws IOException {
        assertTrue(problems(Optional.of(directory.resolve("none")), Map.of(), Map.of())
                .getFirst()
                .contains("does not exist"));
        assertTrue(problems(Optional.of(yaml("rdma: [")), Map.of(), Map.of())
                .getFirst()
                .contains("not valid YAML"));
        assertTrue(problems(Optional.of(yaml("- a\n- b\n")), Map.of(), Map.of())
                .getFirst()
                .contains("not a mapping"));
        assertTrue(problems(Optional.of(yaml("a: 1\na: 2\n")), Map.of(), Map.of())
                .getFirst()
                .contains("not valid YAML"));
        assertTrue(problems(Optional.of(yaml("rdma: {period: 2ms}\nrdma.period: 3ms\n")), Map.of(), Map.of())
                .getFirst()
                .contains("rdma.period is given twice"));
    }

    @Test
    void shouldTakeAnEmptyFileAsNoSettings() throws IOException {
        assertEquals(64, SCHEMA.load(Optional.of(yaml("")), Map.of(), Map.of()).get(DEPTH));
        assertEquals(
                64,
                SCHEMA.load(Optional.of(yaml("# nothing\n")), Map.of(), Map.of())
                        .get(DEPTH));
    }

    @Test
    void shouldWriteAReferenceOfEveryKey() {
        String page = ReferencePage.of(SCHEMA);
        SCHEMA.keys()
                .forEach(key ->
                        assertTrue(page.contains("`" + key.name() + "`<br>`" + key.environmentName() + "`"), page));
        assertTrue(page.contains("### rdma"), page);
    }

    @Test
    void shouldReadQuantitiesAsPeopleWriteThem() {
        assertEquals(Duration.ofMillis(1500), Quantities.duration("1.5s"));
        assertEquals(Duration.ofNanos(250), Quantities.duration("250ns"));
        assertEquals(3L << 29, Quantities.bytes("1.5GiB"));
        assertEquals(1_000_000L, Quantities.bytes("1MB"));
        assertEquals("1500ms", Quantities.format(Duration.ofMillis(1500)));
        assertEquals("512MiB", Quantities.formatBytes(512L << 20));
        for (String wrong : List.of("", "s", "5", "5 parsecs", "-5s", "1e9s", "999999999999999999d")) {
            assertThrows(IllegalArgumentException.class, () -> Quantities.duration(wrong), wrong);
        }
        for (String wrong : List.of("", "MiB", "1.5", "0.3B", "99999999TiB", "1KiBs")) {
            assertThrows(IllegalArgumentException.class, () -> Quantities.bytes(wrong), wrong);
        }
    }

    @Test
    void shouldSplitHostAndPort() {
        assertEquals(new HostPort("::1", 80), HostPort.parse("[::1]:80"));
        assertEquals("[::1]:80", HostPort.parse("[::1]:80").toString());
        for (String wrong :
                List.of("", "host", ":80", "host:", "host:65536", "host:-1", "::1:80", "a b:1", "http://h:1")) {
            assertThrows(IllegalArgumentException.class, () -> HostPort.parse(wrong), wrong);
        }
    }
}
