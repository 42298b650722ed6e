package io.farpage.it.harness;

import io.farpage.agent.config.AgentKeys;
import io.farpage.agent.config.Providers;
import io.farpage.agent.node.PageAgent;
import io.farpage.config.Config;
import io.farpage.config.ConfigException;
import io.farpage.pool.PoolException;
import io.farpage.rest.ListenException;
import io.farpage.verbs.VerbsException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Agents that cannot be opened, in this JVM: with the messages of a process, which {@code page-agent run} prints a line
 * each.
 */
public final class RefusedAgent {
    private RefusedAgent() {}

    /**
     * Opens an agent that must be refused.
     *
     * @param file as {@code --config}
     * @param environment variables that it is given
     * @param flags as {@code --set}
     * @return why, a line for each fault
     * @throws AssertionError if the agent is opened
     */
    public static List<String> open(Optional<Path> file, Map<String, String> environment, Map<String, String> flags) {
        try {
            Config config = AgentKeys.SCHEMA.load(file, environment, flags);
            PageAgent.open(config, Providers.of(config), ended -> {}).close();
        } catch (ConfigException | PoolException | VerbsException | ListenException | IllegalArgumentException e) {
            return String.valueOf(e.getMessage()).lines().toList();
        }
        throw new AssertionError("an agent was opened with " + flags);
    }
}
