package io.farpage.agent.command;

import io.farpage.certs.Keys;
import io.farpage.certs.PrivateFiles;
import io.farpage.certs.SigningRequest;
import io.farpage.config.DurationOption;
import io.farpage.coordinator.model.IssuedCertificate;
import io.farpage.coordinator.model.JoinRequest;
import io.farpage.tls.CaPin;
import io.farpage.tls.Pem;
import io.farpage.tls.TlsException;
import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * {@code page-agent join}: exchanges a join token for this node's certificate, and writes the configuration that uses
 * it.
 */
@Command(
        name = "join",
        mixinStandardHelpOptions = true,
        description =
                "Get this node's certificate with a join token ('coordinator join-token create' prints the command),"
                        + " and write the key, which never leaves this host, the certificate and a configuration.")
public final class JoinCommand implements Callable<Integer> {
    @Spec
    @SuppressWarnings("NullAway.Init") // set by picocli
    private CommandSpec spec;

    private static final int REFUSED = 1;

    @Option(
            names = "--coordinator",
            required = true,
            split = ",",
            paramLabel = "URL",
            description =
                    "The coordinator, https://; of several, all or some, separated by commas: the one that leads issues"
                            + " the certificate")
    private List<URI> coordinators = new ArrayList<>();

    @Option(names = "--node", required = true, description = "Id of this node, for which the token was made")
    private String node = "";

    @ArgGroup(multiplicity = "1")
    private final JoinTokenOption token = new JoinTokenOption();

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
            spec.commandLine().getErr().println("page-agent: node '" + node + "' has not joined: " + e.getMessage());
            return REFUSED;
        }
        spec.commandLine()
                .getOut()
                .println("node " + node + " has joined; run it: page-agent run --config " + files.yaml());
        if (!run) {
            return 0;
        }
        List<String> arguments =
                new ArrayList<>(List.of("--config", files.yaml().toString()));
        Optional.ofNullable(portFile).ifPresent(file -> arguments.addAll(List.of("--port-file", file.toString())));
        return new CommandLine(new RunCommand()).execute(arguments.toArray(String[]::new));
    }

    private void join(Written files) throws IOException, InterruptedException {
        for (URI coordinator : coordinators) {
            if (!"https".equals(coordinator.getScheme()) || coordinator.getHost() == null) {
                throw new IllegalArgumentException(
                        "--coordinator '%s' must be https://host:port".formatted(coordinator));
            }
        }
        CaPin pin = CaPin.parse(caHash);
        String secret = token.read();
        PrivateFiles.makeDirectory(directory.toAbsolutePath());
        PrivateFiles.requireAbsent(files.certificate(), files.key(), files.ca(), files.yaml());
        String own = address == null ? addressToward(coordinators.getFirst()) : address;
        KeyPair pair = Keys.generate();
        PrivateFiles.create(files.key(), Pem.encode(pair.getPrivate()));
        try {
            JoinExchange exchange =
                    new JoinExchange(pin, Optional.ofNullable(address).map(InetAddress::ofLiteral), timeout);
            IssuedCertificate issued = exchange.ask(
                    coordinators,
                    new JoinRequest(
                            node,
                            secret,
                            SigningRequest.make(node, pair.getPublic(), pair.getPrivate()),
                            Optional.of(List.of(own))));
            if (Pem.certificates(issued.ca(), "the coordinator's answer").stream()
                    .noneMatch(pin::matches)) {
                throw new TlsException("the coordinator's answer has another CA than --ca-hash");
            }
            PrivateFiles.create(files.certificate(), issued.certificate());
            PrivateFiles.create(files.ca(), issued.ca());
            PrivateFiles.create(files.yaml(), configuration(files, own));
        } catch (InterruptedException | RuntimeException e) {
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

    private String configuration(Written files, String own) {
        String host = own.indexOf(':') >= 0 ? "[" + own + "]" : own;
        String urls = coordinators.stream().map(URI::toString).collect(Collectors.joining(","));
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
                """.formatted(node, urls, api, own, files.certificate(), files.key(), files.ca(), files.audit());
    }
}
