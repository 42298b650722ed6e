package io.farpage.it.harness;

import io.farpage.agent.Main;
import io.farpage.tls.Tls;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A page agent: one start of it, and so one incarnation. */
public final class AgentProcess implements AutoCloseable {
    private static final Map<String, String> SMALL = Map.of(
            "api.listen", "127.0.0.1:0",
            "pool.exported", "8MiB",
            "pool.staging", "4MiB",
            "pool.hugepages", "off",
            "shard.idle", "block",
            // Each agent has a budget of half of every CPU, so two of them could leave nothing to the test.
            "shard.realtime_priority", "0");

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
        Map<String, String> all = new LinkedHashMap<>(SMALL);
        all.put("node.id", node);
        all.put("coordinator.url", coordinator.toString());
        all.putAll(settings);
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

    public String node() {
        return node;
    }

    public ChildJvm process() {
        return process;
    }

    /** Its REST interface; over TLS the node's own certificate is shown. */
    public Rest rest() {
        return rest.orElseThrow();
    }

    /** Reads a page. */
    public Answer page(String space, long page) {
        return rest().get("/api/v1/spaces/" + space + "/pages/" + page);
    }

    /** Writes a page. */
    public Answer putPage(String space, long page, byte[] data) {
        return rest().send("PUT", "/api/v1/spaces/" + space + "/pages/" + page, "application/octet-stream", data);
    }

    /** Whether its link to a peer is up. */
    public boolean isLinkedTo(String peer) {
        for (var link : rest().get("/api/v1/links").expect(200).json()) {
            if (link.get("peer").asString().equals(peer)) {
                return link.get("state").asString().equals("up");
            }
        }
        return false;
    }

    @Override
    public void close() {
        process.close();
    }
}
