package io.farpage.cli.local;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code farpage down}: ends what {@code farpage up} has started. */
@Command(
        name = "down",
        description = {
            "Ends the cluster that 'farpage up' has started, even if parts of it were killed: its processes, its files,"
                    + " and the hugepages that were reserved for it.",
            "The content of its spaces is lost. Ends with 0, too, if there is no cluster."
        },
        mixinStandardHelpOptions = true)
public final class DownCommand implements Callable<Integer> {

    @Mixin
    private final StateOption state = new StateOption();

    @Spec
    private @Nullable CommandSpec spec;

    DownCommand() {}

    @Override
    public Integer call() throws IOException, InterruptedException {
        PrintWriter out = Objects.requireNonNull(spec).commandLine().getOut();
        StateFolder folder = state.folder();
        LocalCluster cluster = new LocalCluster(folder, out);
        if (!Files.exists(folder.path()) && !cluster.isLeft()) {
            out.printf("no cluster in %s%n", folder.path());
            out.flush();
            return 0;
        }
        try (FileChannel _ = folder.lock()) {
            cluster.end();
        }
        out.println("nothing of the cluster is left");
        out.flush();
        return 0;
    }
}
