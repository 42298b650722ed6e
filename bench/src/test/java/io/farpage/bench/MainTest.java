package io.farpage.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class MainTest {
    private final PrintStream before = System.err;
    private final ByteArrayOutputStream errors = new ByteArrayOutputStream();

    @BeforeEach
    void listen() {
        System.setErr(new PrintStream(errors, true, StandardCharsets.UTF_8));
    }

    @AfterEach
    void stopListening() {
        System.setErr(before);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "--pages=many",
                "--page-size=4 gallons",
                "--pattern=spiral",
                "--mode=slow",
                "--idle=spin,doze",
                "--duration=soon",
                "--depth=0",
                "--transport=pigeon",
                "--verify=maybe",
                "--no-such-option"
            })
    void shouldRefuseABadOptionWithOneLineThatNamesIt(String option) {
        assertEquals(2, Main.execute("fetch", option));
        String said = errors.toString(StandardCharsets.UTF_8);
        assertEquals(1, said.lines().count(), said);
        assertTrue(said.startsWith("page-bench: ") && said.contains(option.split("=")[0]), said);
    }

    @Test
    void shouldNameTheCommandsWhenNoneIsGiven() {
        assertEquals(2, Main.execute());
        assertTrue(errors.toString(StandardCharsets.UTF_8).contains("say what to do: fetch"));
    }

    @ParameterizedTest
    @CsvSource({
        "stress, --threads=3, --socket PATH is missing",
        "stress, --socket=s --threads=65, --threads 65",
        "stress, --socket=s --memory=5000B, --memory 5000",
        "stress, --socket=s --backing=anonymous, --backing",
        "guest-vm, --memory=5000B, --memory is 5000 bytes",
        "install, --rounds=1, --rounds 1",
        "footprint, --guests=3, --guests 3",
        "footprint, --part=pages --space=100MiB, --space 104857600"
    })
    void shouldExitWithUsageErrorWhenACommandRefusesAnOption(String command, String options, String message) {
        assertEquals(
                2,
                Main.execute(Stream.concat(Stream.of(command), Stream.of(options.split(" ")))
                        .toArray(String[]::new)));
        String said = errors.toString(StandardCharsets.UTF_8);
        assertTrue(said.startsWith("page-bench: " + message), said);
        assertTrue(said.strip().endsWith("; see page-bench " + command + " --help"), said);
    }
}
