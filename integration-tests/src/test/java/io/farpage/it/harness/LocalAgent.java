package io.farpage.it.harness;

import io.farpage.agent.config.AgentKeys;
import io.farpage.agent.config.Providers;
import io.farpage.agent.control.member.Ending;
import io.farpage.agent.node.PageAgent;
import io.farpage.config.Config;
import io.farpage.pool.PoolException;
import java.net.URI;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * A page agent in this JVM: the same as a process from its configuration on, a hundredth of whose start it takes. For
 * what does not kill or stop it and does not end its incarnation. Closing it drains and deregisters it.
 */
final class LocalAgent implements Agent {
    private final PageAgent agent;
    private final Rest rest;

    /** Opens an agent with a small pool. */
    LocalAgent(String node, URI coordinator, Path socket, Map<String, String> settings) {
        Map<String, String> all = new LinkedHashMap<>(AgentSettings.of(node, coordinator, settings));
        all.putIfAbsent("api.socket", socket.toString());
        Config config = AgentKeys.SCHEMA.load(Optional.empty(), Map.of(), all);
        try {
            agent = PageAgent.open(config, Providers.of(config), ended -> ended(node, ended));
        } catch (PoolException e) {
            throw new IllegalStateException("agent " + node, e);
        }
        rest = Rest.of(agent.listening().orElseThrow().port(), Certificates.ofSettings(all));
    }

    private static void ended(String node, Ending ending) {
        System.err.println("agent " + node + " must be closed: " + ending);
    }

    @Override
    public String node() {
        return agent.node();
    }

    @Override
    public Rest rest() {
        return rest;
    }

    @Override
    public Path socket() {
        return agent.socket();
    }

    @Override
    public void stop() {
        agent.drainIfConfigured();
        close();
    }

    @Override
    public void close() {
        agent.close();
    }
}
