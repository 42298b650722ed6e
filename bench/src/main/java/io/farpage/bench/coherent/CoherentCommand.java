package io.farpage.bench.coherent;

import io.farpage.bench.baseline.BaselineProgram;
import io.farpage.bench.baseline.MessageBaseline;
import io.farpage.bench.cluster.Idle;
import io.farpage.bench.command.ComparedSide;
import io.farpage.bench.command.MeasuringCommand;
import io.farpage.bench.command.Rounds;
import io.farpage.bench.report.Baseline;
import io.farpage.bench.report.Cost;
import io.farpage.bench.report.FetchRun;
import io.farpage.bench.report.RunSettings;
import io.farpage.bench.report.Turn;
import io.farpage.guest.command.CommandException;
import java.nio.file.Path;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code page-bench coherent}. */
@Command(
        name = "coherent",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = "Starts a coordinator, homes and five nodes on this machine, and measures faults of members of a"
                + " coherent space: loads and stores of pages that other members have read or written. Rounds"
                + " of all kinds alternate with a C program that exchanges messages of the same size, and with"
                + " an exclusive space.")
public final class CoherentCommand extends MeasuringCommand<CoherentPlan> {
    private static final String C = "c-messages";

    /** The number of the first round that does not count, larger than that of any which does. */
    private static final int WARMING = 1_000_000;

    @Mixin
    private final CoherentOptions options = new CoherentOptions();

    @Override
    protected CoherentPlan plan(List<Integer> allowedCpus) {
        return CoherentPlan.of(options, allowedCpus);
    }

    @Override
    protected List<FetchRun> measure(CoherentPlan plan, Running running) throws InterruptedException {
        running.progress().label("building the C program");
        MessageBaseline c = new MessageBaseline(
                build(plan),
                plan.idle().baseline(),
                plan.faultingCpu(),
                plan.answererCpu(),
                plan.idle() == Idle.BLOCK ? 1 : 0,
                plan.rdma());
        running.progress().label("starting agents");
        try (CoherentAgents agents = new CoherentAgents(plan, running)) {
            running.progress().label("filling pages");
            Faults faults = new Faults(plan, agents);
            List<Long> homes = agents.judged();
            CoherentSide messages = new CoherentSide(
                    C,
                    List.of(),
                    _ -> c.run(plan.given().count, plan.turnTimeout()).round());
            CoherentSide clean = new CoherentSide("clean-read", homes, faults::cleanRead);
            CoherentSide exclusive = new CoherentSide("exclusive-read", homes, faults::exclusiveRead);
            CoherentSide dirty = new CoherentSide("dirty-read", homes, faults::dirtyRead);
            CoherentSide one = new CoherentSide("write-1-sharer", homes, faults::writeWithOneSharer);
            CoherentSide three = new CoherentSide("write-3-sharers", homes, faults::writeWithThreeSharers);
            CoherentSide alone = new CoherentSide("private", homes, faults::privatePages);
            CoherentSide aloneExclusive = new CoherentSide("private-exclusive", homes, faults::exclusivePages);
            CoherentSide sum = new CoherentSide("sum-1-node", homes, faults::sum);
            CoherentSide sumOfTwo = new CoherentSide("sum-2-nodes", homes, faults::parallelSum);
            List<CoherentSide> sides =
                    List.of(messages, clean, exclusive, dirty, one, three, alone, aloneExclusive, sum, sumOfTwo);
            running.progress().label("warming up");
            warmUp(plan, sides);
            Rounds.Taken taken =
                    running.rounds().alternate(plan.idle().label(), List.<ComparedSide>copyOf(sides), plan.rounds());
            Comparison comparison = new Comparison(plan, agents.backing(), taken);
            return List.of(
                    comparison.of("clean-read", clean, messages, 1),
                    comparison.of("exclusive-read", exclusive, messages, 1),
                    comparison.of("clean-to-exclusive", clean, exclusive, 1),
                    comparison.of("dirty-read", dirty, messages, 1),
                    comparison.of("write-1-sharer", one, messages, 1),
                    comparison.of("write-3-sharers", three, messages, 1),
                    comparison.of("write-3-to-1", three, one, 1),
                    comparison.of("private", alone, aloneExclusive, Faults.THREADS),
                    comparison.of("sum-2-nodes", sumOfTwo, sum, 1));
        }
    }

    /** Rounds that do not count. */
    private static void warmUp(CoherentPlan plan, List<CoherentSide> sides) throws InterruptedException {
        long deadline = System.nanoTime() + plan.given().warmup.toNanos();
        int round = WARMING;
        do {
            for (CoherentSide side : sides) {
                var _ = side.round().run(round);
            }
            round++;
        } while (System.nanoTime() - deadline < 0);
    }

    /** What the rounds that count gave. */
    private record Comparison(CoherentPlan plan, String backing, Rounds.Taken taken) {
        FetchRun of(String name, CoherentSide side, CoherentSide baseline, int depth) {
            return new FetchRun(
                    new RunSettings(
                            name + "-" + plan.idle().label(),
                            "fault",
                            plan.rdma().isPresent() ? "verbs" : "soft",
                            CoherentPlan.PAGE_BYTES,
                            depth,
                            name.startsWith("sum") ? "sequential" : "random",
                            plan.placement(),
                            plan.idle().label(),
                            backing,
                            0),
                    taken.of(side.turns()),
                    Baseline.of(
                            baseline.label(), plan.placement(), backing, List.<Turn>copyOf(taken.of(baseline.turns()))),
                    new Cost.NotCounted(),
                    taken.screening());
        }
    }

    private static Path build(CoherentPlan plan) throws InterruptedException {
        return switch (MessageBaseline.build(plan.run().report().resolve("baseline"), plan.rdma())) {
            case BaselineProgram.Built(Path program, Path _) -> program;
            case BaselineProgram.Unavailable(String reason) ->
                throw new CommandException("what faults are compared with is a C program: " + reason);
        };
    }
}
