package io.farpage.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.harness.Command;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code farpage up} and {@code down} where they start and end nothing. */
class LocalPlanTest {
    @TempDir
    private Path scratch = Path.of("");

    private Path state = Path.of("");

    @BeforeEach
    void choose() {
        state = scratch.resolve("state");
    }

    private String run(int code, String command, String... more) {
        List<String> line = new ArrayList<>(List.of(command, "--state", state.toString()));
        line.addAll(List.of(more));
        Command ended = Command.farpage(line.toArray(String[]::new));
        assertEquals(code, ended.code(), ended::toString);
        return ended.out() + ended.err();
    }

    @Test
    void shouldOnlyPrintThePlanOfADryRun() {
        String plan = run(0, "up", "--local", "3", "--guest", "--dry-run");
        assertTrue(plan.contains("reserve 219 hugepages"), plan);
        assertTrue(plan.contains("start local-3: run --port-file " + state + "/local-3.port"), plan);
        assertTrue(plan.contains("start guest: page-bench stress --socket " + state + "/guest.vmm"), plan);
        assertFalse(Files.exists(state));
    }

    @Test
    void shouldNameTheFixWhenThePlanIsWrong() throws IOException {
        assertTrue(run(1, "up", "--local", "0").contains("--local 0: is not from 1 to 16"));
        assertTrue(run(1, "up", "--local", "1", "--guest").contains("give --local 2 or more"));
        assertTrue(run(1, "up", "--local", "2", "--pool", "3MiB").contains("--pool 3MiB: is not a multiple of 2MiB"));
        Files.createDirectories(state);
        Files.writeString(state.resolve("precious"), "not to be deleted");
        assertTrue(run(1, "up", "--local", "1").contains("give an empty or a new folder"));
        assertTrue(run(1, "down").contains("has precious, which is not of a local cluster"));
        assertTrue(Files.deleteIfExists(state.resolve("precious")));
        assertTrue(run(0, "down").contains("nothing of the cluster is left"));
        assertTrue(run(0, "down").contains("no cluster in"));
    }
}
