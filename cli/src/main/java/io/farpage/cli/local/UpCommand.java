package io.farpage.cli.local;

import io.farpage.bench.process.Programs;
import io.farpage.cli.local.HostFacts.Obstacle;
import io.farpage.config.BytesOption;
import io.farpage.log.Printable;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.channels.FileChannel;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code farpage up --local 3}: a cluster on this host. */
@Command(
        name = "up",
        description = {
            "Starts a coordinator and agents on this host, and a guest if wanted; they run until 'farpage down'.",
            "Looks first whether this host has what the cluster needs, and if not names everything that is missing,"
                    + " with the fix, and starts nothing. If the cluster runs already it says so; what a crash has left"
                    + " is ended first. Across hosts, 'coordinator up INVENTORY' forms a cluster."
        },
        mixinStandardHelpOptions = true)
public final class UpCommand implements Callable<Integer> {

    @Mixin
    private final StateOption state = new StateOption();

    @Option(names = "--local", required = true, paramLabel = "COUNT", description = "Agents on this host, 1 to 16.")
    private int agents;

    @Option(
            names = "--pool",
            paramLabel = "BYTES",
            converter = BytesOption.class,
            defaultValue = "128MiB",
            description = "Memory that each agent exports, a multiple of 2MiB (default: ${DEFAULT-VALUE}).")
    private long pool = 128L << 20;

    @Option(
            names = "--guest",
            paramLabel = "BYTES",
            arity = "0..1",
            fallbackValue = "64MiB",
            converter = BytesOption.class,
            description =
                    "Also run a guest of this size on local-1, a quarter of it resident and all of it on the other"
                            + " nodes (${FALLBACK-VALUE} if no size is given). It is a process that checks its pages in"
                            + " random order.")
    private @Nullable Long guest;

    @Option(names = "--dry-run", description = "Print what would be done, and do nothing.")
    private boolean dryRun;

    @Spec
    private @Nullable CommandSpec spec;

    UpCommand() {}

    @Override
    public Integer call() throws IOException, InterruptedException {
        PrintWriter out = Objects.requireNonNull(spec).commandLine().getOut();
        StateFolder folder = state.folder();
        Plan plan =
                new Plan(folder.path(), agents, pool, guest == null ? OptionalLong.empty() : OptionalLong.of(guest));
        if (dryRun) {
            plan.describe().forEach(out::println);
            out.flush();
            return 0;
        }
        LocalCluster cluster = new LocalCluster(folder, out);
        // Without the lock, so that a refusal leaves no lock file. What is left of a cluster may be what an obstacle is
        // made of: it is ended first.
        if (!cluster.isLeft() && isRefused(plan, HostFacts.read(plan, folder))) {
            return 1;
        }
        try (FileChannel _ = folder.lock()) {
            Optional<String> running = cluster.running();
            if (running.isPresent()) {
                out.printf("the cluster runs already; 'farpage down' ends it%n");
                printNext(out, plan, running.get());
                return 0;
            }
            if (cluster.isLeft()) {
                out.println("a cluster was not ended whole; ending it first");
                cluster.end();
                folder.make();
            }
            HostFacts facts = HostFacts.read(plan, folder);
            if (isRefused(plan, facts)) {
                folder.delete();
                return 1;
            }
            printNext(out, plan, cluster.start(plan, facts));
        }
        return 0;
    }

    /** Whether the host lacks something; says all that it lacks. */
    private boolean isRefused(Plan plan, HostFacts facts) {
        PrintWriter err = Objects.requireNonNull(spec).commandLine().getErr();
        List<Obstacle> obstacles = facts.obstacles(plan);
        obstacles.forEach(obstacle -> err.println("farpage: " + Printable.of(obstacle.toString())));
        err.flush();
        return !obstacles.isEmpty();
    }

    private void printNext(PrintWriter out, Plan plan, String url) {
        String farpage = Optional.ofNullable(System.getProperty(Programs.LAUNCHERS))
                .map(launchers -> launchers + "/farpage")
                .orElse("farpage");
        String target = url.equals(LocalCluster.USUAL_URL) ? "" : " --coordinator " + url;
        out.printf("dashboard  %s/%n", url);
        out.printf("next       %s %s%s%n", farpage, plan.guestBytes().isPresent() ? "guests" : "status", target);
        out.printf("end it     %s down%s%n", farpage, state.isDefault() ? "" : " --state " + plan.folder());
        out.flush();
    }
}
