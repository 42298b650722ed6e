package io.farpage.bench.agents;

import io.farpage.bench.process.Children;
import io.farpage.bench.process.Installation;
import io.farpage.bench.process.Programs;
import io.farpage.guest.command.TimeSpan;
import io.farpage.guest.command.UsageException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code page-bench cluster}. */
@Command(
        name = "cluster",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description =
                "Starts a coordinator and has many pretended agents join it, keep their leases, follow its events,"
                        + " change and fail. Prints how long that took and what it cost the coordinator.")
public final class ClusterCommand implements Callable<Integer> {
    private static final int MOST_AGENTS = 10_000;
    private static final int COULD_NOT = 1;

    @Option(
            names = "--agents",
            defaultValue = "100",
            description = "Pretended agents, or several numbers of them to simulate, separated by commas"
                    + " (default: ${DEFAULT-VALUE})")
    private String agentsText = "";

    @Option(
            names = "--simulate",
            description =
                    "Simulate the coordinator's classes under virtual time, for each of the numbers of agents that"
                            + " --agents lists, and print what an event costs as CSV")
    private boolean simulate;

    @Option(
            names = "--events",
            defaultValue = "20",
            description = "Simulated events of each kind (default: ${DEFAULT-VALUE})")
    private int events;

    @Option(names = "--seed", defaultValue = "1", description = "Of a simulation (default: ${DEFAULT-VALUE})")
    private long seed;

    @Option(names = "--chart", description = "SVG file to draw the simulations' costs to")
    private Optional<Path> chart = Optional.empty();

    @Option(
            names = "--links",
            defaultValue = "DEMAND",
            description = "Which links the agents make: ${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE})")
    private Links links = Links.DEMAND;

    @Option(
            names = "--steady",
            defaultValue = "20s",
            converter = TimeSpan.class,
            description = "How long the agents only keep their leases (default: ${DEFAULT-VALUE})")
    private Duration steady = Duration.ZERO;

    @Option(
            names = "--attachments",
            defaultValue = "20",
            description = "Spaces that are made and attached, one after another (default: ${DEFAULT-VALUE})")
    private int attachments;

    @Option(
            names = "--changes",
            defaultValue = "20",
            description = "Nodes that change, one after another (default: ${DEFAULT-VALUE})")
    private int changes;

    @Option(
            names = "--failures",
            defaultValue = "5",
            description = "Agents that fall silent at once (default: ${DEFAULT-VALUE})")
    private int failures;

    @Option(
            names = "--lease",
            defaultValue = "15s",
            converter = TimeSpan.class,
            description = "lease.duration of the coordinator; heartbeats come three times as often"
                    + " (default: ${DEFAULT-VALUE})")
    private Duration lease = Duration.ZERO;

    @Option(
            names = "--join-timeout",
            defaultValue = "120s",
            converter = TimeSpan.class,
            description = "How long all agents may take to join (default: ${DEFAULT-VALUE})")
    private Duration joinTimeout = Duration.ZERO;

    @Option(
            names = "--report",
            description = "Directory for the coordinator's log (default: where the build puts reports)")
    private Path report = Installation.defaultReport();

    @Override
    public Integer call() throws InterruptedException {
        List<Integer> sizes = sizes();
        if (simulate) {
            SimulationSeries series = SimulationSeries.run(sizes, events, seed);
            series.print(System.out);
            int largest = Collections.max(sizes);
            System.out.printf(
                    "# heap with %d nodes and %d spaces, links on demand: %d MiB%n",
                    largest, largest / 10, Simulation.heapBytes(largest, seed) >> 20);
            chart.ifPresent(series::draw);
            return 0;
        }
        if (sizes.size() != 1) {
            throw new UsageException("--agents " + agentsText + ": one number, or --simulate");
        }
        return measure(sizes.getFirst());
    }

    private List<Integer> sizes() {
        try {
            List<Integer> sizes =
                    Arrays.stream(agentsText.split(",")).map(Integer::valueOf).toList();
            if (sizes.stream().allMatch(size -> size >= 2 && size <= MOST_AGENTS)) {
                return sizes;
            }
        } catch (NumberFormatException e) {
            // Refused below.
        }
        throw new UsageException("--agents " + agentsText + ": must be from 2 to " + MOST_AGENTS);
    }

    private int measure(int agents) throws InterruptedException {
        if (failures < 0 || failures >= agents) {
            throw new UsageException("--failures " + failures + ": must be from 0 to " + (agents - 1));
        }
        if (changes < 0 || attachments < 0) {
            throw new UsageException(
                    "--changes " + changes + " and --attachments " + attachments + ": must not be negative");
        }
        try (Children children = Children.open(Programs.ofThisJvm(), report.resolve("logs"), Duration.ofSeconds(60))) {
            ClusterRun.Plan plan =
                    new ClusterRun.Plan(agents, links, steady, attachments, changes, failures, lease, joinTimeout);
            return ClusterRun.measure(plan, children) ? 0 : COULD_NOT;
        }
    }
}
