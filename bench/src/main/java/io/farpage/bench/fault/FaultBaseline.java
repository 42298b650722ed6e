package io.farpage.bench.fault;

import io.farpage.bench.baseline.FaultHandler;
import io.farpage.bench.baseline.FaultToucher;
import io.farpage.bench.command.BaselineRunner;
import io.farpage.bench.report.Baseline;
import io.farpage.bench.report.FetchRound;
import io.farpage.bench.report.Turn;
import io.farpage.guest.command.CommandException;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** What resolves the same faults for comparison: the C program, or the agent with other settings. */
final class FaultBaseline implements BaselineRunner {
    private final FaultPlan plan;
    private final FaultScenario scenario;
    private final FaultAgents agents;
    private final Optional<FaultHandler> handler;

    private FaultBaseline(FaultPlan plan, FaultScenario scenario, FaultAgents agents, Optional<FaultHandler> handler) {
        this.plan = plan;
        this.scenario = scenario;
        this.agents = agents;
        this.handler = handler;
    }

    /** @param handler the C program, unless {@code --no-baseline} was given */
    static BaselineRunner of(
            FaultPlan plan, FaultScenario scenario, FaultAgents agents, Optional<FaultHandler> handler) {
        if (!scenario.kind().isAgainstC()) {
            return new FaultBaseline(plan, scenario, agents, Optional.empty());
        }
        return handler.isEmpty()
                ? BaselineRunner.absent("--no-baseline was given")
                : new FaultBaseline(plan, scenario, agents, handler);
    }

    @Override
    public FetchRound run(int round, long fetches) throws InterruptedException {
        FaultToucher.Walk walk = scenario.walk(plan, round);
        return handler.isPresent()
                ? touch(handler.get(), walk)
                : agents.run(
                                scenario.kind().reference(plan),
                                walk,
                                scenario.placement().toucherCpu())
                        .measured()
                        .round();
    }

    @Override
    public List<Long> processes() {
        return handler.map(FaultHandler::processes).orElseGet(agents::processes);
    }

    private FetchRound touch(FaultHandler c, FaultToucher.Walk walk) throws InterruptedException {
        try {
            return agents.touchPaused(c.socket(), walk, scenario.placement().toucherCpu())
                    .round();
        } catch (CommandException e) {
            throw c.lastWords().map(why -> new CommandException(why, e)).orElse(e);
        }
    }

    @Override
    public Baseline result(List<Turn> turns) {
        String name = handler.isPresent()
                ? "c-fault-" + scenario.idle().baseline().name().toLowerCase(Locale.ROOT)
                : scenario.kind().reference(plan).label();
        String backing = handler.map(FaultHandler::backing).orElseGet(agents::backing);
        return Baseline.of(name, scenario.placement().toString(), backing, turns);
    }
}
