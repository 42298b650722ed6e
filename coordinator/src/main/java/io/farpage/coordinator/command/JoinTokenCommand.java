package io.farpage.coordinator.command;

import io.farpage.config.Config;
import io.farpage.config.ConfigException;
import io.farpage.config.DurationOption;
import io.farpage.coordinator.access.AccessRecords;
import io.farpage.coordinator.access.JoinTokens;
import io.farpage.coordinator.config.ConfigOptions;
import io.farpage.coordinator.config.Settings;
import io.farpage.coordinator.server.StoreAccess;
import io.farpage.tls.CaPin;
import io.farpage.tls.Tls;
import io.farpage.tls.TlsFiles;
import io.farpage.tls.TlsKeys;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code coordinator join-token create}: lets a node get its certificate. */
@Command(
        name = "join-token",
        description = "Makes join tokens. Run it on the coordinator's host, as its user.",
        subcommands = JoinTokenCommand.Create.class,
        mixinStandardHelpOptions = true)
public final class JoinTokenCommand implements Callable<Integer> {

    @Spec
    private @Nullable CommandSpec spec;

    JoinTokenCommand() {}

    @Override
    public Integer call() {
        throw new ParameterException(Objects.requireNonNull(spec).commandLine(), "Missing required subcommand: create");
    }

    /**
     * The command that a node's host runs, in bash. The token is its standard input, since all users of a host can read
     * command lines.
     *
     * @param more options
     */
    static String joinCommand(Config config, String node, String token, String... more) {
        List<String> words = new ArrayList<>(List.of("page-agent join", joinOptions(config, node)));
        words.addAll(List.of(more));
        words.add(here(token));
        return String.join(" ", words);
    }

    private static String here(String token) {
        return "<<<" + token;
    }

    private static String joinOptions(Config config, String node) {
        TlsFiles files = TlsKeys.files(config)
                .orElseThrow(() -> new ConfigException(
                        List.of("tls.certificate is not set: nodes join over TLS only; 'coordinator certs init' makes"
                                + " certificates")));
        if (config.get(Settings.CA_KEY).isEmpty()) {
            throw new ConfigException(
                    List.of("tls.ca_key is not set: without the CA's key the coordinator issues no certificates"));
        }
        Tls tls = Tls.read(files);
        return "--coordinator %s --node %s --ca-hash %s --token-file -"
                .formatted(StoreAccess.own(config), node, CaPin.hash(tls.ca().getFirst()));
    }

    /** {@code coordinator join-token create NODE}. */
    @Command(
            name = "create",
            description =
                    "Makes a token with which one node gets one certificate, and prints the command to run on that"
                            + " node's host, and the one of the Debian packages.",
            mixinStandardHelpOptions = true)
    static final class Create implements Callable<Integer> {
        @Mixin
        private final ConfigOptions options = new ConfigOptions();

        @Parameters(paramLabel = "NODE", description = "The node's id.")
        private String node = "";

        @Option(
                names = "--ttl",
                paramLabel = "DURATION",
                converter = DurationOption.class,
                defaultValue = "15m",
                description = "How long the token counts (default ${DEFAULT-VALUE}).")
        private Duration ttl = Duration.ofMinutes(15);

        @Option(
                names = "--address",
                paramLabel = "HOST",
                description =
                        "A name or address that the node's certificate is to have, beside the one that it joins from;"
                                + " may be repeated.")
        private List<String> addresses = new ArrayList<>();

        @Spec
        private @Nullable CommandSpec spec;

        @Override
        public Integer call() {
            Config config = options.load();
            joinCommand(config, node, "");
            String token = CommandAudit.of(config).of("join-token.create", node, Map.of(), () -> create(config));
            PrintWriter out = Objects.requireNonNull(spec).commandLine().getOut();
            out.println(joinCommand(config, node, token));
            out.flush();
            // Standard output is the one command, for scripts.
            PrintWriter err = spec.commandLine().getErr();
            err.println("or, where farpage's Debian packages are installed, as root: farpage-setup node "
                    + joinOptions(config, node) + " " + here(token));
            err.flush();
            return 0;
        }

        private String create(Config config) {
            try (AccessRecords records = StoreAccess.records(config)) {
                return new JoinTokens(records).create(node, addresses, ttl);
            }
        }
    }
}
