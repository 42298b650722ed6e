package io.farpage.coordinator.etcd;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.it.deadlines.Deadlines;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a coordinator on etcd leaves behind when it is killed. */
@Tag("portable")
@Tag("processes")
class TemporaryFilesTest {

    @TempDir
    private Path directory = Path.of("");

    @Test
    void shouldMakeNoDirectoryThatAKilledCoordinatorWouldLeave() throws Exception {
        Path temporary = Files.createDirectory(directory.resolve("tmp"));
        URI url = EtcdMember.freeUrl();
        try (EtcdMember member = EtcdMember.start(directory);
                Program coordinator = Program.start(
                        directory.resolve("log"),
                        List.of("-Djava.io.tmpdir=" + temporary),
                        List.of(
                                "run",
                                "-D",
                                "store.kind=etcd",
                                "-D",
                                "store.etcd.endpoints=" + member.url(),
                                "-D",
                                "store.directory=" + directory.resolve("store"),
                                "-D",
                                "server.listen=" + url.getAuthority()));
                CoordinatorClient client = new CoordinatorClient(url, Duration.ofSeconds(5))) {
            Deadlines.await("a coordinator that leads", Duration.ofSeconds(60))
                    .until(() -> !coordinator.isAlive() || answers(client));
            assertTrue(coordinator.isAlive(), Files.readString(directory.resolve("log")));
            assertEquals(List.of(), directories(temporary), "while it runs");
            coordinator.kill();
            assertEquals(List.of(), directories(temporary), "after kill -9");
        }
    }

    private static boolean answers(CoordinatorClient client) {
        try {
            client.nodes();
            return true;
        } catch (CoordinatorException e) {
            return false;
        }
    }

    private static List<Path> directories(Path of) throws IOException {
        try (Stream<Path> files = Files.list(of)) {
            return files.filter(Files::isDirectory).toList();
        }
    }
}
