package io.farpage.coordinator.command;

import io.farpage.config.Quantities;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Cluster;
import io.farpage.coordinator.model.ClusterRequest;
import io.farpage.coordinator.model.ExpectedNode;
import io.farpage.coordinator.model.Node;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code coordinator up inventory.yaml}: forms a cluster. */
@Command(
        name = "up",
        description = "Forms a cluster from an inventory, at a coordinator that is running.",
        mixinStandardHelpOptions = true)
public final class UpCommand implements Callable<Integer> {

    private static final int STILL_MISSING = 1;
    private static final Duration LONGEST_POLL = Duration.ofSeconds(30);

    @Parameters(paramLabel = "INVENTORY", description = "YAML file: cluster, and nodes with id, hostname, address.")
    private @Nullable Path inventory;

    @Mixin
    private final CoordinatorTarget coordinator = new CoordinatorTarget();

    @Option(
            names = "--timeout",
            paramLabel = "DURATION",
            defaultValue = "10s",
            description = "Deadline of each call (default: ${DEFAULT-VALUE}).")
    private String timeout = "10s";

    @Option(
            names = "--wait",
            paramLabel = "DURATION",
            defaultValue = "0s",
            description = "How long to wait for all nodes to register (default: ${DEFAULT-VALUE}).")
    private String wait = "0s";

    @Spec
    private @Nullable CommandSpec spec;

    UpCommand() {}

    @Override
    public Integer call() throws CoordinatorException {
        if (spec == null || inventory == null) {
            throw new IllegalStateException("picocli sets both");
        }
        PrintWriter out = spec.commandLine().getOut();
        Duration deadline = duration("--timeout", timeout);
        Duration patience = duration("--wait", wait);
        ClusterRequest request = Inventory.read(inventory);
        try (CoordinatorClient client = coordinator.client(deadline)) {
            Cluster cluster = awaitNodes(client, client.formCluster(request), patience);
            print(out, client, cluster);
            return cluster.missing().isEmpty() || patience.isZero() ? 0 : STILL_MISSING;
        }
    }

    private static Cluster awaitNodes(CoordinatorClient client, Cluster formed, Duration patience)
            throws CoordinatorException {
        Cluster cluster = formed;
        long end = System.nanoTime() + patience.toNanos();
        long index = 0;
        while (!cluster.missing().isEmpty() && end - System.nanoTime() > 0) {
            Duration left = Duration.ofNanos(end - System.nanoTime());
            Duration poll = left.compareTo(LONGEST_POLL) > 0 ? LONGEST_POLL : left;
            index = client.events(index, poll.isNegative() ? Duration.ZERO : poll)
                    .index();
            cluster = client.cluster().orElse(cluster);
        }
        return cluster;
    }

    private static void print(PrintWriter out, CoordinatorClient client, Cluster cluster) throws CoordinatorException {
        int present = cluster.nodes().size() - cluster.missing().size();
        out.printf(
                "cluster %s formed: %d of %d nodes registered%n",
                cluster.name(), present, cluster.nodes().size());
        for (ExpectedNode expected : cluster.nodes()) {
            Optional<Node> node = client.node(expected.id());
            out.printf(
                    "  %-20s %-8s %s%n",
                    expected.id(),
                    node.map(known -> known.status().toString()).orElse("expected"),
                    node.map(Node::address).or(expected::address).orElse(""));
        }
        out.flush();
    }

    private Duration duration(String option, String text) {
        try {
            return Quantities.duration(text);
        } catch (IllegalArgumentException e) {
            throw new ParameterException(
                    Objects.requireNonNull(spec).commandLine(),
                    "Invalid value '%s' for option '%s': %s".formatted(text, option, e.getMessage()),
                    e);
        }
    }
}
