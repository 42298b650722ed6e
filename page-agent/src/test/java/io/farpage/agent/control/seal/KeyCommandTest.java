package io.farpage.agent.control.seal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class KeyCommandTest {
    private static final String KEY = "5a".repeat(32);

    @TempDir
    private Path directory = Path.of("");

    private static KeyCommand shell(String script) {
        return new KeyCommand(List.of("/bin/sh", "-c", script, "kms"), Duration.ofSeconds(10));
    }

    private static String refusal(KeyCommand command) {
        return String.valueOf(
                assertThrows(SealException.class, command::current).getMessage());
    }

    @Test
    void shouldTakeTheKeyThatTheProgramPrints() throws Exception {
        try (SpaceKey printed = shell("echo " + KEY).current();
                SpaceKey read = SpaceKey.read(KEY.getBytes(java.nio.charset.StandardCharsets.US_ASCII), "a test")) {
            assertEquals(read.id(), printed.id());
        }
    }

    @Test
    void shouldGiveTheProgramTheIdOfTheKey() throws Exception {
        Path asked = directory.resolve("asked");
        KeyCommand command = shell("echo \"$1\" >> " + asked + "; echo " + KEY);
        command.byId("0123456789abcdef").close();
        command.current().close();
        assertEquals(List.of("0123456789abcdef", "current"), Files.readAllLines(asked));
    }

    @Test
    void shouldSayWhatTheProgramSays() {
        String refused = refusal(shell("echo no such key >&2; exit 3"));
        assertTrue(refused.contains("ended with 3: no such key"), refused);
    }

    @Test
    void shouldNotRepeatWhatTheProgramPrintsAsAKey() {
        String refused = refusal(shell("echo secret"));
        assertTrue(refused.contains("has 7 bytes; a key is 32 bytes or 64 hex digits"), refused);
    }

    @Test
    void shouldEndAProgramThatTakesTooLong() {
        KeyCommand slow = new KeyCommand(List.of("/bin/sh", "-c", "sleep 600"), Duration.ofMillis(200));
        String refused = refusal(slow);
        assertTrue(refused.contains("did not end within PT0.2S (seal.key_deadline)"), refused);
    }

    @Test
    void shouldNameAProgramThatCannotBeRun() {
        String refused = refusal(new KeyCommand(List.of("/nonexistent/kms"), Duration.ofSeconds(1)));
        assertTrue(refused.contains("'/nonexistent/kms current' (seal.key_command) cannot be run"), refused);
    }
}
