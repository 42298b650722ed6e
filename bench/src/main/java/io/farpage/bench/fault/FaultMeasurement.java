package io.farpage.bench.fault;

import io.farpage.agent.control.guest.GuestStatus;
import io.farpage.bench.command.MeasuredWorkload;
import io.farpage.bench.report.Cost;
import io.farpage.bench.report.FetchRound;
import io.farpage.bench.report.RunSettings;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToLongFunction;

/** The agent that resolves faults, in one scenario: the same pages in the same order as its baseline. */
final class FaultMeasurement implements MeasuredWorkload {
    private final FaultPlan plan;
    private final FaultScenario scenario;
    private final FaultAgents agents;
    private final List<GuestStatus> counted = new ArrayList<>();

    FaultMeasurement(FaultPlan plan, FaultScenario scenario, FaultAgents agents) {
        this.plan = plan;
        this.scenario = scenario;
        this.agents = agents;
    }

    @Override
    public String name() {
        return scenario.name();
    }

    /** As a round does it, unrecorded. */
    void warmUp() throws InterruptedException {
        agents.run(
                scenario.kind().measured(plan),
                scenario.walk(plan, plan.rounds()),
                scenario.placement().toucherCpu());
    }

    @Override
    public FetchRound run(int round) throws InterruptedException {
        FaultAgents.Round done = agents.run(
                scenario.kind().measured(plan),
                scenario.walk(plan, round),
                scenario.placement().toucherCpu());
        counted.add(done.agent());
        return done.measured().round();
    }

    @Override
    public Cost cost() {
        long prefetched = sum(status -> status.faults().prefetchedPages());
        long hits = sum(status -> status.where().prefetchHits());
        return new Cost.OfFaults(
                median(status -> status.faults().fetchP50Ns()),
                median(status -> status.faults().installP50Ns()),
                sum(status -> status.faults().faults()),
                sum(status -> status.where().evictions()),
                prefetched == 0 ? null : Math.round(10_000.0 * hits / prefetched) / 10_000.0);
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

    @Override
    public RunSettings settings() throws InterruptedException {
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
