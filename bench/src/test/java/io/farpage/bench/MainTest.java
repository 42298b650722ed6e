package io.farpage.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
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
    void shouldAskWhatToDo() {
        assertEquals(2, Main.execute());
        assertTrue(errors.toString(StandardCharsets.UTF_8).contains("say what to do: fetch"));
    }
}
