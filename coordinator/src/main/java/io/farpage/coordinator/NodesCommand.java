package io.farpage.coordinator;

import io.farpage.config.Quantities;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeStatus;
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
final class NodesCommand implements Callable<Integer> {

    private static final int PERCENT = 100;

    @Mixin
    private final ViewOptions options = new ViewOptions();

    @Option(names = "--status", paramLabel = "STATUS", description = "Only nodes that are ${COMPLETION-CANDIDATES}.")
    private @Nullable NodeStatus status;

    @Mixin
    private final PageOptions page = new PageOptions();

    @Spec
    private @Nullable CommandSpec spec;

    NodesCommand() {}

    @Override
    public Integer call() throws CoordinatorException {
        PrintWriter out = Objects.requireNonNull(spec).commandLine().getOut();
        try (CoordinatorClient client = options.client()) {
            List<NodeUse> nodes = client.overview(page.filter(status)).nodes();
            if (options.json()) {
                ViewOptions.printJson(out, nodes);
            } else {
                print(out, nodes);
                page.printMore(out, nodes, use -> use.node().id());
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
