package io.farpage.bench.fault;

import io.farpage.bench.baseline.BaselineProcess;
import io.farpage.bench.baseline.BaselineProgram;
import io.farpage.bench.baseline.BaselineSettings;
import io.farpage.bench.baseline.BaselineSettings.Verification;
import io.farpage.bench.baseline.FaultHandler;
import io.farpage.bench.cluster.Idle;
import io.farpage.bench.pattern.PagePattern;
import io.farpage.bench.process.Children;
import io.farpage.guest.command.CommandException;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalInt;

/** Builds the programs in C and starts those that resolve faults. */
record Handlers(FaultPlan plan, Children children) {
    /** As an agent takes it by itself for threads that sleep. */
    static int priority(FaultScenario scenario) {
        return scenario.idle() == Idle.BLOCK ? 1 : 0;
    }

    /** Builds one of the programs. */
    Path build(String program) throws InterruptedException {
        return switch (BaselineProgram.build(program, plan.run().report().resolve("baseline"))) {
            case BaselineProgram.Built(Path built, Path _) -> built;
            case BaselineProgram.Unavailable(String reason) ->
                throw new CommandException("what touches the memory is a C program: " + reason);
        };
    }

    /**
     * Starts a handler.
     *
     * @param label unique among the handlers of a scenario
     * @param source protocol and port of the server that has the pages; none: the handler starts one of its own
     */
    FaultHandler start(FaultScenario scenario, String label, List<String> source) throws InterruptedException {
        return FaultHandler.start(
                children,
                build(BaselineProgram.FAULT),
                new FaultHandler.Doors(
                        children.scratch().resolve(label + "-" + scenario.idle().label() + ".sock"), source),
                new BaselineSettings(
                        scenario.idle().baseline(),
                        1,
                        FaultPlan.PAGE_BYTES,
                        plan.given().pages,
                        PagePattern.RANDOM,
                        1,
                        Verification.NONE,
                        OptionalInt.of(scenario.placement().handlerCpu()),
                        OptionalInt.of(scenario.placement().homeCpu()),
                        true,
                        plan.run().seed(),
                        0),
                BaselineProcess.START_TIMEOUT);
    }
}
