package io.farpage.it.harness;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.ObjectMapper;

/** A member of an etcd cluster, on a host of its own. It can be killed and started again on its data. */
public final class EtcdProcess implements AutoCloseable {
    private static final Path PROGRAM = Path.of("/usr/bin/etcd");
    private static final Duration TIMEOUT = Duration.ofSeconds(2);
    private static final HttpClient CLIENT = HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(TIMEOUT)
            .build();
    private static final ObjectMapper JSON = new ObjectMapper();

    private final String host;
    private final String address;
    private final List<String> command;
    private final Path directory;
    private final List<ChildJvm> lives = new ArrayList<>();

    /**
     * @param host it runs on, and its name
     * @param cluster all members, as {@code --initial-cluster} takes them
     */
    public EtcdProcess(Namespaces hosts, String host, String cluster, Path directory) {
        this.host = host;
        this.address = hosts.address(host);
        this.directory = directory;
        this.command = hosts.on(
                host,
                List.of(
                        PROGRAM.toString(),
                        "--name=" + host,
                        "--data-dir=" + directory.resolve(host),
                        "--listen-client-urls=http://" + address + ":2379",
                        "--advertise-client-urls=http://" + address + ":2379",
                        "--listen-peer-urls=" + peer(address),
                        "--initial-advertise-peer-urls=" + peer(address),
                        "--initial-cluster=" + cluster));
    }

    /** Why there is no etcd on this machine; empty if there is. */
    public static Optional<String> missing() {
        return Files.isExecutable(PROGRAM)
                ? Optional.empty()
                : Optional.of("no " + PROGRAM + "; install it: apt-get install etcd-server");
    }

    /** Where a member takes connections of the others. */
    public static String peer(String address) {
        return "http://" + address + ":2380";
    }

    public void launch() {
        lives.add(ChildJvm.launch("etcd-" + host, command, Map.of(), directory));
    }

    public ChildJvm process() {
        return lives.getLast();
    }

    public String host() {
        return host;
    }

    /** Where it takes requests. */
    public String url() {
        return "http://" + address + ":2379";
    }

    /** Whether it has a leader, which is itself or another member; empty if it does not answer or has none. */
    public Optional<Boolean> leads() {
        try {
            var answer = CLIENT.send(
                    HttpRequest.newBuilder(URI.create(url() + "/v3/maintenance/status"))
                            .timeout(TIMEOUT)
                            .POST(BodyPublishers.ofString("{}"))
                            .build(),
                    BodyHandlers.ofByteArray());
            if (answer.statusCode() != 200) {
                return Optional.empty();
            }
            JsonNode status = JSON.readTree(answer.body());
            String leader = status.path("leader").asString("0");
            return leader.equals("0")
                    ? Optional.empty()
                    : Optional.of(leader.equals(
                            status.path("header").path("member_id").asString("")));
        } catch (IOException e) {
            return Optional.empty();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    /** Deletes all keys of the cluster. */
    void deleteAll() {
        try {
            // From the key with one byte, 0, without an end, in Base64.
            var answer = CLIENT.send(
                    HttpRequest.newBuilder(URI.create(url() + "/v3/kv/deleterange"))
                            .timeout(TIMEOUT)
                            .POST(BodyPublishers.ofString("{\"key\":\"AA==\",\"range_end\":\"AA==\"}"))
                            .build(),
                    BodyHandlers.ofString());
            if (answer.statusCode() != 200) {
                throw new IllegalStateException("etcd answers " + answer.body());
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    String describe() {
        String said = process().err();
        return process().name() + ": ..." + said.substring(Math.max(0, said.length() - 4_000));
    }

    @Override
    public void close() {
        lives.forEach(ChildJvm::close);
    }
}
