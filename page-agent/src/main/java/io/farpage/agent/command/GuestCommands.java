package io.farpage.agent.command;

import io.farpage.agent.client.AgentTarget;
import io.farpage.agent.control.guest.GuestRequest;
import io.farpage.agent.control.guest.GuestStatus;
import io.farpage.agent.control.guest.LocalLimit;
import io.farpage.agent.rest.GuestOperations;
import io.farpage.config.BytesOption;
import io.farpage.config.DurationOption;
import io.farpage.log.Printable;
import io.farpage.rest.Json;
import io.farpage.tls.ClientOptions;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * {@code page-agent attach}, {@code detach}, {@code resize} and {@code guests}: guests, through the REST API of a
 * running agent.
 */
public final class GuestCommands {
    private static final int REFUSED = 1;

    /** The type of the problem while homes have not cut a former user of the space off. */
    private static final String FENCING = "fencing";

    private GuestCommands() {}

    private static byte[] json(Object body) {
        return Json.STRICT.writeValueAsBytes(body);
    }

    /** Prepares a guest. */
    @Command(
            name = "attach",
            mixinStandardHelpOptions = true,
            description = "Prepare to serve the memory of a guest: its VMM hands the memory over on a Unix socket.")
    public static final class Attach implements Callable<Integer> {
        @Spec
        @SuppressWarnings("NullAway.Init") // set by picocli
        private CommandSpec spec;

        @ArgGroup(exclusive = false, multiplicity = "1")
        private final AgentTarget target = new AgentTarget();

        @Option(
                names = "--socket",
                required = true,
                paramLabel = "PATH",
                description = "Unix socket on which the agent waits for the VMM")
        private Path socket = Path.of("");

        @Option(
                names = "--size",
                paramLabel = "SIZE",
                converter = BytesOption.class,
                description = "Size of the guest's memory, such as 512MiB; creates the space if it does not exist")
        private @Nullable Long size;

        @Option(
                names = "--clone-of",
                paramLabel = "SNAPSHOT",
                description = "Make the space as a clone of a snapshot, if it does not exist")
        private @Nullable String cloneOf;

        @Option(
                names = "--page-size",
                paramLabel = "SIZE",
                converter = BytesOption.class,
                description = "Size of a page: 4KiB or 2MiB (default: 4KiB)")
        private @Nullable Long pageSize;

        @Option(
                names = "--home",
                paramLabel = "NODE",
                description = "Node that stores pages of the space; may be repeated (default: all other nodes)")
        private @Nullable List<String> homes;

        @Option(
                names = "--replicas",
                paramLabel = "COUNT",
                description =
                        "Homes of each page of a space that is created, 1 to 3, in different failure domains (default:"
                                + " 1)")
        private @Nullable Integer replicas;

        @Option(
                names = "--local",
                paramLabel = "SIZE",
                converter = BytesOption.class,
                description = "How much of the memory may be resident, such as 64MiB (default: all)")
        private @Nullable Long local;

        @Option(
                names = "--prefetch",
                paramLabel = "PAGES",
                description = "Largest number of pages in one fetch, 1 (no prefetching) to 64 (default: 32)")
        private @Nullable Integer prefetch;

        @Option(
                names = "--no-replay",
                description = "Do not prefetch the pages that were resident when the last guest of the space ended")
        private boolean noReplay;

        @Option(
                names = "--socket-mode",
                paramLabel = "OCTAL",
                description = "Permissions of the socket, such as 0660 for a VMM of another user (default: 0600)")
        private @Nullable String socketMode;

        @Option(
                names = "--socket-owner",
                paramLabel = "USER:GROUP",
                description =
                        "Owner of the socket, such as libvirt-qemu, libvirt-qemu:kvm or :kvm; the agent's user and"
                                + " group, when left out")
        private @Nullable String socketOwner;

        @Option(
                names = "--force",
                description =
                        "Use the space although it is torn, that is, holds a mix of older and newer pages because a"
                                + " guest ended before all its pages were written to their homes")
        private boolean force;

        @Option(
                names = "--takeover",
                description =
                        "Take the space over from a node that has failed: its homes cut that node off first. Pages that"
                                + " it had changed and not written are lost, so this also takes --force")
        private boolean takeover;

        @Option(
                names = "--timeout",
                paramLabel = "DURATION",
                converter = DurationOption.class,
                defaultValue = "30s",
                description = "How long the homes may take to cut the failed node off (default: ${DEFAULT-VALUE})")
        private Duration timeout = Duration.ofSeconds(30);

        @Option(
                names = "--encrypted",
                description = "Seal the pages for their homes, with a key of this agent; a space that exists must be"
                        + " encrypted")
        private boolean encrypted;

        @Option(
                names = "--key-id",
                paramLabel = "ID",
                description = "Key of an encrypted space that is created (default: the agent's key for new spaces)")
        private @Nullable String keyId;

        @Option(
                names = "--thin",
                description = "A space that is created takes room when pages are written first, not at once")
        private boolean thin;

        @Option(
                names = "--reset",
                description = "Begin with zeros, whatever an encrypted space held: for one whose tags are gone")
        private boolean reset;

        @Override
        public Integer call() throws InterruptedException {
            GuestRequest request = new GuestRequest(
                    socket.toAbsolutePath().toString(),
                    size == null ? OptionalLong.empty() : OptionalLong.of(size),
                    pageSize == null ? OptionalInt.empty() : OptionalInt.of((int) Math.min(pageSize, 1 << 30)),
                    Optional.ofNullable(homes),
                    replicas == null ? OptionalInt.empty() : OptionalInt.of(replicas),
                    local == null ? OptionalLong.empty() : OptionalLong.of(local),
                    prefetch == null ? OptionalInt.empty() : OptionalInt.of(prefetch),
                    noReplay ? Optional.of(false) : Optional.empty(),
                    Optional.ofNullable(socketMode),
                    Optional.ofNullable(socketOwner),
                    force ? Optional.of(true) : Optional.empty(),
                    takeover ? Optional.of(true) : Optional.empty(),
                    encrypted ? Optional.of(true) : Optional.empty(),
                    Optional.ofNullable(keyId),
                    thin ? Optional.of(true) : Optional.empty(),
                    reset ? Optional.of(true) : Optional.empty(),
                    Optional.ofNullable(cloneOf));
            long deadline = System.nanoTime() + timeout.toNanos();
            byte[] answer = AgentTarget.send(
                    target.caller(),
                    GuestOperations.ATTACH.at(target.name()),
                    AgentTarget.JSON,
                    json(request),
                    problem -> takeover && problem.is(FENCING) && deadline - System.nanoTime() > 0);
            if (answer == null) {
                return REFUSED;
            }
            spec.commandLine()
                    .getOut()
                    .println("listening on " + request.socket() + " for the guest of space " + target.name());
            return 0;
        }
    }

    /** Detaches a guest. */
    @Command(
            name = "detach",
            mixinStandardHelpOptions = true,
            description = "Remove a guest whose VMM has ended or never came. Its space stays.")
    public static final class Detach implements Callable<Integer> {
        @ArgGroup(exclusive = false, multiplicity = "1")
        private final AgentTarget target = new AgentTarget();

        @Override
        public Integer call() throws InterruptedException {
            return target.send(GuestOperations.DETACH.at(target.name()), AgentTarget.JSON, new byte[0]) == null
                    ? REFUSED
                    : 0;
        }
    }

    /** Changes the limit. */
    @Command(
            name = "resize",
            mixinStandardHelpOptions = true,
            description = "Change how much of a guest's memory may be resident; takes effect at once.")
    public static final class Resize implements Callable<Integer> {
        @ArgGroup(exclusive = false, multiplicity = "1")
        private final AgentTarget target = new AgentTarget();

        @Option(
                names = "--local",
                required = true,
                paramLabel = "SIZE",
                converter = BytesOption.class,
                description = "How much of the memory may be resident, such as 64MiB")
        private long local;

        @Override
        public Integer call() throws InterruptedException {
            byte[] body = json(new LocalLimit(local));
            return target.send(GuestOperations.RESIZE.at(target.name()), AgentTarget.JSON, body) == null ? REFUSED : 0;
        }
    }

    /** Shows all guests. */
    @Command(name = "guests", mixinStandardHelpOptions = true, description = "Show the guests of an agent.")
    public static final class Show implements Callable<Integer> {
        @Spec
        @SuppressWarnings("NullAway.Init") // set by picocli
        private CommandSpec spec;

        @Option(
                names = "--agent",
                paramLabel = "AGENT",
                defaultValue = "${env:FARPAGE_AGENT}",
                description = AgentTarget.AGENT)
        private @Nullable String agent;

        @Mixin
        private final ClientOptions security = new ClientOptions();

        @Option(names = "--json", description = "Print the JSON of the REST API")
        private boolean asJson;

        @Override
        public Integer call() throws InterruptedException {
            byte[] answer = AgentTarget.send(
                    new AgentTarget.Caller(agent, security, spec.commandLine().getErr()),
                    GuestOperations.LIST.at(),
                    AgentTarget.JSON,
                    new byte[0]);
            if (answer == null) {
                return REFUSED;
            }
            spec.commandLine()
                    .getOut()
                    .println(
                            asJson
                                    ? new String(answer, StandardCharsets.UTF_8)
                                    : table(Json.LENIENT.readValue(answer, GuestStatus[].class)));
            return 0;
        }

        private static String table(GuestStatus[] guests) {
            StringBuilder table = new StringBuilder("%-20s %-9s %10s %10s %10s %10s %9s %9s"
                    .formatted("SPACE", "STATE", "RESIDENT", "LIMIT", "REMOTE", "FAULTS", "P50 us", "P99 us"));
            for (GuestStatus guest : guests) {
                boolean limited = guest.where().localLimitPages() < Integer.MAX_VALUE;
                table.append("%n%-20s %-9s %10d %10s %10d %10d %9.1f %9.1f"
                        .formatted(
                                guest.space(),
                                guest.parked().isPresent() ? "parked" : guest.state(),
                                guest.where().residentPages(),
                                limited ? Integer.toString(guest.where().localLimitPages()) : "-",
                                guest.where().remotePages(),
                                guest.faults().faults(),
                                guest.faults().faultP50Ns() / 1e3,
                                guest.faults().faultP99Ns() / 1e3));
                if (guest.roomless()) {
                    table.append(
                            "%n    no home has room for its pages, which stay resident beside the limit".formatted());
                }
                if (!guest.pins().detail().isEmpty()) {
                    table.append("%n    %s".formatted(guest.pins().detail()));
                }
                if (!guest.detail().isEmpty()) {
                    table.append("%n    %s".formatted(Printable.of(guest.detail())));
                }
            }
            return table.toString();
        }
    }
}
