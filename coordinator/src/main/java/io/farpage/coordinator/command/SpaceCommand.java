package io.farpage.coordinator.command;

import io.farpage.config.BytesOption;
import io.farpage.config.DurationOption;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.CloneRequest;
import io.farpage.coordinator.model.Repair;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.coordinator.model.SpaceNodes;
import io.farpage.coordinator.model.SpaceReplicas;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.progress.ProgressOption;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/**
 * {@code coordinator space create|show|allow|replicate|snapshot|clone}: spaces, by an operator's token or certificate
 * and without an agent.
 */
@Command(
        name = "space",
        description =
                "Creates a space, shows one, says which nodes may attach it, gives it replicas, and makes snapshots"
                        + " and clones.",
        subcommands = {
            SpaceCommand.Create.class,
            SpaceCommand.Show.class,
            SpaceCommand.Allow.class,
            SpaceCommand.Replicate.class,
            SpaceCommand.Snapshot.class,
            SpaceCommand.Clone.class
        },
        mixinStandardHelpOptions = true)
public final class SpaceCommand implements Callable<Integer> {

    /** Clones that one command makes. */
    private static final int MAX_CLONES = 1000;

    @Spec
    private @Nullable CommandSpec spec;

    SpaceCommand() {}

    @Override
    public Integer call() {
        throw new ParameterException(
                Objects.requireNonNull(spec).commandLine(),
                "Missing required subcommand: create, show, allow, replicate, snapshot or clone");
    }

    /** Where the coordinator is, and which space. */
    static final class Target {
        @Mixin
        private final CoordinatorTarget coordinator = new CoordinatorTarget();

        @Parameters(paramLabel = "SPACE", description = "The space's name or id.")
        private String space = "";

        @Option(
                names = "--timeout",
                paramLabel = "DURATION",
                converter = DurationOption.class,
                defaultValue = "10s",
                description = "Deadline of each call (default: ${DEFAULT-VALUE}).")
        private Duration timeout = Duration.ofSeconds(10);

        CoordinatorClient client() {
            return coordinator.client(timeout);
        }
    }

    /** {@code coordinator space create}. */
    @Command(
            name = "create",
            description = "Creates a space. One with --key-id is encrypted by the agents that have the key.",
            mixinStandardHelpOptions = true)
    static final class Create implements Callable<Integer> {
        @Mixin
        private final Target target = new Target();

        @Option(
                names = "--size",
                paramLabel = "BYTES",
                required = true,
                converter = BytesOption.class,
                description = "Size, such as 512MiB.")
        private long size;

        @Option(
                names = "--page-size",
                paramLabel = "BYTES",
                converter = BytesOption.class,
                defaultValue = "4KiB",
                description = "4KiB or 2MiB (default: ${DEFAULT-VALUE}).")
        private long pageSize = 4096;

        @Option(
                names = "--home",
                paramLabel = "NODE",
                split = ",",
                description = "Node to take the memory from; may be repeated (default: all active nodes).")
        private @Nullable List<String> homes;

        @Option(
                names = "--nodes",
                paramLabel = "NODE",
                split = ",",
                description = "Node that may attach it; may be repeated (default: all).")
        private @Nullable List<String> nodes;

        @Option(
                names = "--key-id",
                paramLabel = "ID",
                description = "Id of the key that agents seal its pages with, 16 hex digits (default: not encrypted).")
        private @Nullable String keyId;

        @Option(
                names = "--replicas",
                paramLabel = "COUNT",
                description = "Homes of each page, 1 to 3, in different failure domains (default: 1).")
        private int replicas = 1;

        @Option(names = "--thin", description = "Take room when pages are written first, not at once.")
        private boolean thin;

        @Option(
                names = "--coherent",
                description = "Let up to 16 nodes use it at once, each as a member with a guest of its own.")
        private boolean coherent;

        @Spec
        private @Nullable CommandSpec spec;

        @Override
        public Integer call() throws CoordinatorException {
            SpaceRequest request = new SpaceRequest(
                    target.space,
                    size,
                    OptionalInt.of((int) Math.min(pageSize, Integer.MAX_VALUE)),
                    Optional.ofNullable(homes),
                    Optional.ofNullable(keyId),
                    Optional.ofNullable(nodes),
                    replicas == 1 ? OptionalInt.empty() : OptionalInt.of(replicas));
            try (CoordinatorClient client = target.client()) {
                request = thin ? request.asThin() : request;
                print(spec, client.createSpace(coherent ? request.asCoherent() : request));
                return 0;
            }
        }
    }

    /** {@code coordinator space show}. */
    @Command(
            name = "show",
            description =
                    "Shows a space. With --wait it first waits until each extent has as many homes as the space was"
                            + " made with, and ends with 1 if that takes longer.",
            mixinStandardHelpOptions = true)
    static final class Show implements Callable<Integer> {
        @Mixin
        private final Target target = new Target();

        @Option(
                names = "--wait",
                paramLabel = "DURATION",
                converter = DurationOption.class,
                description =
                        "How long to wait until each extent has all its homes, such as 30m (default: not at all).")
        private @Nullable Duration wait;

        @Mixin
        private final ProgressOption progressOption = new ProgressOption();

        @Spec
        private @Nullable CommandSpec spec;

        @Override
        public Integer call() throws CoordinatorException, InterruptedException {
            try (CoordinatorClient client = target.client()) {
                Optional<Repair> repair = wait == null
                        ? Optional.empty()
                        : Optional.of(new RepairWait(client, target.space).await(wait, progressOption));
                Space space = client.space(target.space).orElseThrow(() -> RepairWait.absent(target.space));
                PrintWriter out = print(spec, space);
                client.extents(Long.toString(space.id())).ifPresent(of -> print(of, out));
                repair.ifPresent(state -> RepairWait.explain(state).forEach(out::println));
                out.flush();
                return repair.map(Repair::whole).orElse(true) ? 0 : 1;
            }
        }
    }

    private static void print(SpaceExtents of, PrintWriter out) {
        Space space = of.space();
        if (space.isThin()) {
            out.println("  room at homes for %d of %d bytes".formatted(of.allocatedBytes(), space.sizeBytes()));
        }
        if (space.copies() > 1 || of.isMoving()) {
            of.extents().forEach(extent -> out.println(of.describe(extent)));
        }
    }

    /** {@code coordinator space replicate}. */
    @Command(
            name = "replicate",
            description = "Gives each page of a space more homes, also while guests use it. They share reads, and each"
                    + " may fail. 'show --wait' waits until they have the pages.",
            mixinStandardHelpOptions = true)
    static final class Replicate implements Callable<Integer> {
        @Mixin
        private final Target target = new Target();

        @Option(
                names = "--replicas",
                paramLabel = "COUNT",
                required = true,
                description = "Homes of each page, up to 3, in different failure domains.")
        private int replicas;

        @Spec
        private @Nullable CommandSpec spec;

        @Override
        public Integer call() throws CoordinatorException {
            try (CoordinatorClient client = target.client()) {
                print(spec, client.replicate(target.space, new SpaceReplicas(replicas)));
                return 0;
            }
        }
    }

    /** {@code coordinator space snapshot}. */
    @Command(
            name = "snapshot",
            description = "Makes a snapshot of a space that no node uses: it is read-only from then on.",
            mixinStandardHelpOptions = true)
    static final class Snapshot implements Callable<Integer> {
        @Mixin
        private final Target target = new Target();

        @Spec
        private @Nullable CommandSpec spec;

        @Override
        public Integer call() throws CoordinatorException {
            try (CoordinatorClient client = target.client()) {
                print(spec, client.makeSnapshot(target.space));
                return 0;
            }
        }
    }

    /** {@code coordinator space clone}. */
    @Command(
            name = "clone",
            description =
                    "Makes clones of a snapshot. The guest of a clone begins with the snapshot's pages, on any host.",
            mixinStandardHelpOptions = true)
    static final class Clone implements Callable<Integer> {
        @Mixin
        private final Target target = new Target();

        @Option(
                names = "--name",
                paramLabel = "NAME",
                required = true,
                description = "Name of the clone; of several, what their names begin with: NAME-1, NAME-2 and so on.")
        private String name = "";

        @Option(
                names = "--count",
                paramLabel = "COUNT",
                description = "Makes that many clones, 1 to 1000, with numbers behind their names.")
        private @Nullable Integer count;

        @Spec
        private @Nullable CommandSpec spec;

        @Override
        public Integer call() throws CoordinatorException {
            if (count != null && (count < 1 || count > MAX_CLONES)) {
                throw new ParameterException(
                        Objects.requireNonNull(spec).commandLine(),
                        "--count: %d is not within 1..%d".formatted(count, MAX_CLONES));
            }
            try (CoordinatorClient client = target.client()) {
                for (int i = 1; i <= (count == null ? 1 : count); i++) {
                    print(
                            spec,
                            client.makeClone(target.space, new CloneRequest(count == null ? name : name + "-" + i)));
                }
                return 0;
            }
        }
    }

    /** {@code coordinator space allow}. */
    @Command(
            name = "allow",
            description = "Says which nodes may attach a space from now on.",
            mixinStandardHelpOptions = true)
    static final class Allow implements Callable<Integer> {
        @Mixin
        private final Target target = new Target();

        @ArgGroup(multiplicity = "1")
        private final Choice choice = new Choice();

        @Spec
        private @Nullable CommandSpec spec;

        /** A list, or all. */
        static final class Choice {
            @Option(
                    names = "--nodes",
                    paramLabel = "NODE",
                    split = ",",
                    description = "Nodes that may attach it, instead of those that might before.")
            private @Nullable List<String> nodes;

            @Option(names = "--all", description = "All nodes may attach it.")
            private boolean all;
        }

        @Override
        public Integer call() throws CoordinatorException {
            try (CoordinatorClient client = target.client()) {
                Space space = client.allow(
                        target.space,
                        new SpaceNodes(choice.all ? Optional.empty() : Optional.ofNullable(choice.nodes)));
                PrintWriter out = print(spec, space);
                client.attachments(Long.toString(space.id())).stream()
                        .map(Attachment::node)
                        .filter(node -> !space.mayAttach(node))
                        .forEach(node -> out.printf(
                                "  node %s is attached and stays so until it detaches: when its guest has ended%n",
                                node));
                out.flush();
                return 0;
            }
        }
    }

    private static PrintWriter print(@Nullable CommandSpec spec, Space space) {
        PrintWriter out = Objects.requireNonNull(spec).commandLine().getOut();
        out.println(space.describe());
        out.flush();
        return out;
    }
}
