package io.farpage.bench.fetch;

import io.farpage.bench.baseline.BaselineProgram;
import io.farpage.bench.baseline.Perftest;
import io.farpage.bench.command.BaselineRunner;
import io.farpage.bench.process.Children;
import java.nio.file.Path;

/** The program that farpage is compared with, made ready once for all scenarios. */
@FunctionalInterface
interface Baselines {
    /** Starts the baseline of a scenario, whose agents are {@code pair}. */
    BaselineRunner start(Scenario scenario, Pair pair) throws InterruptedException;

    /** The baseline that the plan asks for, or why it is absent. */
    static Baselines prepare(FetchPlan plan, Children children) throws InterruptedException {
        return switch (plan.baseline()) {
            case NONE -> absent("--no-baseline was given");
            case C ->
                switch (BaselineProgram.build(
                        BaselineProgram.FETCH, plan.run().report().resolve("baseline"))) {
                    case BaselineProgram.Built(Path program, Path _) ->
                        (scenario, pair) -> CBaselineRunner.start(program, plan, scenario, pair);
                    case BaselineProgram.Unavailable(String reason) -> absent(reason);
                };
            case PERFTEST ->
                Perftest.missing()
                        .map(Baselines::absent)
                        .orElse((scenario, pair) ->
                                new PerftestBaselineRunner(plan, scenario, pair, children.scratch()));
            case PLAIN -> (scenario, pair) -> PlainBaselineRunner.start(plan, scenario, pair, children);
        };
    }

    private static Baselines absent(String reason) {
        return (scenario, pair) -> BaselineRunner.absent(reason);
    }
}
