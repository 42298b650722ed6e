package io.farpage.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.harness.PastedCommands;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The commands that docs/quick-start.md gives for one machine, as they are pasted. */
@Tag("soak")
class QuickStartTest {
    /** Six JVMs start one after the other. */
    private static final Duration TIMEOUT = Duration.ofMinutes(2);

    @TempDir
    Path scratch;

    @Test
    void shouldWriteReadAndClearAPageWithTheCommandsOfTheQuickStart() throws Exception {
        PastedCommands.assumeRun("curl");
        List<String> blocks = PastedCommands.blocks("quick-start.md", "## One machine", "## Several machines");
        assertEquals(3, blocks.size(), "blocks of commands for one machine");
        // The one thing that is not pasted: what another user has in /tmp is left alone.
        for (int i = 0; i < blocks.size(); i++) {
            Files.writeString(
                    scratch.resolve("block-" + (i + 1)), blocks.get(i).replace("/tmp/farpage", scratch + "/store"));
        }
        Path script = scratch.resolve("quick-start.sh");
        try (InputStream text = QuickStartTest.class.getResourceAsStream("/quick-start.sh")) {
            Files.copy(Objects.requireNonNull(text), script);
        }
        String out = PastedCommands.run(
                "quick start", TIMEOUT, script.toString(), PastedCommands.ROOT.toString(), scratch.toString());
        assertTrue(out.startsWith("agents: 2\n"), out);
        assertTrue(out.contains("\"name\":\"demo\""), out);
        assertTrue(out.contains("hello\n"), out);
        assertTrue(out.endsWith("spaces: []\n"), out);
    }
}
