package io.farpage.coordinator.command;

import io.farpage.access.Role;
import io.farpage.config.Config;
import io.farpage.config.DurationOption;
import io.farpage.coordinator.access.AccessRecords;
import io.farpage.coordinator.access.Tokens;
import io.farpage.coordinator.config.ConfigOptions;
import io.farpage.coordinator.server.StoreAccess;
import java.io.PrintWriter;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import picocli.CommandLine.TypeConversionException;

/**
 * {@code coordinator token create|list|revoke}: the tokens of people and programs, in the store's directory or in etcd.
 */
@Command(
        name = "token",
        description = "Makes, lists and revokes tokens of people and programs. Run it on the coordinator's host, as its"
                + " user.",
        subcommands = {TokenCommand.Create.class, TokenCommand.ListAll.class, TokenCommand.Revoke.class},
        mixinStandardHelpOptions = true)
public final class TokenCommand implements Callable<Integer> {

    @Spec
    private @Nullable CommandSpec spec;

    TokenCommand() {}

    @Override
    public Integer call() {
        throw new ParameterException(
                Objects.requireNonNull(spec).commandLine(), "Missing required subcommand: create, list or revoke");
    }

    /** Calls what needs the tokens of a configuration. */
    private static <T> T withTokens(Config config, Function<Tokens, T> use) {
        try (AccessRecords records = StoreAccess.records(config)) {
            return use.apply(new Tokens(records));
        }
    }

    private static void print(@Nullable CommandSpec spec, String text) {
        PrintWriter out = Objects.requireNonNull(spec).commandLine().getOut();
        out.println(text);
        out.flush();
    }

    /** Reads a role. */
    static final class Roles implements ITypeConverter<Role> {
        @Override
        public Role convert(String word) {
            try {
                return Role.parse(word);
            } catch (IllegalArgumentException e) {
                throw new TypeConversionException(String.valueOf(e.getMessage()));
            }
        }
    }

    /** {@code coordinator token create}. */
    @Command(
            name = "create",
            description = "Makes a token and prints it, once: only its hash is stored.",
            mixinStandardHelpOptions = true)
    static final class Create implements Callable<Integer> {
        @Mixin
        private final ConfigOptions options = new ConfigOptions();

        @Option(names = "--name", required = true, description = "The person or program that it is for.")
        private String name = "";

        @Option(
                names = "--role",
                required = true,
                converter = Roles.class,
                description = "admin, operator, viewer or metrics.")
        private Role role = Role.METRICS;

        @Option(
                names = "--ttl",
                paramLabel = "DURATION",
                converter = DurationOption.class,
                description = "How long it counts, such as 30d; until it is revoked, when left out.")
        private @Nullable Duration ttl;

        @Spec
        private @Nullable CommandSpec spec;

        @Override
        public Integer call() {
            Config config = options.load();
            String token = CommandAudit.of(config)
                    .of(
                            "token.create",
                            name,
                            Map.of("role", role.word()),
                            () -> withTokens(config, tokens -> tokens.create(name, role, Optional.ofNullable(ttl))));
            print(spec, token);
            return 0;
        }
    }

    /** {@code coordinator token list}. */
    @Command(name = "list", description = "Lists tokens, without the secrets.", mixinStandardHelpOptions = true)
    static final class ListAll implements Callable<Integer> {
        @Mixin
        private final ConfigOptions options = new ConfigOptions();

        @Spec
        private @Nullable CommandSpec spec;

        @Override
        public Integer call() {
            for (Tokens.Token token : withTokens(options.load(), Tokens::all)) {
                print(
                        spec,
                        "%-24s %-9s made %s, %s"
                                .formatted(token.name(), token.role().word(), token.created(), state(token)));
            }
            return 0;
        }

        private static String state(Tokens.Token token) {
            return token.revoked()
                    .map(when -> "revoked " + when)
                    .or(() -> token.expires()
                            .map(end -> (end.isAfter(Instant.now()) ? "counts until " : "expired ") + end))
                    .orElse("counts");
        }
    }

    /** {@code coordinator token revoke}. */
    @Command(
            name = "revoke",
            description = "Revokes a token; the next request with it is refused.",
            mixinStandardHelpOptions = true)
    static final class Revoke implements Callable<Integer> {
        @Mixin
        private final ConfigOptions options = new ConfigOptions();

        @Option(names = "--name", required = true, description = "The person or program whose token it is.")
        private String name = "";

        @Spec
        private @Nullable CommandSpec spec;

        @Override
        public Integer call() {
            Config config = options.load();
            CommandAudit.of(config)
                    .of("token.revoke", name, Map.of(), () -> withTokens(config, tokens -> tokens.revoke(name)));
            print(spec, "token '" + name + "' is revoked");
            return 0;
        }
    }
}
