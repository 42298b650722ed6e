package io.farpage.coordinator.etcd;

import io.etcd.jetcd.Client;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;

/** A cluster of one member, on ports from the system, in a directory of the test. */
final class EtcdMember implements AutoCloseable {

    private static final Path PROGRAM = Path.of("/usr/bin/etcd");

    private final Process process;
    private final String url;

    private EtcdMember(Process process, String url) {
        this.process = process;
        this.url = url;
    }

    static EtcdMember start(Path directory) {
        Assumptions.assumeTrue(
                Files.isExecutable(PROGRAM), "no " + PROGRAM + "; install it: apt-get install etcd-server");
        String url = "http://127.0.0.1:" + freePort();
        String peers = "http://127.0.0.1:" + freePort();
        try {
            Process process = new ProcessBuilder(List.of(
                            PROGRAM.toString(),
                            "--name=a",
                            "--data-dir=" + directory.resolve("etcd"),
                            "--listen-client-urls=" + url,
                            "--advertise-client-urls=" + url,
                            "--listen-peer-urls=" + peers,
                            "--initial-advertise-peer-urls=" + peers,
                            "--initial-cluster=a=" + peers))
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

    Client client() {
        return Client.builder()
                .endpoints(url)
                .maxInboundMessageSize(Etcd.MAX_MESSAGE)
                .build();
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
