package io.farpage.coordinator.command;

import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Event;
import io.farpage.coordinator.model.EventBatch;
import io.farpage.coordinator.model.NodeFilter;
import io.farpage.rest.Json;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code coordinator events}: what has happened in the cluster. */
@Command(
        name = "events",
        description = {
            "Prints the latest events that the coordinator still has, or waits for new ones.",
            "Each line has the index, the kind, and the node, peer and space that it is about; with --json it is a JSON"
                    + " object."
        },
        mixinStandardHelpOptions = true)
public final class EventsCommand implements Callable<Integer> {

    private static final Duration WAIT = Duration.ofSeconds(30);

    @Mixin
    private final ViewOptions options = new ViewOptions();

    @Option(names = "--follow", description = "Go on with new events until interrupted.")
    private boolean follow;

    @Option(
            names = "--last",
            paramLabel = "COUNT",
            description = "Begin with the latest COUNT events of the cluster (default: ${DEFAULT-VALUE}).")
    private long last = 100;

    @Option(names = "--node", paramLabel = "NODE", description = "Only events of this node, or of it as a peer.")
    private @Nullable String node;

    @Option(names = "--space", paramLabel = "NAME", description = "Only events of this space.")
    private @Nullable String space;

    @Option(names = "--kind", paramLabel = "KIND", description = "Only events of this kind, such as node-failed.")
    private @Nullable String kind;

    @Spec
    private @Nullable CommandSpec spec;

    EventsCommand() {}

    @Override
    public Integer call() throws CoordinatorException {
        PrintWriter out = Objects.requireNonNull(spec).commandLine().getOut();
        try (CoordinatorClient client = options.client()) {
            long newest = client.overviewOfNodes(NodeFilter.ALL.withLimit(0)).index();
            long seen = Math.max(0, newest - Math.max(0, last));
            do {
                EventBatch batch = client.events(seen, seen < newest || !follow ? Duration.ZERO : WAIT);
                if (batch.resync()) {
                    out.printf("(the coordinator no longer has the events before %d)%n", batch.index());
                }
                batch.events().stream().filter(this::isWanted).forEach(event -> print(out, event));
                out.flush();
                seen = batch.index();
            } while (follow || seen < newest);
            return 0;
        }
    }

    private boolean isWanted(Event event) {
        return (node == null || isOf(event.node(), node) || isOf(event.peer(), node))
                && (space == null || isOf(event.space(), space))
                && (kind == null || kind.equals(nameOf(event)));
    }

    private static boolean isOf(Optional<String> name, String wanted) {
        return name.filter(wanted::equals).isPresent();
    }

    private static String nameOf(Event event) {
        return Json.STRICT.valueToTree(event.kind()).asString();
    }

    private void print(PrintWriter out, Event event) {
        if (options.json()) {
            out.println(Json.STRICT.writeValueAsString(event));
            return;
        }
        out.println("%8d  %-20s%s%s%s"
                .formatted(
                        event.index(),
                        nameOf(event),
                        event.node().map(name -> "  node " + name).orElse(""),
                        event.peer().map(name -> "  peer " + name).orElse(""),
                        event.space().map(name -> "  space " + name).orElse("")));
    }
}
