package io.farpage.coordinator.etcd;

import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;

/** A cluster of one member, on ports from the system, in a directory of the test. */
final class EtcdMember implements AutoCloseable {

    private static final Path PROGRAM = Path.of("/usr/bin/etcd");

    private static final Duration DEADLINE = Duration.ofSeconds(10);

    private final Process process;
    private final String url;

    private EtcdMember(Process process, String url) {
        this.process = process;
        this.url = url;
    }

    static EtcdMember start(Path directory) {
        return start(directory, List.of());
    }

    static EtcdMember start(Path directory, List<String> options) {
        String url = "http://127.0.0.1:" + freePort();
        List<String> all = new ArrayList<>(options);
        all.add("--listen-client-urls=" + url);
        return launch(directory, url, all).awaitReady();
    }

    /** One that takes TLS alone, at 127.0.0.1 and at another address; it may not answer yet. */
    static EtcdMember secured(Path directory, List<String> options, String another) {
        int port = freePort();
        List<String> all = new ArrayList<>(options);
        all.add("--listen-client-urls=https://127.0.0.1:%d,https://%s:%d".formatted(port, another, port));
        return launch(directory, "https://127.0.0.1:" + port, all);
    }

    private static EtcdMember launch(Path directory, String url, List<String> options) {
        Assumptions.assumeTrue(
                Files.isExecutable(PROGRAM), "no " + PROGRAM + "; install it: apt-get install etcd-server");
        String peers = "http://127.0.0.1:" + freePort();
        List<String> command = new ArrayList<>(List.of(
                PROGRAM.toString(),
                "--name=a",
                "--data-dir=" + directory.resolve("etcd"),
                "--advertise-client-urls=" + url,
                "--listen-peer-urls=" + peers,
                "--initial-advertise-peer-urls=" + peers,
                "--initial-cluster=a=" + peers));
        command.addAll(options);
        try {
            Process process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(directory.resolve("etcd.log").toFile())
                    .start();
            return new EtcdMember(process, url);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static URI freeUrl() {
        return URI.create("http://127.0.0.1:" + freePort());
    }

    private static int freePort() {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    String url() {
        return url;
    }

    Members members() {
        return Members.of(
                List.of(url),
                endpoint -> Connections.builder(endpoint, DEADLINE).build());
    }

    /** Waits until it answers. */
    EtcdMember awaitReady() {
        try (Members members = members()) {
            Etcd etcd = new Etcd(members, "/", DEADLINE);
            await("etcd at " + url)
                    .atMost(DEADLINE.multipliedBy(3))
                    .ignoreExceptions()
                    .until(() -> etcd.get("any").isEmpty());
        }
        return this;
    }

    @Override
    public void close() {
        process.destroy();
        try {
            if (!process.waitFor(10, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }
}
