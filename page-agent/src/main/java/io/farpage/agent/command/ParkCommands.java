package io.farpage.agent.command;

import io.farpage.agent.client.AgentTarget;
import io.farpage.agent.control.guest.ParkRequest;
import io.farpage.agent.control.guest.ParkResult;
import io.farpage.agent.control.guest.UnparkRequest;
import io.farpage.agent.rest.GuestOperations;
import io.farpage.config.BytesOption;
import io.farpage.config.DurationOption;
import io.farpage.log.Printable;
import io.farpage.rest.Json;
import java.time.Duration;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code page-agent park} and {@code unpark}, through the REST API of a running agent. */
public final class ParkCommands {
    private static final int REFUSED = 1;
    private static final double MIB = 1 << 20;

    private ParkCommands() {}

    /** Parks a guest. */
    @Command(
            name = "park",
            mixinStandardHelpOptions = true,
            description = {
                "Move the memory of an idle guest to its homes while its VMM lives, and wait for that.",
                "A guest that runs again is unparked by its own faults. Exits with 1 if more than --keep is still"
                        + " resident at the deadline; the rest leaves later."
            })
    public static final class Park implements Callable<Integer> {
        @Spec
        @SuppressWarnings("NullAway.Init") // set by picocli
        private CommandSpec spec;

        @ArgGroup(exclusive = false, multiplicity = "1")
        private final AgentTarget target = new AgentTarget();

        @Option(
                names = "--keep",
                paramLabel = "SIZE",
                converter = BytesOption.class,
                description = "How much of the memory may stay resident, 256KiB or more (default: 1MiB)")
        private @Nullable Long keep;

        @Option(
                names = "--deadline",
                paramLabel = "DURATION",
                converter = DurationOption.class,
                description = "How long to wait until the rest has left, up to 20s (default: 10s)")
        private @Nullable Duration deadline;

        @Override
        public Integer call() throws InterruptedException {
            ParkRequest request = new ParkRequest(
                    keep == null ? OptionalLong.empty() : OptionalLong.of(keep),
                    deadline == null ? OptionalLong.empty() : OptionalLong.of(deadline.toMillis()));
            byte[] answer = target.send(
                    GuestOperations.PARK.at(target.name()), AgentTarget.JSON, Json.STRICT.writeValueAsBytes(request));
            if (answer == null) {
                return REFUSED;
            }
            ParkResult result = Json.LENIENT.readValue(answer, ParkResult.class);
            spec.commandLine()
                    .getOut()
                    .println("%.1f MiB have left for their homes in %d ms, %.1f MiB are resident%s"
                            .formatted(
                                    result.leftBytes() / MIB,
                                    result.millis(),
                                    result.residentBytes() / MIB,
                                    result.complete() ? "" : ": " + Printable.of(result.detail())));
            return result.complete() ? 0 : REFUSED;
        }
    }

    /** Ends parking. */
    @Command(
            name = "unpark",
            mixinStandardHelpOptions = true,
            description = "Bring the memory back that was resident when a guest was parked.")
    public static final class Unpark implements Callable<Integer> {
        @ArgGroup(exclusive = false, multiplicity = "1")
        private final AgentTarget target = new AgentTarget();

        @Option(
                names = "--local",
                paramLabel = "SIZE",
                converter = BytesOption.class,
                description = "How much of the memory may be resident from now on (default: as before)")
        private @Nullable Long local;

        @Override
        public Integer call() throws InterruptedException {
            UnparkRequest request = new UnparkRequest(local == null ? OptionalLong.empty() : OptionalLong.of(local));
            byte[] body = Json.STRICT.writeValueAsBytes(request);
            return target.send(GuestOperations.UNPARK.at(target.name()), AgentTarget.JSON, body) == null ? REFUSED : 0;
        }
    }
}
