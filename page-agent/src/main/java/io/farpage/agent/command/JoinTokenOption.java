package io.farpage.agent.command;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/**
 * Where a join token comes from. All users of a host can read the command lines of its programs, so the token comes
 * from a file or standard input.
 */
final class JoinTokenOption {
    private static final Path STANDARD_INPUT = Path.of("-");

    @Option(
            names = "--token-file",
            paramLabel = "FILE",
            description = "File whose first line is the join token; - is standard input")
    private @Nullable Path file;

    @Option(
            names = "--token",
            paramLabel = "TOKEN",
            description = "The join token itself, which all users of this host can read in the list of processes:"
                    + " prefer --token-file")
    private @Nullable String token;

    /**
     * The token.
     *
     * @throws IllegalArgumentException if the file does not exist or its first line is blank
     */
    String read() throws IOException {
        if (token != null) {
            return token;
        }
        Path from = Optional.ofNullable(file).orElse(STANDARD_INPUT);
        Optional<String> line = Optional.ofNullable(firstLine(from)).map(String::strip);
        return line.filter(text -> !text.isEmpty())
                .orElseThrow(() -> new IllegalArgumentException(
                        "--token-file %s: its first line is not a join token".formatted(from)));
    }

    private static @Nullable String firstLine(Path from) throws IOException {
        if (from.equals(STANDARD_INPUT)) {
            return new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)).readLine();
        }
        try {
            return new BufferedReader(new StringReader(Files.readString(from))).readLine();
        } catch (NoSuchFileException e) {
            throw new IllegalArgumentException("--token-file %s: there is no such file".formatted(from), e);
        }
    }
}
