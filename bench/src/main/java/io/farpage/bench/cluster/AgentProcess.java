package io.farpage.bench.cluster;

import io.farpage.bench.process.Child;
import io.farpage.bench.process.Children;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * An agent that runs as {@code page-agent run}. Used by one thread.
 *
 * @param child the process
 * @param portFile where it writes the port of its REST API when it is ready
 */
public record AgentProcess(Child child, Path portFile) implements AutoCloseable {
    /**
     * Starts one; does not wait for it.
     *
     * @param name for messages and its log
     * @param settings its configuration, key to value
     */
    public static AgentProcess start(Children children, String name, Map<String, String> settings) {
        return start(children, name, settings, List.of());
    }

    /**
     * As {@link #start(Children, String, Map)}.
     *
     * @param jvmFlags of its JVM, beside those that an agent has anyway
     */
    public static AgentProcess start(
            Children children, String name, Map<String, String> settings, List<String> jvmFlags) {
        Path portFile = children.scratch().resolve(name.replace(' ', '-') + ".port");
        List<String> arguments = new ArrayList<>(List.of("run", "--port-file", portFile.toString()));
        arguments.addAll(List.of("--set", "api.socket=" + apiSocket(portFile)));
        settings.forEach((key, value) -> arguments.addAll(List.of("--set", key + "=" + value)));
        return new AgentProcess(children.start(name, "page-agent", jvmFlags, arguments, false), portFile);
    }

    private static String apiSocket(Path portFile) {
        return portFile + ".sock";
    }

    /** The Unix socket of its REST API, beside which it listens for a process that mounts snapshots. */
    public String apiSocket() {
        return apiSocket(portFile);
    }

    /** Waits until it is ready; the port of its REST API. */
    public int awaitPort() throws InterruptedException {
        return Integer.parseInt(child.awaitFile(portFile));
    }

    /** Waits until it is ready; what its pool is made of. */
    public String backing() throws InterruptedException {
        try (AgentClient client = new AgentClient(awaitPort())) {
            return client.backing();
        }
    }

    @Override
    public void close() {
        child.close();
    }
}
