package io.farpage.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.it.harness.PastedCommands;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The commands of docs/tutorial-clones.md, as they are pasted. */
@Tag("soak")
class ClonesTutorialTest {
    /** Some twenty JVMs start one after the other, and a hundred machines are compared. */
    private static final Duration TIMEOUT = Duration.ofMinutes(5);

    private static final String BEGIN = """
            set -eu -o pipefail
            for name in "${!FARPAGE_@}"; do unset "$name"; done
            ip link set lo up
            mount -t tmpfs none /run
            mount -t proc none /proc
            trap 'pkill -TERM -f "mount --directory" || true; bin/farpage down || true' EXIT
            """;

    @TempDir
    Path scratch;

    @Test
    void shouldCompareAHundredMachinesByTheCommandsOfTheTutorial() throws Exception {
        assumeTrue(Files.isWritable(Path.of("/dev/fuse")), "/dev/fuse cannot be opened");
        PastedCommands.assumeRun("cmp", "pkill");
        List<String> blocks = PastedCommands.blocks("tutorial-clones.md", "## 1.", "## A VMM");
        assertEquals(8, blocks.size(), "blocks of commands");
        Path script = scratch.resolve("tutorial.sh");
        Path machines = scratch.resolve("machines");
        Files.writeString(
                script,
                BEGIN
                        + String.join("", blocks)
                                .replace("make build\n", "")
                                .replace("/tmp/machines", machines.toString()));
        String out = PastedCommands.run("tutorial", TIMEOUT, script.toString());
        assertTrue(out.contains("golden.state\n"), out);
        assertTrue(out.contains("the state is there, too\n"), out);
        assertTrue(out.contains("\n100\n"), out);
        assertTrue(out.contains("the memory is the same\n"), out);
        assertTrue(Files.notExists(machines), "all is removed");
    }
}
