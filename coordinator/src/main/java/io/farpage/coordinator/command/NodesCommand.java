package io.farpage.coordinator.command;

import io.farpage.config.Quantities;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Alert;
import io.farpage.coordinator.model.AlertKind;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.Overview;
import io.farpage.coordinator.model.Overview.NodeUse;
import io.farpage.coordinator.model.TransportKind;
import java.io.PrintWriter;
import java.util.List;
import java.util.Objects;
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
public final class NodesCommand implements Callable<Integer> {

    private static final int PERCENT = 100;

    @Mixin
    private final ViewOptions options = new ViewOptions();

    @Option(names = "--status", paramLabel = "STATUS", description = "Only nodes that are ${COMPLETION-CANDIDATES}.")
    private @Nullable NodeStatus status;

    @Option(
            names = "--attention",
            description =
                    "Only nodes that are not active or that an alert names, each with the reason; also nodes that the"
                            + " cluster was formed of and that have not registered.")
    private boolean attention;

    @Mixin
    private final PageOptions page = new PageOptions();

    @Spec
    private @Nullable CommandSpec spec;

    NodesCommand() {}

    @Override
    public Integer call() throws CoordinatorException {
        PrintWriter out = Objects.requireNonNull(spec).commandLine().getOut();
        try (CoordinatorClient client = options.client()) {
            Overview overview = client.overviewOfNodes(page.filter(status, attention));
            List<NodeUse> nodes = overview.nodes();
            if (options.json()) {
                ViewOptions.printJson(out, nodes);
            } else {
                if (attention) {
                    printReasons(out, overview);
                } else {
                    print(out, nodes);
                }
                page.printMore(out, nodes, use -> use.node().id());
            }
            return 0;
        }
    }

    private void printReasons(PrintWriter out, Overview overview) {
        TextTable table = new TextTable("NODE", "STATUS", "ADDRESS", "REASON");
        for (NodeUse use : overview.nodes()) {
            Node node = use.node();
            table.add(node.id(), node.status().toString(), node.address(), reasons(overview, node.id()));
        }
        if (status == null) {
            overview.alerts().stream()
                    .filter(alert -> alert.kind() == AlertKind.NODE_MISSING)
                    .map(alert -> alert.node().orElse(""))
                    .filter(page::isOnFirstPage)
                    .forEach(node -> table.add(node, "missing", "-", reasons(overview, node)));
        }
        table.print(out);
    }

    private static String reasons(Overview overview, String node) {
        String reasons = overview.alerts().stream()
                .filter(alert -> alert.node().filter(node::equals).isPresent())
                .map(Alert::message)
                .collect(Collectors.joining("; "));
        return reasons.isEmpty() ? "-" : reasons;
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
