package io.farpage.it.harness;

import io.farpage.agent.Main;
import io.farpage.tls.Tls;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A page agent that is a process, which can be killed and stopped. */
public final class AgentProcess implements Agent {
    private final String node;
    private final ChildJvm process;
    private final Path portFile;
    private final Optional<Tls> tls;
    private Optional<Rest> rest = Optional.empty();

    private AgentProcess(String node, ChildJvm process, Path portFile, Optional<Tls> tls) {
        this.node = node;
        this.process = process;
        this.portFile = portFile;
        this.tls = tls;
    }

    /** Starts an agent with a small pool and does not wait for it. */
    static AgentProcess launch(String node, URI coordinator, Path portFile, Map<String, String> settings) {
        Map<String, String> all = AgentSettings.of(node, coordinator, settings);
        List<String> arguments = new ArrayList<>(List.of("run", "--port-file", portFile.toString()));
        all.forEach((key, value) -> arguments.addAll(List.of("--set", key + "=" + value)));
        return new AgentProcess(
                node, ChildJvm.start(node, Main.class, arguments), portFile, Certificates.ofSettings(all));
    }

    /** Waits until it answers. */
    public AgentProcess awaitListening() {
        rest = Optional.of(Rest.of(Ports.of(process, portFile), tls));
        return this;
    }

    @Override
    public String node() {
        return node;
    }

    public ChildJvm process() {
        return process;
    }

    /** Its REST interface, once it listens. */
    @Override
    public Rest rest() {
        return rest.orElseGet(() -> awaitListening().rest());
    }

    @Override
    public Path socket() {
        return process.socket();
    }

    @Override
    public void stop() {
        process.terminate();
        int code = process.awaitEnd();
        if (code != 0) {
            throw new AssertionError("exit code " + code + "\n" + process.describe());
        }
    }

    @Override
    public void close() {
        process.close();
    }
}
