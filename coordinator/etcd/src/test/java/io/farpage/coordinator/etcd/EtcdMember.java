package io.farpage.coordinator.etcd;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Assumptions;

/** A cluster of one member, on ports from the system, in a directory of the test. */
final class EtcdMember implements AutoCloseable {

    private static final Path PROGRAM = Path.of("/usr/bin/etcd");

    private static final Duration DEADLINE = Duration.ofSeconds(10);

    private final Process process;
    private final String url;
    private final Path log;

    private EtcdMember(Process process, String url, Path log) {
        this.process = process;
        this.url = url;
        this.log = log;
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
            Path log = directory.resolve("etcd.log");
            Process process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(log.toFile())
                    .start();
            return new EtcdMember(process, url, log);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static URI freeUrl() {
        return URI.create("http://127.0.0.1:" + freePort());
    }

    /**
     * A port on which nothing listened a moment ago, below those that Linux gives to connections, so that none of these
     * takes it before etcd does.
     */
    private static int freePort() {
        for (int i = 0; i < 100; i++) {
            int port = ThreadLocalRandom.current().nextInt(20_000, 32_000);
            if (isFree(port)) {
                return port;
            }
        }
        throw new IllegalStateException("no port between 20000 and 32000 is free");
    }

    private static boolean isFree(int port) {
        try (ServerSocket _ = new ServerSocket(port)) {
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    String url() {
        return url;
    }

    private String printed() {
        try {
            String said = Files.readString(log);
            return said.substring(Math.max(0, said.length() - 4_000));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    Members members() {
        return Members.of(
                List.of(url),
                endpoint -> Connections.builder(endpoint, DEADLINE).build());
    }

    private EtcdMember awaitReady() {
        try (Members members = members()) {
            Etcd etcd = new Etcd(members, "/", DEADLINE);
            awaitAnswer(() -> etcd.get("any"));
        }
        return this;
    }

    /**
     * Repeats a request until it is answered, for as long as etcd runs and for 30 s at most; the error names the last
     * refusal and what etcd printed.
     */
    void awaitAnswer(Runnable request) {
        long end = System.nanoTime() + DEADLINE.multipliedBy(3).toNanos();
        while (true) {
            try {
                request.run();
                return;
            } catch (RuntimeException e) {
                if (!process.isAlive() || System.nanoTime() - end > 0) {
                    close();
                    throw new AssertionError(
                            "etcd does not answer at %s; it printed:%n%s".formatted(url, printed()), e);
                }
                LockSupport.parkNanos(20_000_000);
            }
        }
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
