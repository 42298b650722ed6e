package io.farpage.coordinator.command;

import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.NodeFilter;
import io.farpage.coordinator.model.Overview;
import io.farpage.coordinator.model.Overview.Link;
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

/** {@code coordinator links}: pairs of nodes and what they have published toward each other. */
@Command(
        name = "links",
        description = {
            "Lists the links between nodes, with the transports that both sides offer.",
            "A link whose sides have both published their endpoints is up, or its agents bring it up."
        },
        mixinStandardHelpOptions = true)
public final class LinksCommand implements Callable<Integer> {

    @Mixin
    private final ViewOptions options = new ViewOptions();

    @Option(names = "--node", paramLabel = "NODE", description = "Only links of this node.")
    private String node = "";

    @Spec
    private @Nullable CommandSpec spec;

    LinksCommand() {}

    @Override
    public Integer call() throws CoordinatorException {
        PrintWriter out = Objects.requireNonNull(spec).commandLine().getOut();
        try (CoordinatorClient client = options.client()) {
            // Ids that begin alike follow the shortest, so the node itself is the first of the page.
            NodeFilter nodes =
                    node.isEmpty() ? NodeFilter.ALL : new NodeFilter(NodeFilter.ALL.status(), false, node, "", 1);
            Overview page = client.overview(nodes);
            List<Link> links = page.links().stream()
                    .filter(link ->
                            node.isEmpty() || link.a().equals(node) || link.b().equals(node))
                    .toList();
            if (options.json()) {
                ViewOptions.printJson(out, links);
            } else {
                print(out, links);
            }
            if (page.nodes().size() == NodeFilter.MAX_LIMIT && !options.json()) {
                out.printf("only links of the first %d nodes; use --node%n", NodeFilter.MAX_LIMIT);
                out.flush();
            }
            return 0;
        }
    }

    private static void print(PrintWriter out, List<Link> links) {
        TextTable table = new TextTable("NODE", "PEER", "TRANSPORTS", "STATE");
        for (Link link : links) {
            table.add(
                    link.a(),
                    link.b(),
                    link.transports().stream().map(TransportKind::toString).collect(Collectors.joining(",")),
                    state(link));
        }
        table.print(out);
    }

    private static String state(Link link) {
        if (link.aPublished() && link.bPublished()) {
            return "both published";
        }
        return (link.aPublished() ? link.b() : link.a()) + " has yet to answer";
    }
}
