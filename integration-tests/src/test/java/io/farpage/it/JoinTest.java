package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.client.Allegiance;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.ChildJvm;
import io.farpage.it.harness.Command;
import io.farpage.it.harness.Pages;
import io.farpage.it.harness.Ports;
import io.farpage.tls.Credentials;
import io.farpage.tls.Tls;
import io.farpage.tls.TlsFiles;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Three hosts with certificates: the five commands of the guide, on three addresses of loopback. And join tokens that
 * do not count.
 */
@Tag("portable")
@Tag("processes")
class JoinTest {
    private static final Path GUIDE = Path.of(System.getProperty("farpage.root"), "docs", "security.md");
    private static final Map<String, String> SMALL = Map.of(
            "FARPAGE_POOL_EXPORTED", "8MiB",
            "FARPAGE_POOL_STAGING", "4MiB",
            "FARPAGE_POOL_HUGEPAGES", "off",
            "FARPAGE_SHARD_IDLE", "block");
    private static final Pattern TOKEN = Pattern.compile("--node (\\S+) --ca-hash (\\S+) --token-file - .*<<<(\\S+)");

    /** What bash makes the standard input of a command. */
    private static final String HERE = "<<<";

    @TempDir
    Path directory;

    private final List<ChildJvm> children = new ArrayList<>();
    private final int port = Ports.free();

    @AfterEach
    void close() {
        children.forEach(ChildJvm::close);
    }

    /** Starts a command as bash does. */
    private ChildJvm start(String... words) {
        List<String> arguments = Arrays.stream(words)
                .skip(1)
                .filter(word -> !word.startsWith(HERE))
                .toList();
        String input = Arrays.stream(words)
                .filter(word -> word.startsWith(HERE))
                .map(word -> word.substring(HERE.length()) + "\n")
                .collect(Collectors.joining());
        boolean isAgent = words[0].endsWith("page-agent");
        ChildJvm child = ChildJvm.start(
                isAgent ? "page-agent" : "coordinator",
                isAgent ? io.farpage.agent.Main.class : io.farpage.coordinator.Main.class,
                arguments,
                isAgent ? SMALL : Map.of(),
                input);
        children.add(child);
        return child;
    }

    /** Executes a command in this JVM. A token that bash would give to its standard input is in a file. */
    private Command execute(String... words) throws IOException {
        List<String> arguments = new ArrayList<>();
        for (String word : Arrays.copyOfRange(words, 1, words.length)) {
            if (word.startsWith(HERE)) {
                Path token = Files.writeString(directory.resolve("token"), word.substring(HERE.length()) + "\n");
                arguments.set(arguments.indexOf("-"), token.toString());
            } else {
                arguments.add(word);
            }
        }
        return words[0].endsWith("page-agent") ? Command.agent(arguments) : Command.coordinator(arguments);
    }

    private String run(String... words) throws IOException {
        return execute(words).done().out();
    }

    private void awaitSaid(ChildJvm child, String text) {
        await(text, Deadlines.LONG).untilAsserted(() -> {
            assertTrue(child.isAlive() || child.out().contains(text), child.out() + child.err());
            assertTrue(child.out().contains(text), child.out() + child.err());
        });
    }

    /**
     * The commands of the guide, each with the host that it is for, with this test's directories, addresses and port.
     */
    private List<String[]> commands() throws Exception {
        String guide = Files.readString(GUIDE);
        try (Stream<String> lines = guide.lines()) {
            return lines.filter(line -> line.matches("host\\d\\$ bin/.*"))
                    .map(line -> line.replaceFirst("^host\\d\\$ ", "")
                            .replace(
                                    "/etc/farpage",
                                    directory.resolve("host" + line.charAt(4)).toString())
                            .replace("10.0.0.", "127.0.0.")
                            .replace("7400", Integer.toString(port))
                            .split(" "))
                    .toList();
        }
    }

    @Test
    void shouldMakeAClusterOfThreeHostsWithTheFiveCommandsOfTheGuide() throws Exception {
        List<String[]> commands = commands();
        assertEquals(5, commands.size(), "commands in " + GUIDE);
        ChildJvm certificates = start(
                with(commands.get(0), "--store", directory.resolve("store").toString()));
        assertEquals(0, certificates.awaitEnd(), certificates.err());
        String said = certificates.out();
        ChildJvm coordinator = start(commands.get(1));
        awaitSaid(coordinator, "coordinator listening on https://127.0.0.1:" + port);
        for (String[] command : commands.subList(2, 5)) {
            String[] filled = filled(command, said);
            int host = commands.indexOf(command) - 1;
            ChildJvm agent = start(with(
                    filled,
                    "--dir",
                    directory.resolve("agent" + host).toString(),
                    "--address",
                    "127.0.0." + host,
                    "--api-port",
                    "0"));
            awaitSaid(agent, " and https://127.0.0." + host + ":");
            assertFalse(commandLine(agent).contains("farpage_join_"), "the token is on a command line");
        }
        fetchAPage();
        for (String file : List.of("agent1/agent.key", "host1/ca.key", "host1/coordinator.key", "agent1/agent.pem")) {
            assertEquals(
                    "rw-------",
                    PosixFilePermissions.toString(Files.getPosixFilePermissions(directory.resolve(file))),
                    file);
        }
    }

    private static String commandLine(ChildJvm child) throws IOException {
        return Files.readString(Path.of("/proc", Long.toString(child.pid()), "cmdline"));
    }

    private static String[] with(String[] command, String... more) {
        return Stream.concat(Arrays.stream(command), Arrays.stream(more)).toArray(String[]::new);
    }

    /** The token and the hash that the first command has printed for this node. */
    private static String[] filled(String[] command, String said) {
        Matcher tokens = TOKEN.matcher(said);
        String node = command[Arrays.asList(command).indexOf("--node") + 1];
        while (tokens.find()) {
            if (tokens.group(1).equals(node)) {
                String token = tokens.group(3);
                String hash = tokens.group(2);
                return Arrays.stream(command)
                        .map(word -> word.startsWith(HERE + "TOKEN") ? HERE + token : word.equals("HASH") ? hash : word)
                        .toArray(String[]::new);
            }
        }
        throw new AssertionError("no token for node " + node + " in " + said);
    }

    /** Over links between three addresses, with the certificates that the hosts got. */
    private void fetchAPage() throws Exception {
        Tls own = tls("agent1");
        try (CoordinatorClient client = new CoordinatorClient(
                URI.create("https://127.0.0.1:" + port),
                Duration.ofSeconds(10),
                new Allegiance(),
                Credentials.of(Optional.of(own)))) {
            await("three nodes", Deadlines.LONG)
                    .until(() -> client.nodes().stream()
                                    .filter(node -> node.status() == NodeStatus.ACTIVE)
                                    .count()
                            == 3);
            client.createSpace(new SpaceRequest("s", 65536, OptionalInt.of(4096), Optional.of(List.of("c"))));
            String address = client.node("a").orElseThrow().address();
            try (HttpClient http =
                    HttpClient.newBuilder().sslContext(own.server()).build()) {
                URI page = URI.create("https://" + address + "/api/v1/spaces/s/pages/1");
                byte[] data = Pages.of(1, 1, 4096);
                assertEquals(
                        204,
                        http.send(
                                        HttpRequest.newBuilder(page)
                                                .header("Content-Type", "application/octet-stream")
                                                .PUT(HttpRequest.BodyPublishers.ofByteArray(data))
                                                .build(),
                                        HttpResponse.BodyHandlers.discarding())
                                .statusCode());
                assertArrayEquals(
                        data,
                        http.send(HttpRequest.newBuilder(page).build(), HttpResponse.BodyHandlers.ofByteArray())
                                .body());
            }
        }
    }

    private Tls tls(String host) {
        Path at = directory.resolve(host);
        return Tls.read(new TlsFiles(
                at.resolve("agent-ca.pem"),
                Optional.of(new TlsFiles.Own(at.resolve("agent.pem"), at.resolve("agent.key")))));
    }

    @Test
    void shouldRefuseJoinTokensThatDoNotCountAndLeaveNoFiles() throws Exception {
        Path etc = directory.resolve("etc");
        String listen = "127.0.0.1:" + port;
        String said = run(
                "coordinator",
                "certs",
                "init",
                etc.toString(),
                "--listen",
                listen,
                "--store",
                directory.resolve("store").toString(),
                "--join",
                "a");
        Path yaml = etc.resolve("coordinator.yaml");
        ChildJvm coordinator = start("coordinator", "run", "--config", yaml.toString());
        awaitSaid(coordinator, "coordinator listening on https://" + listen);

        String[] join = filled(
                ("page-agent join --coordinator https://" + listen + " --node a --ca-hash HASH --token-file - <<<TOKEN")
                        .split(" "),
                said);
        String hash = join[Arrays.asList(join).indexOf("--ca-hash") + 1];
        assertRefusedToJoin(
                "the join token is for node 'a', not 'b'",
                Arrays.stream(join).map(word -> word.equals("a") ? "b" : word).toArray(String[]::new));
        assertRefusedToJoin(
                "it shows no CA with the hash sha256:00",
                Arrays.stream(join)
                        .map(word -> word.equals(hash) ? "sha256:" + "0".repeat(64) : word)
                        .toArray(String[]::new));
        run(with(join, "--dir", directory.resolve("a").toString()));
        assertRefusedToJoin("the join token of node 'a' was used at", join);
        assertTrue(
                (coordinator.out() + coordinator.err()).contains("refused: POST /api/v1/join from 127.0.0.1"),
                coordinator.out() + coordinator.err());

        // A second join overwrites no file of the first.
        Command again = execute(with(join, "--dir", directory.resolve("a").toString()));
        assertEquals(1, again.code());
        assertTrue(again.err().contains("is not overwritten"), again.err());

        String brief = run("coordinator", "join-token", "create", "c", "--ttl", "1ms", "--config", yaml.toString());
        assertRefusedToJoin(
                "the join token of node 'c' expired at", brief.strip().split(" "));
        // An address that the request does not come from takes a token that names it.
        Command token = execute("coordinator", "join-token", "create", "d", "--config", yaml.toString())
                .done();
        String[] far = token.out().strip().split(" ");
        String options = token.out().strip().replaceFirst("^page-agent join ", "");
        assertEquals(
                "or, where farpage's Debian packages are installed, as root: farpage-setup node " + options,
                token.err().strip());
        Command elsewhere = execute(with(far, "--dir", directory.resolve("d").toString(), "--address", "192.0.2.9"));
        assertEquals(1, elsewhere.code());
        assertFalse(Files.exists(directory.resolve("d").resolve("agent.key")));

        coordinator.terminate();
        coordinator.awaitEnd();
        Files.writeString(yaml, Files.readString(yaml).replaceFirst("(?m)^  ca_key:.*\n", ""));
        ChildJvm withoutKey = start("coordinator", "run", "--config", yaml.toString());
        awaitSaid(withoutKey, "coordinator listening on https://" + listen);
        assertRefusedToJoin("this coordinator has no CA key, so it issues no certificates; set tls.ca_key", far);
    }

    private void assertRefusedToJoin(String reason, String... command) throws Exception {
        Path at = directory.resolve("refused");
        Command refused = execute(with(command, "--dir", at.toString()));
        assertEquals(1, refused.code(), refused.out());
        assertTrue(refused.err().contains(reason), reason + " in " + refused.err());
        assertTrue(refused.err().contains("has not joined: "), refused.err());
        try (Stream<Path> left = Files.list(at)) {
            assertEquals(List.of(), left.toList());
        }
    }
}
