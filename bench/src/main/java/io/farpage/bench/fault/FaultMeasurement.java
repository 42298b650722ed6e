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
    private final List<GuestStatus> rounds = new ArrayList<>();

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
        rounds.add(done.agent());
        return done.measured().round();
    }

    @Override
    public List<Long> processes() {
        return agents.processes();
    }

    @Override
    public Cost cost(List<Integer> kept) {
        List<GuestStatus> counted = kept.stream().map(rounds::get).toList();
        long prefetched = sum(counted, status -> status.faults().prefetchedPages());
        long hits = sum(counted, status -> status.where().prefetchHits());
        return new Cost.OfFaults(
                median(counted, status -> status.faults().fetchP50Ns()),
                median(counted, status -> status.faults().installP50Ns()),
                sum(counted, status -> status.faults().faults()),
                sum(counted, status -> status.where().evictions()),
                prefetched == 0 ? null : Math.round(10_000.0 * hits / prefetched) / 10_000.0);
    }

    private static long median(List<GuestStatus> counted, ToLongFunction<GuestStatus> figure) {
        return counted.stream()
                .mapToLong(figure)
                .sorted()
                .skip(counted.size() / 2)
                .findFirst()
                .orElse(0);
    }

    private static long sum(List<GuestStatus> counted, ToLongFunction<GuestStatus> figure) {
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
