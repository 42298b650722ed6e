package io.farpage.agent.command;

import io.farpage.agent.client.AgentTarget;
import io.farpage.agent.control.guest.NewSpace;
import io.farpage.agent.rest.GuestOperations;
import io.farpage.config.BytesOption;
import io.farpage.coordinator.model.Space;
import io.farpage.rest.Json;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code page-agent space}: spaces as the coordinator has them, through the REST API of a running agent. */
@Command(
        name = "space",
        mixinStandardHelpOptions = true,
        description = "Create a space, encrypted or not, or show one, through a running agent.",
        subcommands = {SpaceCommand.Create.class, SpaceCommand.Show.class})
public final class SpaceCommand implements Callable<Integer> {
    @Spec
    @SuppressWarnings("NullAway.Init") // set by picocli
    private CommandSpec spec;

    private static final int REFUSED = 1;
    private static final int WRONG_USAGE = 2;

    @Override
    public Integer call() {
        spec.commandLine()
                .getErr()
                .println("page-agent space: give a command: create or show (page-agent space create --help)");
        return WRONG_USAGE;
    }

    /** Creates a space. */
    @Command(
            name = "create",
            mixinStandardHelpOptions = true,
            description = "Create a space. The homes of an encrypted space can neither read its pages nor alter them"
                    + " unnoticed.")
    static final class Create implements Callable<Integer> {
        @Spec
        @SuppressWarnings("NullAway.Init") // set by picocli
        private CommandSpec spec;

        @ArgGroup(exclusive = false, multiplicity = "1")
        private final AgentTarget target = new AgentTarget();

        @Option(names = "--size", required = true, converter = BytesOption.class, description = "Size, such as 512MiB")
        private long size;

        @Option(names = "--page-size", converter = BytesOption.class, description = "4KiB or 2MiB (default: 4KiB)")
        private @Nullable Long pageSize;

        @Option(
                names = "--home",
                paramLabel = "NODE",
                description = "Node to take the memory from; may be repeated (default: all nodes except this one)")
        private @Nullable List<String> homes;

        @Option(
                names = "--replicas",
                paramLabel = "COUNT",
                description = "Homes of each page, 1 to 3, in different failure domains (default: 1)")
        private @Nullable Integer replicas;

        @Option(names = "--thin", description = "Take room when pages are written first, not at once")
        private boolean thin;

        @Option(names = "--coherent", description = "Let several nodes use it at the same time")
        private boolean coherent;

        @Option(names = "--encrypted", description = "Have agents seal its pages, with a key of this agent")
        private boolean encrypted;

        @Option(
                names = "--key-id",
                paramLabel = "ID",
                description = "Key of an encrypted space (default: the agent's key for new spaces)")
        private @Nullable String keyId;

        @Option(
                names = "--nodes",
                paramLabel = "NODE",
                split = ",",
                description = "Nodes that may attach it (default: all)")
        private @Nullable List<String> nodes;

        @Override
        public Integer call() throws InterruptedException {
            NewSpace space = new NewSpace(
                    target.name(),
                    size,
                    pageSize == null ? OptionalInt.empty() : OptionalInt.of((int) Math.min(pageSize, 1 << 30)),
                    Optional.ofNullable(homes),
                    replicas == null ? OptionalInt.empty() : OptionalInt.of(replicas),
                    encrypted ? Optional.of(true) : Optional.empty(),
                    Optional.ofNullable(keyId),
                    thin ? Optional.of(true) : Optional.empty(),
                    coherent ? Optional.of(true) : Optional.empty(),
                    Optional.ofNullable(nodes));
            byte[] answer = target.send(
                    GuestOperations.CREATE_SPACE.at(), AgentTarget.JSON, Json.STRICT.writeValueAsBytes(space));
            if (answer == null) {
                return REFUSED;
            }
            spec.commandLine()
                    .getOut()
                    .println(Json.LENIENT.readValue(answer, Space.class).describe());
            return 0;
        }
    }

    /** Shows a space. */
    @Command(name = "show", mixinStandardHelpOptions = true, description = "Show a space as the coordinator has it.")
    static final class Show implements Callable<Integer> {
        @Spec
        @SuppressWarnings("NullAway.Init") // set by picocli
        private CommandSpec spec;

        @ArgGroup(exclusive = false, multiplicity = "1")
        private final AgentTarget target = new AgentTarget();

        @Option(names = "--json", description = "As the REST API answers")
        private boolean asJson;

        @Override
        public Integer call() throws InterruptedException {
            byte[] answer =
                    target.send(GuestOperations.DESCRIBE_SPACE.at(target.name()), AgentTarget.JSON, new byte[0]);
            if (answer == null) {
                return REFUSED;
            }
            spec.commandLine()
                    .getOut()
                    .println(
                            asJson
                                    ? new String(answer, StandardCharsets.UTF_8)
                                    : Json.LENIENT
                                            .readValue(answer, Space.class)
                                            .describe());
            return 0;
        }
    }
}
