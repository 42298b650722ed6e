package io.farpage.coordinator.command;

import io.farpage.access.Role;
import io.farpage.certs.CertificateAuthority;
import io.farpage.certs.PrivateFiles;
import io.farpage.certs.Subject;
import io.farpage.config.Config;
import io.farpage.config.DurationOption;
import io.farpage.config.HostPort;
import io.farpage.coordinator.access.AccessRecords;
import io.farpage.coordinator.access.JoinTokens;
import io.farpage.coordinator.access.NodeKeys;
import io.farpage.coordinator.config.ConfigOptions;
import io.farpage.coordinator.config.Settings;
import io.farpage.coordinator.server.StoreAccess;
import io.farpage.tls.CaPin;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code coordinator certs init|issue|renew|revoke}: a private CA in a directory, for clusters that have none. */
@Command(
        name = "certs",
        description =
                "Keeps a private CA in a directory and issues certificates. Clusters with a CA of their own do not"
                        + " need it.",
        subcommands = {
            CertsCommand.Init.class,
            CertsCommand.Issue.class,
            CertsCommand.Renew.class,
            CertsCommand.Revoke.class
        },
        mixinStandardHelpOptions = true)
public final class CertsCommand implements Callable<Integer> {

    private static final String DEFAULT_DIRECTORY = "/etc/farpage";

    @Spec
    private @Nullable CommandSpec spec;

    CertsCommand() {}

    @Override
    public Integer call() {
        throw new ParameterException(
                Objects.requireNonNull(spec).commandLine(),
                "Missing required subcommand: init, issue, renew or revoke");
    }

    private static PrintWriter out(@Nullable CommandSpec spec) {
        return Objects.requireNonNull(spec).commandLine().getOut();
    }

    /** {@code coordinator certs init DIR}. */
    @Command(
            name = "init",
            description = "Makes a CA, the coordinator's certificate, and a configuration that uses them.",
            mixinStandardHelpOptions = true)
    static final class Init implements Callable<Integer> {
        @Parameters(
                paramLabel = "DIR",
                defaultValue = DEFAULT_DIRECTORY,
                description = "Where the files go (default ${DEFAULT-VALUE}).")
        private Path directory = Path.of(DEFAULT_DIRECTORY);

        @Option(
                names = "--listen",
                paramLabel = "HOST:PORT",
                defaultValue = "127.0.0.1:7400",
                description = "Where the coordinator is to listen; its certificate names the host (default"
                        + " ${DEFAULT-VALUE}).")
        private String listen = "127.0.0.1:7400";

        @Option(
                names = "--address",
                paramLabel = "HOST",
                description = "Another name or address of the coordinator; may be repeated.")
        private List<String> addresses = new ArrayList<>();

        @Option(
                names = "--store",
                paramLabel = "DIR",
                defaultValue = "/var/lib/farpage/coordinator",
                description = "Where the coordinator keeps its state (default ${DEFAULT-VALUE}).")
        private Path store = Path.of("/var/lib/farpage/coordinator");

        @Option(
                names = "--join",
                paramLabel = "NODE",
                split = ",",
                description =
                        "Makes a join token for a node and prints the command to run on its host; may be repeated.")
        private List<String> join = new ArrayList<>();

        @Option(
                names = "--ttl",
                paramLabel = "DURATION",
                converter = DurationOption.class,
                defaultValue = "15m",
                description = "How long the join tokens count (default ${DEFAULT-VALUE}).")
        private Duration ttl = Duration.ofMinutes(15);

        @Spec
        private @Nullable CommandSpec spec;

        @Override
        public Integer call() {
            HostPort where = HostPort.parse(listen);
            List<String> hosts = new ArrayList<>(addresses);
            hosts.addFirst(where.host());
            CertificateDirectory files = CertificateDirectory.at(directory);
            Path yaml = directory.toAbsolutePath().resolve("coordinator.yaml");
            PrivateFiles.requireAbsent(yaml);
            CertificateAuthority authority = files.init(Subject.coordinator(hosts), yaml);
            PrivateFiles.create(yaml, configuration(where, files));
            PrintWriter out = out(spec);
            out.printf(
                    "CA: %s, its key: %s (%s)%n",
                    files.caCertificate(), files.caKey(), CaPin.hash(authority.certificate()));
            out.printf("run the coordinator:%n  coordinator run --config %s%n", yaml);
            Config config = Settings.SCHEMA.load(Optional.of(yaml), Map.of(), Map.of());
            CommandAudit.of(config).of("ca.create", files.caCertificate().toString(), Map.of(), () -> where);
            JoinTokens tokens = new JoinTokens(AccessRecords.in(store.toAbsolutePath()));
            for (String node : join) {
                String token = CommandAudit.of(config)
                        .of("join-token.create", node, Map.of(), () -> tokens.create(node, List.of(), ttl));
                out.printf(
                        "on the host of node %s, within %d minutes:%n  %s%n",
                        node, ttl.toMinutes(), JoinTokenCommand.joinCommand(config, node, token, "--run"));
            }
            out.flush();
            return 0;
        }

        private String configuration(HostPort where, CertificateDirectory files) {
            return """
                server:
                  listen: "%s"
                store:
                  directory: "%s"
                tls:
                  certificate: "%s"
                  key: "%s"
                  ca: "%s"
                  ca_key: "%s"
                """.formatted(
                            where,
                            store.toAbsolutePath(),
                            files.certificate("coordinator"),
                            files.key("coordinator"),
                            files.caCertificate(),
                            files.caKey());
        }
    }

    /** The directory of a CA that exists. */
    static final class At {
        @Option(
                names = "--dir",
                paramLabel = "DIR",
                defaultValue = DEFAULT_DIRECTORY,
                description = "Directory of the CA (default ${DEFAULT-VALUE}).")
        private Path directory = Path.of(DEFAULT_DIRECTORY);
    }

    /** {@code coordinator certs issue NODE}. */
    @Command(
            name = "issue",
            description = "Issues a certificate for a node or, with --role, for a person or a program; the files are"
                    + " NAME.pem and NAME.key.",
            mixinStandardHelpOptions = true)
    static final class Issue implements Callable<Integer> {
        @picocli.CommandLine.Mixin
        private final At at = new At();

        @Parameters(paramLabel = "NAME", description = "The node's id, or the person's or program's name.")
        private String name = "";

        @Option(
                names = "--role",
                converter = TokenCommand.Roles.class,
                description = "admin, operator, viewer or metrics; a node's certificate, when left out.")
        private @Nullable Role role;

        @Option(
                names = "--address",
                paramLabel = "HOST",
                description = "Name or address of the node's host; may be repeated.")
        private List<String> addresses = new ArrayList<>();

        @Option(
                names = "--valid",
                paramLabel = "DURATION",
                converter = DurationOption.class,
                defaultValue = "365d",
                description = "How long it is valid (default ${DEFAULT-VALUE}).")
        private Duration valid = Duration.ofDays(365);

        @Spec
        private @Nullable CommandSpec spec;

        @Override
        public Integer call() {
            CertificateDirectory files = CertificateDirectory.at(at.directory);
            Role as = role;
            files.audit().of("certificate.issue", name, Map.of("role", as == null ? "node" : as.word()), () -> {
                files.issue(name, as == null ? Subject.node(name, addresses) : Subject.role(name, as), valid);
                return name;
            });
            out(spec)
                    .printf(
                            "%s%n%s%ncopy them with %s to where they are used%n",
                            files.certificate(name), files.key(name), files.caCertificate());
            out(spec).flush();
            return 0;
        }
    }

    /** {@code coordinator certs renew}. */
    @Command(
            name = "renew",
            description = "Renews each certificate in the directory after two thirds of its life. Keys and names stay"
                    + " the same. Running programs use them without a restart.",
            mixinStandardHelpOptions = true)
    static final class Renew implements Callable<Integer> {
        @picocli.CommandLine.Mixin
        private final At at = new At();

        @Option(names = "--all", description = "Renew them all, whatever their age.")
        private boolean all;

        @Spec
        private @Nullable CommandSpec spec;

        @Override
        public Integer call() {
            CertificateDirectory files = CertificateDirectory.at(at.directory);
            files.audit()
                    .of("certificate.renew", at.directory.toString(), Map.of(), () -> files.renew(all))
                    .forEach((file, certificate) -> out(spec)
                            .printf(
                                    "%s, valid until %s%n",
                                    file, certificate.getNotAfter().toInstant()));
            out(spec).flush();
            return 0;
        }
    }

    /** {@code coordinator certs revoke NODE}. */
    @Command(
            name = "revoke",
            description =
                    "Revokes all certificates that a node has by now, at all coordinators and within seconds. A join"
                            + " token lets it join anew. Run it on a coordinator's host, as its user.",
            mixinStandardHelpOptions = true)
    static final class Revoke implements Callable<Integer> {
        @picocli.CommandLine.Mixin
        private final ConfigOptions options = new ConfigOptions();

        @Parameters(paramLabel = "NODE", description = "The node's id.")
        private String node = "";

        @Spec
        private @Nullable CommandSpec spec;

        @Override
        public Integer call() {
            Config config = options.load();
            CommandAudit.of(config).of("certificate.revoke", node, Map.of(), () -> {
                try (AccessRecords records = StoreAccess.records(config)) {
                    new NodeKeys(records, System::nanoTime).revoke(node);
                    return node;
                }
            });
            out(spec)
                    .printf(
                            "the certificates of node '%s' are revoked; 'coordinator join-token create %s' lets it"
                                    + " join anew%n",
                            node, node);
            out(spec).flush();
            return 0;
        }
    }
}
