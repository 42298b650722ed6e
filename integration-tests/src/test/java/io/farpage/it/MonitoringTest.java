package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.PagedRam;
import io.farpage.it.harness.TwoNodes;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** The metrics that programs export, and what docs/metrics.md, the rules and the dashboard say of them. */
@Tag("portable")
@ExtendWith(TwoNodes.class)
class MonitoringTest {
    private static final Path DOCS = Path.of(System.getProperty("farpage.root", ".."))
            .toAbsolutePath()
            .normalize()
            .resolve("docs");
    private static final Path RULES = DOCS.resolve("prometheus");
    private static final Pattern TYPE = Pattern.compile("(?m)^# TYPE (farpage_\\w+) (\\w+)$");
    private static final Pattern LISTED = Pattern.compile("(?m)^\\| `(farpage_\\w+)` \\| (\\w+) \\| .+ \\|$");
    private static final Pattern NAME = Pattern.compile("farpage_\\w+");
    private static final int PAGES = 512;
    private static final int LOCAL_PAGES = 128;

    @TempDir
    private Path directory = Path.of("");

    @Test
    @NeedsUserfaultfd
    void shouldExportOnlyListedMetricsInTheFormOfPrometheus(Cluster cluster) throws Exception {
        Guests guests = new Guests(cluster, "a", "b");
        Path socket = directory.resolve("vmm");
        guests.attach("monitored", socket, PAGES * 4096L, LOCAL_PAGES * 4096L);
        try (PagedRam ram = PagedRam.handOver(socket, PAGES)) {
            guests.awaitAttached("monitored");
            for (int page = 0; page < PAGES; page++) {
                ram.write(page, new byte[] {1});
            }
            // Three quarters of them were evicted, and are fetched.
            for (int page = 0; page < PAGES; page++) {
                ram.touch(page);
            }
            String coordinator = metrics(
                    cluster.coordinator().rest().get("/metrics").expect(200).body());
            String agent = awaitFault(cluster);
            checkListed(coordinator);
            checkListed(agent);
            if (hasPromtool()) {
                check(coordinator);
                check(agent);
            }
        } finally {
            guests.awaitEnded("monitored");
            guests.drop("monitored");
        }
    }

    /** Metrics of the agent once it has counted a fault. */
    private static String awaitFault(Cluster cluster) {
        Pattern counted =
                Pattern.compile("farpage_agent_guest_fault_seconds_bucket\\{space=\"monitored\",le=\"\\+Inf\"} [1-9]");
        return await("the fault is counted", Deadlines.LONG)
                .until(
                        () -> metrics(cluster.agent("a")
                                .rest()
                                .get("/metrics")
                                .expect(200)
                                .body()),
                        text -> counted.matcher(text).find());
    }

    @Test
    void shouldNameOnlyListedMetricsInRulesAndDashboard() throws IOException {
        Set<String> listed = listed().stream()
                .map(line -> line.substring(0, line.indexOf(' ')))
                .collect(Collectors.toSet());
        Set<String> unknown = new TreeSet<>();
        for (String file : List.of(
                "prometheus/rules.yml", "prometheus/rules-test.yml", "prometheus/grafana.json", "monitoring.md")) {
            NAME.matcher(Files.readString(DOCS.resolve(file)))
                    .results()
                    .map(found -> found.group().replaceFirst("_bucket$", ""))
                    .filter(name -> !listed.contains(name))
                    .forEach(unknown::add);
        }
        assertEquals(Set.of(), unknown);
    }

    @Test
    void shouldRaiseAndRestAlertsInTheScenariosOfTheRules() throws Exception {
        assumeTrue(hasPromtool(), "promtool is not installed; apt-get install prometheus");
        run(RULES, "promtool", "check", "rules", "rules.yml");
        run(RULES, "promtool", "test", "rules", "rules-test.yml");
    }

    private static void checkListed(String metrics) throws IOException {
        Set<String> exported = TYPE.matcher(metrics)
                .results()
                .map(type -> type.group(1) + " " + type.group(2))
                .collect(Collectors.toCollection(TreeSet::new));
        assertTrue(exported.size() > 10, metrics);
        exported.removeAll(listed());
        assertEquals(
                List.of(),
                Stream.of(metrics.split("\n"))
                        .filter(line -> line.startsWith("# HELP"))
                        .filter(line -> exported.stream().anyMatch(one -> line.contains(one.split(" ")[0] + " ")))
                        .toList(),
                "not listed in docs/metrics.md; make docs writes it");
    }

    /** Names and types in the tables of docs/metrics.md. */
    private static Set<String> listed() throws IOException {
        return LISTED.matcher(Files.readString(DOCS.resolve("metrics.md")))
                .results()
                .map(line -> line.group(1) + " " + line.group(2))
                .collect(Collectors.toSet());
    }

    private void check(String metrics) throws Exception {
        Path file = Files.writeString(directory.resolve("metrics"), metrics);
        run(directory, "sh", "-c", "promtool check metrics < " + file.getFileName());
    }

    private static boolean hasPromtool() {
        return Stream.of(System.getenv("PATH").split(":"))
                .anyMatch(folder -> Files.isExecutable(Path.of(folder, "promtool")));
    }

    private static void run(Path folder, String... command) throws Exception {
        Process process = new ProcessBuilder(command)
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        int code = Deadlines.exit("the end of " + String.join(" ", command), Deadlines.LONG, process);
        assertEquals(0, code, () -> String.join(" ", command) + ": " + said);
    }

    private static String metrics(byte[] body) {
        return new String(body, StandardCharsets.UTF_8);
    }
}
