package io.farpage.coordinator.command;

import io.farpage.certs.PrivateFiles;
import io.farpage.config.Config;
import io.farpage.coordinator.backup.BackupFile;
import io.farpage.coordinator.backup.Rows;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.config.ConfigOptions;
import io.farpage.coordinator.model.StoreCopy;
import io.farpage.coordinator.server.StoreAccess;
import io.farpage.coordinator.store.StoreException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
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

/** {@code coordinator backup FILE}: all rows of the store in one file. */
@Command(
        name = "backup",
        description = {
            "Writes all that the coordinator's store holds to a file of mode 0600: nodes, spaces, where their pages"
                    + " are, attachments and the cluster's identity. It has neither pages, tokens, certificates nor"
                    + " private keys.",
            "Asks the coordinator, which takes the role operator. With --offline it reads the store of a configuration"
                    + " on which no coordinator runs: a cluster is moved with such a backup, since agents refuse one"
                    + " that lacks changes that they have seen."
        },
        mixinStandardHelpOptions = true)
public final class BackupCommand implements Callable<Integer> {

    private static final String STANDARD_OUTPUT = "-";
    private static final Duration DEADLINE = Duration.ofSeconds(60);

    @Parameters(
            paramLabel = "FILE",
            description = "Where to write it; a file that exists is not overwritten. '-' is standard output.")
    private String file = "";

    @Option(names = "--offline", description = "Read the store itself; takes the coordinator's configuration.")
    private boolean offline;

    @Mixin
    private final CoordinatorTarget coordinator = new CoordinatorTarget();

    @Mixin
    private final ConfigOptions options = new ConfigOptions();

    @Spec
    private @Nullable CommandSpec spec;

    BackupCommand() {}

    @Override
    public Integer call() throws CoordinatorException {
        boolean prints = file.equals(STANDARD_OUTPUT);
        if (!prints) {
            PrivateFiles.requireAbsent(Path.of(file));
        }
        StoreCopy copy = offline ? read() : ask();
        String text = BackupFile.text(copy);
        PrintWriter out = Objects.requireNonNull(spec).commandLine().getOut();
        if (prints) {
            print(out, text);
        } else {
            PrivateFiles.replace(Path.of(file).toAbsolutePath(), text);
            out.printf("%d rows of revision %d are in %s%n", copy.rows(), copy.revision(), file);
        }
        out.flush();
        return 0;
    }

    private static void print(PrintWriter out, String text) {
        out.print(text);
        if (out.checkError()) {
            throw new StoreException(
                    "the backup could not be written to standard output; is its reader gone or the disk full?");
        }
    }

    private StoreCopy ask() throws CoordinatorException {
        try (CoordinatorClient client = coordinator.client(DEADLINE)) {
            return client.backup();
        }
    }

    private StoreCopy read() {
        Config config = options.load();
        return CommandAudit.of(config).of("store.backup", file, Map.of(), () -> {
            try (StoreAccess access = StoreAccess.open(config)) {
                StoreCopy copy = Rows.of(access.store());
                access.requireHeld();
                return copy;
            }
        });
    }
}
