package io.farpage.coordinator.server;

import io.farpage.config.Config;
import io.farpage.config.HostPort;
import io.farpage.coordinator.cluster.Time;
import io.farpage.coordinator.config.ConfigOptions;
import io.farpage.coordinator.config.Settings;
import io.farpage.coordinator.rebuild.RebuildServer;
import io.farpage.coordinator.store.MvStore;
import io.farpage.coordinator.store.Store;
import io.farpage.log.LogKeys;
import io.farpage.supervise.Supervision;
import io.farpage.trace.TraceKeys;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The options of {@code run}, and running until a signal ends it. */
public final class RunOptions {

    @Mixin
    private final ConfigOptions options = new ConfigOptions();

    @Option(
            names = "--port-file",
            paramLabel = "FILE",
            description = "Where to write the port, in one step, once it listens.")
    private @Nullable Path portFile;

    @Option(
            names = "--rebuild",
            description = "Begin with an empty or older store and make it whole from what the agents know.")
    private boolean rebuild;

    @Option(
            names = "--expect",
            paramLabel = "NODE",
            split = ",",
            description =
                    "With --rebuild: finish by itself once these nodes have reported; without, run 'coordinator rebuild"
                            + " finish'.")
    private List<String> expected = new ArrayList<>();

    public RunOptions() {}

    public int run(PrintWriter out) throws IOException, InterruptedException {
        Config config = options.load();
        LogKeys.apply(config);
        // Not a constant: every command of the program has these options, and few log.
        Logger log = LoggerFactory.getLogger(RunOptions.class);
        config.warnings().forEach(log::warn);
        var _ = TraceKeys.begin(
                config, "coordinator", config.get(Settings.LISTEN).toString());
        if (config.get(Settings.STORE_KIND) == Settings.StoreKind.ETCD) {
            Optional<Set<String>> rebuilt = rebuild ? Optional.of(Set.copyOf(expected)) : Optional.empty();
            return new SharedRun(config, portFile, rebuilt).run(out);
        }
        AtomicReference<Optional<Coordinator>> running = new AtomicReference<>(Optional.empty());
        Supervision supervision =
                Supervision.begin(System.getenv(), () -> running.get().flatMap(Coordinator::stalled));
        Doors doors = Doors.open(config);
        if (rebuild) {
            rebuild(config, doors, out, supervision);
            config = options.load();
        }
        Coordinator coordinator = Coordinator.start(config, Time.system(), doors);
        running.set(Optional.of(coordinator));
        CountDownLatch ended = new CountDownLatch(1);
        Runtime.getRuntime()
                .addShutdownHook(Thread.ofPlatform().name("shutdown").unstarted(() -> {
                    supervision.stopping();
                    coordinator.close();
                    ended.countDown();
                    // A signal is the customary way to end a service, so it is a success; the JVM would say 143.
                    Runtime.getRuntime().halt(0);
                }));
        HostPort listening = coordinator.listening();
        if (portFile != null) {
            writePort(portFile, listening.port());
        }
        out.println("coordinator listening on " + coordinator.url());
        out.flush();
        supervision.ready("listening on " + coordinator.url());
        log.debug("{}", coordinator.standing());
        ended.await();
        return 0;
    }

    /** Takes reports until the rebuild is finished. The coordinator then listens where the reports were taken. */
    private void rebuild(Config config, Doors doors, PrintWriter out, Supervision supervision)
            throws IOException, InterruptedException {
        try (Store store = MvStore.open(config.get(Settings.DIRECTORY));
                RebuildServer server = new RebuildServer(doors.options(config), store, Set.copyOf(expected))) {
            HostPort listening = server.listening();
            options.set(Settings.LISTEN.name(), listening.toString());
            if (portFile != null) {
                writePort(portFile, listening.port());
            }
            out.println("coordinator takes reports for its rebuild on " + server.url());
            out.flush();
            supervision.ready("takes reports for its rebuild on " + server.url());
            server.awaitFinished();
        }
    }

    static void writePort(Path file, int port) throws IOException {
        Path absolute = file.toAbsolutePath();
        Path temporary = absolute.resolveSibling(absolute.getFileName() + ".tmp");
        Files.writeString(temporary, port + "\n");
        Files.move(temporary, absolute, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }
}
