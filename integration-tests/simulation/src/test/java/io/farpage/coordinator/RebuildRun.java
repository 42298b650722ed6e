package io.farpage.coordinator;

import io.farpage.config.Config;
import io.farpage.coordinator.rebuild.RebuildServer;
import io.farpage.coordinator.store.MvStore;
import io.farpage.coordinator.store.Store;
import java.util.Set;

/** What {@code coordinator run --rebuild} does before it serves; the command is a process, and takes its signals. */
public final class RebuildRun {
    private RebuildRun() {}

    /**
     * Takes the reports of agents until the store is rebuilt.
     *
     * @param expected nodes that report
     */
    public static void await(Config config, Set<String> expected) throws InterruptedException {
        Doors doors = Doors.open(config);
        try (Store store = MvStore.open(config.get(Settings.DIRECTORY));
                RebuildServer server =
                        new RebuildServer(doors.options(config, doors.rebuilding()), store, expected)) {
            server.awaitFinished();
        } finally {
            doors.close();
        }
    }
}
