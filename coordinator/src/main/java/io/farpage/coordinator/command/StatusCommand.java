package io.farpage.coordinator.command;

import io.farpage.config.Quantities;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Alert;
import io.farpage.coordinator.model.Cluster;
import io.farpage.coordinator.model.NodeFilter;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.Overview;
import io.farpage.coordinator.model.Overview.Totals;
import java.io.PrintWriter;
import java.util.Arrays;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code coordinator status}: what is wrong in the cluster. */
@Command(
        name = "status",
        description = {
            "Shows the cluster in a few lines, and what an operator has to see to, the most urgent first.",
            "Ends with 0 if nothing is critical, and with 1 if something is or the coordinator cannot be asked."
        },
        exitCodeListHeading = "Exit codes:%n",
        exitCodeList = {
            "0:Nothing is critical.",
            "1:Something is critical, or the coordinator cannot be asked; standard error says why.",
            "2:Wrong usage: an option or a value is not allowed."
        },
        mixinStandardHelpOptions = true)
public final class StatusCommand implements Callable<Integer> {

    private static final int CRITICAL = 1;

    @Mixin
    private final ViewOptions options = new ViewOptions();

    @Spec
    private @Nullable CommandSpec spec;

    StatusCommand() {}

    @Override
    public Integer call() throws CoordinatorException {
        PrintWriter out = Objects.requireNonNull(spec).commandLine().getOut();
        try (CoordinatorClient client = options.client()) {
            NodeFilter none = NodeFilter.ALL.withLimit(0);
            Overview now;
            if (options.json()) {
                now = client.overview(none);
                ViewOptions.printJson(out, now);
            } else {
                now = client.overviewOfNodes(none);
                print(out, client, now);
            }
            return now.totals().critical() == 0 ? 0 : CRITICAL;
        }
    }

    private static void print(PrintWriter out, CoordinatorClient client, Overview now) {
        Totals totals = now.totals();
        String epoch = client.allegiance()
                .status()
                .seen()
                .map(seen -> ", epoch " + seen.epoch().number())
                .orElse("");
        out.printf("leader   %s%s%n", client.base(), epoch);
        out.printf("cluster  %s%n", now.cluster().map(Cluster::name).orElse("none was formed"));
        out.printf("nodes    %s%n", nodes(totals));
        out.printf(
                "pools    %s of %s in use%s%n",
                Quantities.formatBytes(totals.usedBytes()),
                Quantities.formatBytes(totals.poolBytes()),
                totals.promisedBytes().orElse(0) > 0
                        ? ", %s more promised to thin spaces"
                                .formatted(Quantities.formatBytes(
                                        totals.promisedBytes().getAsLong()))
                        : "");
        out.printf("spaces   %d%n", totals.spaces());
        out.printf("alerts   %d critical, %d warnings%n", totals.critical(), totals.warnings());
        for (Alert alert : now.alerts()) {
            out.printf(
                    "  %-8s %s: %s%n",
                    alert.severity().name().toLowerCase(Locale.ROOT), alert.subject(), alert.message());
        }
        long more = totals.critical() + totals.warnings() - now.alerts().size();
        if (more > 0) {
            out.printf("  and %d more; 'nodes --attention' lists the nodes%n", more);
        }
        out.flush();
    }

    private static String nodes(Totals totals) {
        String counts = Arrays.stream(NodeStatus.values())
                .filter(totals.nodes()::containsKey)
                .map(status -> totals.nodes().get(status) + " " + status)
                .collect(Collectors.joining(", "));
        return counts.isEmpty() ? "none has registered" : counts;
    }
}
