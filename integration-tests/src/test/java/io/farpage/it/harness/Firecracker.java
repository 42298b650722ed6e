package io.farpage.it.harness;

import static io.farpage.it.deadlines.Deadlines.await;

import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * A process of Firecracker, which its API on a Unix socket tells what to do. The guest's serial line is its standard
 * output.
 */
public final class Firecracker implements AutoCloseable {
    private static final Duration TIMEOUT = Duration.ofSeconds(30);

    private final ChildJvm process;
    private final Path socket;

    private Firecracker(ChildJvm process, Path socket) {
        this.process = process;
        this.socket = socket;
    }

    /** The program: what FARPAGE_FIRECRACKER names, or {@code firecracker} of the PATH. */
    public static Optional<Path> program() {
        return Optional.ofNullable(System.getenv("FARPAGE_FIRECRACKER"))
                .map(Path::of)
                .or(() -> Stream.of(System.getenv("PATH").split(":"))
                        .map(directory -> Path.of(directory, "firecracker"))
                        .filter(Files::isExecutable)
                        .findFirst());
    }

    /** Starts one, and waits until its API listens. */
    public static Firecracker start(Path program, Path directory, String name) {
        Path socket = directory.resolve(name + ".sock");
        ChildJvm process = ChildJvm.launch(
                name, List.of(program.toString(), "--api-sock", socket.toString(), "--id", name), Map.of(), directory);
        await(name + " listens", TIMEOUT).until(() -> Files.exists(socket) || !process.isAlive());
        return new Firecracker(process, socket);
    }

    /**
     * Sends a request.
     *
     * @throws AssertionError if it is refused, with the answer and what the process has said
     */
    public void request(String method, String path, String json) throws IOException {
        byte[] body = json.getBytes(StandardCharsets.UTF_8);
        String head = """
                %s %s HTTP/1.1\r
                Host: localhost\r
                Accept: application/json\r
                Content-Type: application/json\r
                Content-Length: %d\r
                \r
                """.formatted(method, path, body.length);
        try (SocketChannel channel = SocketChannel.open(UnixDomainSocketAddress.of(socket))) {
            channel.write(ByteBuffer.wrap(head.getBytes(StandardCharsets.US_ASCII)));
            channel.write(ByteBuffer.wrap(body));
            // One read gives the whole of an answer as short as these. The test's time limit ends a wait for none.
            ByteBuffer answer = ByteBuffer.allocate(64 << 10);
            channel.read(answer);
            String text = StandardCharsets.UTF_8.decode(answer.flip()).toString();
            if (!text.startsWith("HTTP/1.1 204")) {
                throw new AssertionError(method + " " + path + " " + json + ": " + text + "\n" + process.describe());
            }
        }
    }

    /** What the guest's serial line has said. */
    public String console() {
        return process.out();
    }

    public boolean isAlive() {
        return process.isAlive();
    }

    /** What is known of the process, for messages. */
    public String describe() {
        return process.describe();
    }

    @Override
    public void close() {
        process.kill();
    }
}
