package io.farpage.agent;

import io.farpage.certs.Keys;
import io.farpage.certs.PrivateFiles;
import io.farpage.certs.SigningRequest;
import io.farpage.config.DurationOption;
import io.farpage.coordinator.model.IssuedCertificate;
import io.farpage.coordinator.model.JoinRequest;
import io.farpage.rest.Json;
import io.farpage.tls.CaPin;
import io.farpage.tls.Pem;
import io.farpage.tls.TlsException;
import io.farpage.tls.TlsFailure;
import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.HttpTimeoutException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code page-agent join}: exchanges a join token for this node's certificate, and writes the configuration that uses it. */
@Command(
        name = "join",
        mixinStandardHelpOptions = true,
        description =
                "Get this node's certificate with a join token ('coordinator join-token create' prints the command), and write the key, which"
                        + " never leaves this host, the certificate and a configuration.")
final class JoinCommand implements Callable<Integer> {
    private static final int REFUSED = 1;

    @Option(names = "--coordinator", required = true, paramLabel = "URL", description = "The coordinator, https://")
    private URI coordinator = URI.create("");

    @Option(names = "--node", required = true, description = "Id of this node, for which the token was made")
    private String node = "";

    @Option(names = "--token", required = true, description = "The join token")
    private String token = "";

    @Option(
            names = "--ca-hash",
            required = true,
            paramLabel = "sha256:HEX",
            description = "Hash of the cluster's CA, by which the coordinator is known")
    private String caHash = "";

    @Option(
            names = "--address",
            paramLabel = "IP",
            description =
                    "This host's address in the cluster; when left out, the one from which the coordinator is reached")
    private @Nullable String address;

    @Option(
            names = "--api-port",
            paramLabel = "PORT",
            description =
                    "Also serve the agent's REST API over TCP, on this port; when left out, on its Unix socket only")
    private @Nullable Integer apiPort;

    @Option(
            names = "--dir",
            paramLabel = "DIR",
            defaultValue = "/etc/farpage",
            description = "Where agent.pem, agent.key, agent-ca.pem and agent.yaml go; default ${DEFAULT-VALUE}")
    private Path directory = Path.of("/etc/farpage");

    @Option(
            names = "--timeout",
            paramLabel = "DURATION",
            converter = DurationOption.class,
            defaultValue = "30s",
            description =
                    "How long the coordinator may take to answer; raise it on a slow host (default ${DEFAULT-VALUE})")
    private Duration timeout = Duration.ofSeconds(30);

    @Option(names = "--run", description = "Then run the agent with that configuration")
    private boolean run;

    @Option(
            names = "--port-file",
            paramLabel = "FILE",
            description =
                    "With --run and --api-port: write the port to this file once the REST API is served, for scripts")
    private @Nullable Path portFile;

    /** The files that are written. */
    private record Written(Path certificate, Path key, Path ca, Path yaml, Path audit) {
        static Written in(Path directory) {
            Path at = directory.toAbsolutePath().normalize();
            return new Written(
                    at.resolve("agent.pem"),
                    at.resolve("agent.key"),
                    at.resolve("agent-ca.pem"),
                    at.resolve("agent.yaml"),
                    at.resolve("agent-audit.json"));
        }
    }

    @Override
    public Integer call() throws InterruptedException {
        Written files = Written.in(directory);
        try {
            join(files);
        } catch (TlsException | IllegalArgumentException | IOException e) {
            System.err.println("page-agent: node '" + node + "' has not joined: " + e.getMessage());
            return REFUSED;
        }
        System.out.println("node " + node + " has joined; run it: page-agent run --config " + files.yaml());
        if (!run) {
            return 0;
        }
        List<String> arguments =
                new ArrayList<>(List.of("--config", files.yaml().toString()));
        Optional.ofNullable(portFile).ifPresent(file -> arguments.addAll(List.of("--port-file", file.toString())));
        return new CommandLine(new RunCommand()).execute(arguments.toArray(String[]::new));
    }

    private void join(Written files) throws IOException, InterruptedException {
        if (!"https".equals(coordinator.getScheme()) || coordinator.getHost() == null) {
            throw new IllegalArgumentException("--coordinator '%s' must be https://host:port".formatted(coordinator));
        }
        CaPin pin = CaPin.parse(caHash);
        PrivateFiles.makeDirectory(directory.toAbsolutePath());
        PrivateFiles.requireAbsent(files.certificate(), files.key(), files.ca(), files.yaml());
        String own = address == null ? addressToward(coordinator) : address;
        KeyPair pair = Keys.generate();
        PrivateFiles.create(files.key(), Pem.encode(pair.getPrivate()));
        try {
            IssuedCertificate issued = ask(
                    pin,
                    new JoinRequest(
                            node,
                            token,
                            SigningRequest.make(node, pair.getPublic(), pair.getPrivate()),
                            Optional.of(List.of(own))));
            if (Pem.certificates(issued.ca(), "the coordinator's answer").stream()
                    .noneMatch(pin::matches)) {
                throw new TlsException("the coordinator's answer has another CA than --ca-hash");
            }
            PrivateFiles.create(files.certificate(), issued.certificate());
            PrivateFiles.create(files.ca(), issued.ca());
            PrivateFiles.create(files.yaml(), configuration(files, own));
        } catch (IOException | InterruptedException | RuntimeException e) {
            for (Path file : List.of(files.certificate(), files.ca(), files.key())) {
                Files.deleteIfExists(file);
            }
            throw e;
        }
    }

    /** This host's address on the way to the coordinator: the route decides, and nothing is sent. */
    private static String addressToward(URI coordinator) throws IOException {
        try (DatagramSocket probe = new DatagramSocket()) {
            probe.connect(new InetSocketAddress(InetAddress.getByName(coordinator.getHost()), port(coordinator)));
            return probe.getLocalAddress().getHostAddress();
        }
    }

    private static int port(URI coordinator) {
        return coordinator.getPort() < 0 ? 443 : coordinator.getPort();
    }

    private IssuedCertificate ask(CaPin pin, JoinRequest request) throws IOException, InterruptedException {
        HttpClient.Builder builder =
                HttpClient.newBuilder().connectTimeout(timeout).sslContext(pin.context());
        if (address != null) {
            // From the address that the certificate is to have: that shows the coordinator that it is this host's.
            builder.localAddress(InetAddress.getByName(address));
        }
        try (HttpClient client = builder.build()) {
            HttpResponse<byte[]> response = client.send(
                    HttpRequest.newBuilder(coordinator.resolve("/api/v1/join"))
                            .timeout(timeout)
                            .header("Content-Type", AgentTarget.JSON)
                            .POST(BodyPublishers.ofByteArray(Json.LENIENT.writeValueAsBytes(request)))
                            .build(),
                    BodyHandlers.ofByteArray());
            if (response.statusCode() / 100 != 2) {
                throw new TlsException(AgentTarget.detail(response.statusCode(), response.body()));
            }
            return Json.LENIENT.readValue(response.body(), IssuedCertificate.class);
        } catch (HttpTimeoutException e) {
            throw new TlsException(
                    "no answer from the coordinator at %s within %d ms; raise --timeout if it is slow"
                            .formatted(coordinator, timeout.toMillis()),
                    e);
        } catch (IOException e) {
            throw new TlsException(
                    "no answer from the coordinator at %s: %s"
                            .formatted(
                                    coordinator,
                                    TlsFailure.explain(e, true)
                                            .orElse(e.getMessage() == null ? "nothing listens there" : e.getMessage())),
                    e);
        }
    }

    private String configuration(Written files, String own) {
        String host = own.indexOf(':') >= 0 ? "[" + own + "]" : own;
        String api = apiPort == null ? "" : "api:%n  listen: \"%s:%d\"%n".formatted(host, apiPort);
        return """
                node:
                  id: "%s"
                coordinator:
                  url: "%s"
                %stcp:
                  address: "%s"
                tls:
                  certificate: "%s"
                  key: "%s"
                  ca: "%s"
                  renew: true
                audit:
                  file: "%s"
                """.formatted(node, coordinator, api, own, files.certificate(), files.key(), files.ca(), files.audit());
    }
}
