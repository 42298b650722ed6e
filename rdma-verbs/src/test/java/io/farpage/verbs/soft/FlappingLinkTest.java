package io.farpage.verbs.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.verbs.VerbsException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Links that come and go use the same native memory, and need no garbage collection for that. */
@Tag("portable")
final class FlappingLinkTest {
    private static final int FLAPS = 50;

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldUseTheMemoryOfALinkThatEndedForTheNext(boolean encrypted) {
        if (encrypted) {
            EncryptedFixture.requireLibrary();
        }
        try (FlappingLink link = new FlappingLink(encrypted)) {
            link.flap();
            long bytes = link.bytes();
            long taken = link.taken();
            for (int i = 0; i < FLAPS; i++) {
                link.flap();
            }

            assertEquals(taken, link.taken(), "taken");
            assertEquals(bytes, link.bytes(), "held");
        }
    }

    @Test
    void shouldTellTheMemoryOfAQueuePairBeforeItIsMade() {
        EncryptedFixture.requireLibrary();
        try (FlappingLink link = new FlappingLink(true)) {
            assertEquals(FlappingLink.expected(), link.taken());
        }
    }

    @Test
    void shouldGiveBackTheMemoryOfAQueuePairThatIsRefused() {
        try (FlappingLink link = new FlappingLink(false)) {
            long taken = link.taken();
            assertThrows(VerbsException.class, link::createTooLarge);

            assertEquals(taken, link.taken());
        }
    }

    @Test
    @Tag("processes")
    void shouldNotCollectGarbageForTheMemoryOfAThousandLinks() throws IOException, InterruptedException {
        Process child = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "@" + Path.of(System.getProperty("farpage.root"), "bin", "java-flags"),
                        "-XX:TieredStopAtLevel=1",
                        "-XX:MaxDirectMemorySize=4m",
                        "-Xlog:gc",
                        "-cp",
                        System.getProperty("java.class.path"),
                        FlappingLink.class.getName(),
                        "1000",
                        "false")
                .redirectErrorStream(true)
                .start();
        String output = new String(child.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

        Deadlines.exit("the end of the process", Duration.ofSeconds(60), child);
        assertEquals(0, child.exitValue(), output);
        assertFalse(output.contains("System.gc()"), output);
    }
}
