package io.farpage.it.harness;

import io.farpage.coordinator.Main;
import io.farpage.tls.Credentials;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A coordinator that is a process. It can be killed and started again on the same port and store. */
public final class CoordinatorProcess implements Coordinator {
    private final Path directory;
    private final Path store;
    private Map<String, String> settings;
    private final List<ChildJvm> lives = new ArrayList<>();
    private int port;
    private Optional<Rest> rest = Optional.empty();

    private CoordinatorProcess(Path directory, Map<String, String> settings) {
        this.directory = directory;
        this.store = directory.resolve("store");
        this.settings = settings;
    }

    /** Starts one on a store in a directory. */
    static CoordinatorProcess start(Path directory, Map<String, String> settings) {
        CoordinatorProcess coordinator = new CoordinatorProcess(directory, settings);
        coordinator.launch();
        return coordinator;
    }

    /** The settings of a coordinator of a test: it repairs at once. */
    static Map<String, String> settings(Path store, int port) {
        return Map.of("store.directory", store.toString(), "server.listen", "127.0.0.1:" + port, "repair.grace", "0s");
    }

    private void launch() {
        launch(store, List.of());
    }

    private void launch(Path directoryOfStore, List<String> more) {
        Path portFile = directory.resolve("coordinator-" + lives.size() + ".port");
        List<String> arguments = new ArrayList<>(List.of("run", "--port-file", portFile.toString()));
        arguments.addAll(more);
        Map<String, String> all = new LinkedHashMap<>(settings(directoryOfStore, port));
        all.putAll(settings);
        all.forEach((key, value) -> arguments.addAll(List.of("-D", key + "=" + value)));
        ChildJvm life = ChildJvm.start("coordinator", Main.class, arguments);
        lives.add(life);
        port = Ports.of(life, portFile);
        // One client for all requests of the test: over TLS, another one would begin with a handshake.
        rest = Optional.of(Rest.of(port, Certificates.ofSettings(settings)));
    }

    /** Starts it again, where it was. */
    public void restart() {
        launch();
    }

    /** Starts it again, where it was, with some other settings. */
    public void restart(Map<String, String> changed) {
        Map<String, String> all = new HashMap<>(settings);
        all.putAll(changed);
        settings = all;
        launch();
    }

    /**
     * Starts it on the same port to be rebuilt from what agents know; it finishes by itself once the expected nodes
     * have reported.
     */
    public void rebuild(String... expected) {
        List<String> more = new ArrayList<>(List.of("--rebuild"));
        List.of(expected).forEach(node -> more.addAll(List.of("--expect", node)));
        launch(store, more);
    }

    public ChildJvm process() {
        return lives.getLast();
    }

    @Override
    public Path store() {
        return store;
    }

    @Override
    public Rest rest() {
        return rest.orElseThrow();
    }

    @Override
    public Credentials credentials() {
        return Credentials.of(Certificates.ofSettings(settings));
    }

    List<ChildJvm> lives() {
        return List.copyOf(lives);
    }

    @Override
    public void close() {
        lives.forEach(ChildJvm::close);
    }
}
