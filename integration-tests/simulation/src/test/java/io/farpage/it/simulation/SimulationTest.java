package io.farpage.it.simulation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import io.farpage.it.simulation.loader.LoggedErrors;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * A whole cluster in one JVM, from a seed: every page is as its guest stored it, and everything is well again after
 * faults.
 */
@Tag("portable")
class SimulationTest {
    private static final Map<String, String> SHORT = Map.of("seconds", "4");
    private static final Map<String, String> COHERENT = Map.of(
            "seconds",
            "4",
            "features",
            "coherent,keeper",
            "faults",
            "kill,cut",
            "pace",
            "30",
            "threads",
            "2",
            "churns",
            "1");
    private static final String FEATURES = "fragments,rebalance,encrypted,rebuild,keeper,standby,park,thin";

    /** {@code -Dfarpage.seed=N} runs another seed. */
    @Test
    void shouldKeepEveryPageAndRecoverFromFaults() {
        long seed = Long.getLong("farpage.seed", 500);
        System.out.println("seed " + seed + " (repeat with -Dfarpage.seed=" + seed + ", or make simulate ARGS='--seed "
                + seed + " --seconds 4')");
        LoggedErrors.install(Level.OFF);

        Simulation.Outcome outcome = Simulation.run(seed, SHORT);

        System.out.println(outcome.report());
        assertEquals("", outcome.failure(), outcome.steps());
    }

    /** Members come and go, agents are killed, and links are cut. */
    @Test
    void shouldKeepTheMemoryOfMembersCoherent() {
        LoggedErrors.install(Level.OFF);

        Simulation.Outcome outcome = Simulation.run(1, COHERENT);

        System.out.println(outcome.report());
        assertEquals("", outcome.failure(), outcome.steps());
        assertTrue(outcome.report().contains("member joined"), outcome.report());
    }

    @Tag("processes")
    @Test
    void shouldReplayMembersExactlyInAnotherJvm() throws IOException, InterruptedException {
        LoggedErrors.install(Level.OFF);

        Simulation.Outcome here = Simulation.run(7, COHERENT);
        List<String> arguments = new ArrayList<>(List.of("--seed", "7"));
        COHERENT.forEach((option, value) -> arguments.addAll(List.of("--" + option, value)));
        String there = lastLineOfANewJvm(arguments.toArray(String[]::new));

        assertTrue(there.endsWith("fingerprint %016x".formatted(here.fingerprint())), () -> here + "\n" + there);
    }

    /** Its addresses make no difference. */
    @Tag("processes")
    @Test
    void shouldReplayASeedExactlyInAnotherJvm() throws IOException, InterruptedException {
        LoggedErrors.install(Level.OFF);

        Simulation.Outcome here = Simulation.run(7, Map.of("seconds", "1", "features", FEATURES));
        String there = lastLineOfANewJvm("--seed", "7", "--seconds", "1", "--features", FEATURES);

        assertEquals("", here.failure(), here.steps());
        assertTrue(there.contains(": ok,"), there);
        assertTrue(there.endsWith("fingerprint %016x".formatted(here.fingerprint())), () -> here + "\n" + there);
    }

    /** What ran before in a JVM makes no difference: the hash codes of identities are constant. */
    @Tag("processes")
    @Test
    void shouldReplayASeedExactlyAfterAnother() throws IOException, InterruptedException {
        String afterAnother = lastLineOfANewJvm(
                "--seed", "3", "--runs", "2", "--seconds", "3", "--features", "none", "--faults", "cut");
        String alone = lastLineOfANewJvm("--seed", "4", "--seconds", "3", "--features", "none", "--faults", "cut");

        assertEquals(fingerprint(alone), fingerprint(afterAnother));
    }

    private static String fingerprint(String line) {
        assertTrue(line.startsWith("seed 4: ok,"), line);
        return line.substring(line.indexOf("fingerprint"));
    }

    private static String lastLineOfANewJvm(String... arguments) throws IOException, InterruptedException {
        Path root = Path.of(System.getProperty("farpage.root"));
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "@" + root.resolve("bin/java-flags"),
                "@" + root.resolve("integration-tests/simulation/java-flags"),
                "-cp",
                System.getProperty("java.class.path"),
                Simulation.class.getName()));
        command.addAll(List.of(arguments));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, process.waitFor(), output);
        return output.strip().lines().reduce((_, last) -> last).orElse("");
    }
}
