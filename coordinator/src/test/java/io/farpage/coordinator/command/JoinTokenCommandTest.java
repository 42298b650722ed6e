package io.farpage.coordinator.command;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("portable")
final class JoinTokenCommandTest {
    private static final String TOKEN = "farpage_join_";

    @TempDir
    private Path directory;

    /** All users of a host can read the words of its processes. */
    @Test
    void shouldPrintCommandsThatReadTheTokenFromStandardInput() {
        String tls = directory.resolve("tls").toString();
        String store = directory.resolve("store").toString();
        Commands.Outcome made =
                Commands.run("certs", "init", tls, "--listen", "127.0.0.1:7400", "--store", store, "--join", "a");
        assertEquals(0, made.code(), made.err());
        assertTokenIsInput(made.out(), "page-agent join --coordinator https://127.0.0.1:7400 --node a ", " --run");
        Commands.Outcome another = Commands.run("join-token", "create", "b", "--config", tls + "/coordinator.yaml");
        assertEquals(0, another.code(), another.err());
        assertTokenIsInput(another.out(), "page-agent join --coordinator https://127.0.0.1:7400 --node b ", "");
        assertTokenIsInput(another.err(), "farpage-setup node --coordinator https://127.0.0.1:7400 --node b ", "");
    }

    private static void assertTokenIsInput(String said, String begin, String end) {
        String line = said.lines()
                .filter(text -> text.contains(begin))
                .findFirst()
                .orElseThrow(() -> new AssertionError(said));
        int input = line.indexOf(" <<<" + TOKEN);
        assertTrue(input > 0, line);
        assertTrue(line.substring(0, input).endsWith(" --token-file -" + end), line);
        assertFalse(line.substring(0, input).contains(TOKEN), line);
    }
}
