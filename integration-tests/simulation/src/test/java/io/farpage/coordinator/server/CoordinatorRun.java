package io.farpage.coordinator.server;

import io.farpage.config.Config;
import io.farpage.coordinator.config.Settings;
import io.farpage.coordinator.rebuild.RebuildServer;
import io.farpage.coordinator.store.MvStore;
import io.farpage.coordinator.store.Store;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.util.Optional;
import java.util.Set;

/** What {@code coordinator run} does, whose own class takes the signals of a process. */
public final class CoordinatorRun {
    private CoordinatorRun() {}

    /**
     * Takes the reports of agents until the store is rebuilt.
     *
     * @param expected nodes that report
     */
    public static void rebuild(Config config, Set<String> expected) throws InterruptedException {
        Doors doors = Doors.open(config);
        try (Store store = MvStore.open(config.get(Settings.DIRECTORY));
                RebuildServer server = new RebuildServer(doors.options(config), store, expected)) {
            server.awaitFinished();
        } finally {
            doors.close();
        }
    }

    /** Follows and leads, as one of several coordinators, until its process ends. */
    public static void share(Config config) throws IOException, InterruptedException {
        var _ = new SharedRun(config, null, Optional.empty()).run(new PrintWriter(Writer.nullWriter()));
    }
}
