package io.farpage.bench.fault;

import io.farpage.agent.control.guest.GuestStatus;
import io.farpage.bench.baseline.FaultHandler;
import io.farpage.bench.baseline.FaultToucher;
import io.farpage.bench.report.Baseline;
import io.farpage.bench.report.Cost;
import io.farpage.bench.report.FetchRound;
import io.farpage.bench.report.FetchRun;
import io.farpage.bench.report.RunSettings;
import io.farpage.guest.command.CommandException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * Measures one scenario: rounds of the agent and of what it is compared with alternate, over the same pages in the same order. Which comes first changes
 * with every round, so that a drift of the machine favours neither.
 */
final class FaultRounds {
    private final FaultPlan plan;
    private final FaultScenario scenario;
    private final FaultAgents agents;
    private final FaultToucher toucher;
    private final Consumer<String> progress;

    private final List<FetchRound> ours = new ArrayList<>();
    private final List<GuestStatus> counted = new ArrayList<>();
    private final List<FetchRound> theirs = new ArrayList<>();

    FaultRounds(
            FaultPlan plan,
            FaultScenario scenario,
            FaultAgents agents,
            FaultToucher toucher,
            Consumer<String> progress) {
        this.plan = plan;
        this.scenario = scenario;
        this.agents = agents;
        this.toucher = toucher;
        this.progress = progress;
    }

    /** @param handler the C program, if the scenario is to be compared with it */
    FetchRun measure(Optional<FaultHandler> handler) throws InterruptedException {
        FaultCase kind = scenario.kind();
        boolean alone = kind.isAgainstC() && handler.isEmpty();
        for (int round = 0; round < plan.rounds(); round++) {
            progress.accept("%s: round %d of %d".formatted(scenario.name(), round + 1, plan.rounds()));
            FaultToucher.Walk walk = walk(round);
            if (round % 2 == 1 && !alone) {
                measureBaseline(handler, walk);
            }
            measureOurs(walk);
            if (round % 2 == 0 && !alone) {
                measureBaseline(handler, walk);
            }
        }
        return new FetchRun(settings(), ours, alone ? absent() : baseline(handler), cost());
    }

    /** As a round does it, unrecorded. */
    void warmUp() throws InterruptedException {
        agents.run(scenario.kind().measured(plan), walk(plan.rounds()));
    }

    private FaultToucher.Walk walk(int round) {
        return new FaultToucher.Walk(
                plan.pages(),
                scenario.kind().pattern(),
                scenario.kind().threads(plan),
                plan.settle(),
                plan.seed() * 1_000_003 + round,
                scenario.kind().evicts());
    }

    private void measureOurs(FaultToucher.Walk walk) throws InterruptedException {
        FaultAgents.Round round = agents.run(scenario.kind().measured(plan), walk);
        ours.add(round.measured().round());
        counted.add(round.agent());
    }

    private void measureBaseline(Optional<FaultHandler> handler, FaultToucher.Walk walk) throws InterruptedException {
        if (!scenario.kind().isAgainstC()) {
            theirs.add(agents.run(scenario.kind().reference(), walk).measured().round());
            return;
        }
        FaultHandler c = handler.orElseThrow();
        agents.pause();
        try {
            theirs.add(toucher.touch(
                            new FaultToucher.Setting(
                                    c.socket(),
                                    plan.backing(),
                                    plan.seed(),
                                    scenario.placement().toucherCpu(),
                                    plan.roundPatience()),
                            walk)
                    .round());
        } catch (CommandException e) {
            throw c.lastWords().map(why -> new CommandException(why, e)).orElse(e);
        } finally {
            agents.resume();
        }
    }

    private static Baseline absent() {
        return new Baseline.Absent("--no-baseline was given");
    }

    private Baseline baseline(Optional<FaultHandler> handler) {
        String placement = scenario.placement().toString();
        return scenario.kind().isAgainstC()
                ? new Baseline.Measured(
                        "c-fault-" + scenario.idle().baseline().name().toLowerCase(java.util.Locale.ROOT),
                        placement,
                        handler.orElseThrow().backing(),
                        theirs)
                : new Baseline.Measured(scenario.kind().reference().label(), placement, agents.backing(), theirs);
    }

    private Cost cost() {
        return new Cost.OfFaults(
                median(status -> status.faults().fetchP50Ns()),
                median(status -> status.faults().installP50Ns()),
                sum(status -> status.faults().faults()),
                sum(status -> status.where().evictions()),
                hitRate());
    }

    private @Nullable Double hitRate() {
        long prefetched = sum(status -> status.faults().prefetchedPages());
        long hits = sum(status -> status.where().prefetchHits());
        return prefetched == 0 ? null : Math.round(10_000.0 * hits / prefetched) / 10_000.0;
    }

    private long median(ToLongFunction<GuestStatus> figure) {
        return counted.stream()
                .mapToLong(figure)
                .sorted()
                .skip(counted.size() / 2)
                .findFirst()
                .orElse(0);
    }

    private long sum(ToLongFunction<GuestStatus> figure) {
        return counted.stream().mapToLong(figure).sum();
    }

    private RunSettings settings() throws InterruptedException {
        return new RunSettings(
                scenario.name(),
                "fault",
                agents.transport(),
                FaultPlan.PAGE_BYTES,
                scenario.kind().threads(plan),
                scenario.kind().pattern().label(),
                scenario.placement().toString(),
                scenario.idle().label(),
                agents.backing(),
                plan.settle());
    }
}
