package io.farpage.coordinator.command;

import io.farpage.config.Config;
import io.farpage.coordinator.backup.BackupFile;
import io.farpage.coordinator.backup.Rows;
import io.farpage.coordinator.config.ConfigOptions;
import io.farpage.coordinator.model.StoreCopy;
import io.farpage.coordinator.server.StoreAccess;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code coordinator restore FILE}: puts a backup into an empty store. */
@Command(
        name = "restore",
        description = {
            "Puts a backup into the empty store of a configuration, of either kind, on which no coordinator runs.",
            "The whole file is checked first, and one commit restores all of it or nothing. Agents obey the coordinator"
                    + " that is started afterwards if the backup has all that they have seen."
        },
        mixinStandardHelpOptions = true)
public final class RestoreCommand implements Callable<Integer> {

    @Parameters(paramLabel = "FILE", description = "What 'coordinator backup' has written.")
    private @Nullable Path file;

    @Option(names = "--force", description = "Replace what the store holds.")
    private boolean force;

    @Mixin
    private final ConfigOptions options = new ConfigOptions();

    @Spec
    private @Nullable CommandSpec spec;

    RestoreCommand() {}

    @Override
    public Integer call() {
        Path from = Objects.requireNonNull(file);
        StoreCopy copy = BackupFile.read(from);
        Config config = options.load();
        CommandAudit.of(config).of("store.restore", from.toString(), Map.of("force", force), () -> {
            try (StoreAccess access = StoreAccess.open(config)) {
                Rows.restore(copy, access.name(), access.store(), force);
            }
            return copy;
        });
        PrintWriter out = Objects.requireNonNull(spec).commandLine().getOut();
        out.printf("%d rows of revision %d are restored; start the coordinator%n", copy.rows(), copy.revision());
        out.flush();
        return 0;
    }
}
