package io.farpage.bench.baseline;

import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.bench.baseline.BaselineSettings.Mode;
import io.farpage.bench.baseline.BaselineSettings.Verification;
import io.farpage.bench.pattern.PagePattern;
import io.farpage.bench.process.Children;
import io.farpage.bench.process.Programs;
import io.farpage.guest.command.CommandException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.OptionalInt;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Servers that do not answer as their protocol demands. */
@Tag("processes")
final class PageSourceTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(60);

    @TempDir
    private static Path built;

    @TempDir
    private Path directory;

    private static BaselineProgram program = new BaselineProgram.Unavailable("not built yet");

    @BeforeAll
    static void build() throws InterruptedException {
        assumeTrue(CCompiler.find(System.getenv("PATH")).isPresent(), "no C compiler on the PATH");
        program = BaselineProgram.build(BaselineProgram.FAULT, built);
    }

    @ParameterizedTest
    @CsvSource({
        "memcached, SERVER_ERROR out of memory, memcached does not answer with a page; but with 'SERVER_ERROR",
        "redis, -NOAUTH Authentication required., redis does not answer with a page; but with '-NOAUTH",
        "nbd, HTTP/1.1 400 Bad Request, the NBD server does not offer the fixed newstyle handshake",
        "memcached, '', memcached has closed the connection"
    })
    void shouldEndWithWhatAServerSaidThatDoesNotTakePages(String protocol, String answer, String message)
            throws Exception {
        try (ServerSocket listening = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Children children = Children.open(Programs.ofThisJvm(), directory.resolve("logs"), TIMEOUT)) {
            Thread.ofVirtual().start(() -> answer(listening, answer));
            FaultHandler.Doors doors = new FaultHandler.Doors(
                    directory.resolve("socket"), List.of(protocol, Integer.toString(listening.getLocalPort())));
            Path handler =
                    assertInstanceOf(BaselineProgram.Built.class, program).program();
            CommandException refused = assertThrows(
                    CommandException.class, () -> FaultHandler.start(children, handler, doors, settings(), TIMEOUT));
            String said = String.valueOf(refused.getMessage());
            assertTrue(said.contains(message.replace(';', ',')), said);
        }
    }

    private static void answer(ServerSocket listening, String answer) {
        try (Socket client = listening.accept()) {
            client.getOutputStream()
                    .write((answer + (answer.isEmpty() ? "" : "\r\n")).getBytes(StandardCharsets.US_ASCII));
            client.shutdownOutput();
            client.getInputStream().readAllBytes();
        } catch (IOException gone) {
            // The program has ended.
        }
    }

    private static BaselineSettings settings() {
        return new BaselineSettings(
                Mode.BLOCK,
                1,
                4096,
                16,
                PagePattern.RANDOM,
                1,
                Verification.NONE,
                OptionalInt.empty(),
                OptionalInt.empty(),
                false,
                1,
                0);
    }
}
