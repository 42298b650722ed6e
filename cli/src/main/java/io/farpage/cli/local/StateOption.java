package io.farpage.cli.local;

import io.farpage.agent.rest.SocketDirectory;
import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Where the local cluster is. */
final class StateOption {

    @Option(
            names = "--state",
            paramLabel = "DIR",
            description = "Folder of the cluster's files: empty or new, or that of a cluster before"
                    + " (default: 'local' in the directory of agents' sockets, /run/farpage for root).")
    private @Nullable Path folder;

    StateOption() {}

    boolean isDefault() {
        return folder == null;
    }

    /** The folder, which need not exist. */
    StateFolder folder() {
        return new StateFolder(Optional.ofNullable(folder)
                .orElseGet(() -> SocketDirectory.own().resolve("local"))
                .toAbsolutePath()
                .normalize());
    }
}
