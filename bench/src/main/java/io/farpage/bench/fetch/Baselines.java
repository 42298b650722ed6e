package io.farpage.bench.fetch;

import io.farpage.bench.baseline.BaselineProgram;
import io.farpage.bench.baseline.Perftest;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/** The programs that farpage is compared with, made ready once for all scenarios. */
sealed interface Baselines {
    Duration COMPILER_TIMEOUT = Duration.ofSeconds(60);

    /** Built from its source. */
    record CProgram(BaselineProgram.Built program) implements Baselines {
        @Override
        public BaselineRunner start(FetchPlan plan, Scenario scenario) throws InterruptedException {
            return CBaselineRunner.start(program, plan, scenario);
        }
    }

    /** Installed; what it prints goes to a scratch directory. */
    record PerftestOn(RdmaPort port, Path scratch) implements Baselines {
        @Override
        public BaselineRunner start(FetchPlan plan, Scenario scenario) {
            return new PerftestBaselineRunner(plan, scenario, port, scratch);
        }
    }

    /** There is none, with the reason. */
    record Nothing(String reason) implements Baselines {
        @Override
        public Optional<String> absent() {
            return Optional.of(reason);
        }

        @Override
        public BaselineRunner start(FetchPlan plan, Scenario scenario) {
            throw new IllegalStateException(reason);
        }
    }

    /** Why there is none; empty if there is one. */
    default Optional<String> absent() {
        return Optional.empty();
    }

    /** Starts the baseline of a scenario. */
    BaselineRunner start(FetchPlan plan, Scenario scenario) throws InterruptedException;

    /** The baseline that the plan asks for, or why it is absent. */
    static Baselines prepare(FetchPlan plan, Path scratch) throws InterruptedException {
        return switch (plan.baseline()) {
            case NONE -> new Nothing("--no-baseline was given");
            case C ->
                switch (BaselineProgram.build(
                        BaselineProgram.FETCH, plan.report().resolve("baseline"), COMPILER_TIMEOUT)) {
                    case BaselineProgram.Built built -> new CProgram(built);
                    case BaselineProgram.Unavailable(String reason) -> new Nothing(reason);
                };
            case PERFTEST ->
                Perftest.missing()
                        .<Baselines>map(Nothing::new)
                        .orElseGet(() -> new PerftestOn(plan.rdma().orElseThrow(), scratch));
        };
    }
}
