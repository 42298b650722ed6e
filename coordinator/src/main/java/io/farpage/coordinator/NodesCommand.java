package io.farpage.coordinator;

import io.farpage.config.Quantities;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeFilter;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.Overview;
import io.farpage.coordinator.model.Overview.NodeUse;
import io.farpage.coordinator.model.TransportKind;
import java.io.PrintWriter;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code coordinator nodes}: the nodes, a line each. */
@Command(name = "nodes", description = "Lists nodes in the order of their ids.", mixinStandardHelpOptions = true)
final class NodesCommand implements Callable<Integer> {

    private static final int PERCENT = 100;

    @Mixin
    private final ViewOptions options = new ViewOptions();

    @Option(names = "--status", paramLabel = "STATUS", description = "Only nodes that are ${COMPLETION-CANDIDATES}.")
    private @Nullable NodeStatus status;

    @Option(names = "--prefix", paramLabel = "TEXT", description = "Only nodes whose id begins with it.")
    private String prefix = "";

    @Option(
            names = "--after",
            paramLabel = "NODE",
            description = "Only nodes after this one: the last one of the page before.")
    private String after = "";

    @Option(names = "--limit", paramLabel = "COUNT", description = "At most so many (default: ${DEFAULT-VALUE}).")
    private int limit = 1_000;

    @Spec
    private @Nullable CommandSpec spec;

    NodesCommand() {}

    @Override
    public Integer call() throws CoordinatorException {
        PrintWriter out = Objects.requireNonNull(spec).commandLine().getOut();
        try (CoordinatorClient client = options.client()) {
            Overview page = client.overview(new NodeFilter(Optional.ofNullable(status), prefix, after, limit));
            if (options.json()) {
                ViewOptions.printJson(out, page.nodes());
                return 0;
            }
            print(out, page.nodes());
            if (page.nodes().size() == limit && limit > 0) {
                out.printf(
                        "there may be more: --after %s%n",
                        page.nodes().getLast().node().id());
                out.flush();
            }
            return 0;
        }
    }

    private static void print(PrintWriter out, List<NodeUse> nodes) {
        TextTable table = new TextTable("NODE", "STATUS", "DOMAIN", "ADDRESS", "TRANSPORTS", "POOL", "USED");
        for (NodeUse use : nodes) {
            Node node = use.node();
            long pool = node.pool().exportedBytes();
            table.add(
                    node.id(),
                    node.status().toString(),
                    node.failureDomain(),
                    node.address(),
                    node.transports().stream().map(TransportKind::toString).collect(Collectors.joining(",")),
                    Quantities.formatBytes(pool),
                    pool == 0 ? "-" : (pool - use.freeBytes()) * PERCENT / pool + " %");
        }
        table.print(out);
    }
}
