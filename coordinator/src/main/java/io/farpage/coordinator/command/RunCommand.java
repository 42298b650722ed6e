package io.farpage.coordinator.command;

import io.farpage.coordinator.server.RunOptions;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code coordinator run}: the same as no subcommand. */
@Command(name = "run", description = "Runs the coordinator (the default).", mixinStandardHelpOptions = true)
public final class RunCommand implements Callable<Integer> {

    @Mixin
    private final RunOptions options = new RunOptions();

    @Spec
    private @Nullable CommandSpec spec;

    RunCommand() {}

    @Override
    public Integer call() throws Exception {
        return options.run(Objects.requireNonNull(spec).commandLine().getOut());
    }
}
