package io.farpage.agent.command;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

final class JoinCommandTest {
    @TempDir
    private Path directory;

    private String error = "";

    private int join(ServerSocket coordinator, String timeout) {
        StringWriter said = new StringWriter();
        int code = new CommandLine(new JoinCommand())
                .setErr(new PrintWriter(said))
                .execute(
                        "--coordinator",
                        "https://127.0.0.1:" + coordinator.getLocalPort(),
                        "--node",
                        "a",
                        "--token",
                        "t",
                        "--ca-hash",
                        "sha256:" + "0".repeat(64),
                        "--dir",
                        directory.toString(),
                        "--timeout",
                        timeout);
        error = said.toString();
        return code;
    }

    /** The default is half a minute, which the deadline of this test is below. */
    @Test
    void shouldGiveUpAfterTheGivenTimeWhenTheCoordinatorDoesNotAnswer() throws Exception {
        try (ServerSocket silent = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"))) {
            assertEquals(1, join(silent, "300ms"));
        }
        assertTrue(error.contains("within 300 ms; raise --timeout"), error);
        assertFalse(Files.exists(directory.resolve("agent.key")));
    }

    @Test
    void shouldRefuseATimeoutThatIsNoDuration() throws Exception {
        try (ServerSocket silent = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"))) {
            assertEquals(2, join(silent, "soon"));
        }
        assertTrue(error.contains("'soon' is not a duration"), error);
    }
}
