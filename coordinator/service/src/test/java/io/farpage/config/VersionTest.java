package io.farpage.config;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;
import picocli.CommandLine.Command;

final class VersionTest {
    @Command(
            name = "program",
            mixinStandardHelpOptions = true,
            versionProvider = Version.class,
            subcommands = Part.class)
    static final class Program {}

    @Command(name = "part", mixinStandardHelpOptions = true, versionProvider = Version.class)
    static final class Part {}

    @ParameterizedTest
    @ValueSource(strings = {"-V", "--version", "part --version"})
    void shouldPrintTheVersionAfterTheNameOfTheProgram(String arguments) {
        StringWriter out = new StringWriter();

        int code = new CommandLine(new Program()).setOut(new PrintWriter(out)).execute(arguments.split(" "));

        assertEquals(0, code);
        assertEquals("program " + Version.text(), out.toString().strip());
    }
}
