package io.farpage.agent.command;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

final class JoinTokenOptionTest {
    @TempDir
    private Path directory;

    private static String read(String... options) throws IOException {
        JoinTokenOption token = new JoinTokenOption();
        CommandLine.populateCommand(token, options);
        return token.read();
    }

    private static String readWithInput(String input, String... options) throws IOException {
        InputStream before = System.in;
        System.setIn(new ByteArrayInputStream(input.getBytes(StandardCharsets.UTF_8)));
        try {
            return read(options);
        } finally {
            System.setIn(before);
        }
    }

    @Test
    void shouldReadTheFirstLineOfAFile() throws Exception {
        Path file = Files.writeString(directory.resolve("token"), "  farpage_join_1 \nnext\n");
        assertEquals("farpage_join_1", read("--token-file", file.toString()));
    }

    @Test
    void shouldReadStandardInput() throws Exception {
        assertEquals("farpage_join_2", readWithInput("farpage_join_2\n", "--token-file", "-"));
    }

    @Test
    void shouldTakeTheTokenOfAnOlderCommandLine() throws Exception {
        assertEquals("farpage_join_3", readWithInput("other\n", "--token", "farpage_join_3"));
    }

    @Test
    void shouldRefuseAFileWithoutAToken() throws Exception {
        Path empty = Files.writeString(directory.resolve("empty"), "\n");
        Path absent = directory.resolve("absent");
        assertRefused("its first line is not a join token", empty);
        assertRefused("there is no such file", absent);
        assertThrows(IllegalArgumentException.class, () -> readWithInput("", "--token-file", "-"));
    }

    private static void assertRefused(String reason, Path file) {
        IllegalArgumentException refused =
                assertThrows(IllegalArgumentException.class, () -> read("--token-file", file.toString()));
        assertEquals("--token-file " + file + ": " + reason, refused.getMessage());
    }
}
