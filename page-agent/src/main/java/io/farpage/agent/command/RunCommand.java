package io.farpage.agent.command;

import io.farpage.agent.config.AgentKeys;
import io.farpage.agent.config.Providers;
import io.farpage.agent.control.keeper.KeeperException;
import io.farpage.agent.control.keeper.KeptMemory;
import io.farpage.agent.control.member.Ending;
import io.farpage.agent.node.PageAgent;
import io.farpage.agent.rehearsal.WarmStart;
import io.farpage.config.Config;
import io.farpage.config.ConfigException;
import io.farpage.config.HostPort;
import io.farpage.linux.ProcessEnd;
import io.farpage.log.LogKeys;
import io.farpage.pool.PoolException;
import io.farpage.rest.ListenException;
import io.farpage.supervise.Supervision;
import io.farpage.verbs.VerbsException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code page-agent run}: the daemon, until SIGTERM. */
@Command(name = "run", mixinStandardHelpOptions = true, description = "Run the daemon until SIGTERM, which drains it.")
public final class RunCommand implements Callable<Integer> {
    private static final Logger log = LoggerFactory.getLogger(RunCommand.class);
    private static final int REFUSED = 1;
    private static final int SUPERSEDED = 3;

    @Mixin
    private final ConfigOptions configuration = new ConfigOptions();

    @Option(
            names = "--port-file",
            paramLabel = "FILE",
            description = "Write the port of api.listen to this file once the REST API is served, for scripts")
    private @Nullable Path portFile;

    private final Object lock = new Object();

    /** Guarded by {@link #lock}; null while no agent runs. */
    private @Nullable PageAgent running;

    /** As {@link #running}, for a thread that must not wait for the lock. */
    private volatile @Nullable PageAgent watched;

    /** The supervision by a service manager, once {@link #call} has begun. */
    private volatile Supervision supervision = Supervision.begin(Map.of(), Optional::empty);

    /** Whether this program is ending without a signal, with an exit code of its own. */
    private volatile boolean ending;

    @Override
    public Integer call() throws InterruptedException {
        supervision = Supervision.begin(System.getenv(), this::stalled);
        Runtime.getRuntime().addShutdownHook(new Thread(this::stop, "stop"));
        boolean first = true;
        while (true) {
            CompletableFuture<Ending> ended = new CompletableFuture<>();
            try {
                Config config = load();
                Providers providers = Providers.of(config);
                // An agent that is opened again has kept its place at the keeper.
                Optional<KeptMemory> claimed = first
                        ? WarmStart.await(
                                config, providers, () -> supervision.ready("a warm standby of this node's agent"))
                        : Optional.empty();
                first = false;
                open(new PageAgent.Start(config, providers, ended::complete, claimed));
            } catch (ConfigException
                    | PoolException
                    | VerbsException
                    | ListenException
                    | KeeperException
                    | IOException
                    | IllegalArgumentException e) {
                ending = true;
                String.valueOf(e.getMessage()).lines().forEach(line -> System.err.println("page-agent: " + line));
                return REFUSED;
            }
            switch (ended.join()) {
                case Ending.Superseded(String reason) -> {
                    ending = true;
                    log.error("{}", reason);
                    System.err.println("page-agent: " + reason);
                    return SUPERSEDED;
                }
                case Ending.HandedOver(String reason) -> {
                    log.info("{}", reason);
                    // As if it were killed: what the successor needs is at the keeper at each moment, and what this
                    // process would still do could only be in its way. Guests wait until it has ended.
                    ProcessEnd.now(0);
                }
                case Ending.Forgotten(String reason) -> {
                    log.warn("{}; starting again with empty memory, as a new incarnation", reason);
                    close();
                }
            }
        }
    }

    private Config load() {
        synchronized (lock) {
            Config config = configuration.load();
            LogKeys.apply(config);
            if (portFile != null && config.get(AgentKeys.API_LISTEN).isEmpty()) {
                throw new ConfigException(
                        List.of("--port-file needs api.listen: without it the REST API has a Unix socket and no port"));
            }
            return config;
        }
    }

    private void open(PageAgent.Start start) throws PoolException, IOException {
        synchronized (lock) {
            PageAgent agent = PageAgent.open(start);
            running = agent;
            watched = agent;
            // An agent that is opened again listens on the same port.
            Optional<HostPort> listening = agent.listening();
            listening.ifPresent(address -> configuration.set(AgentKeys.API_LISTEN, address.toString()));
            if (portFile != null && listening.isPresent()) {
                write(portFile, listening.get().port());
            }
            String where = "listening on " + String.join(" and ", agent.urls());
            System.out.println("page-agent " + agent.node() + " " + where);
            supervision.ready(where);
        }
    }

    private void close() {
        synchronized (lock) {
            PageAgent agent = running;
            running = null;
            watched = null;
            if (agent != null) {
                agent.close();
            }
        }
    }

    /** Outside the lock, since it may take long and the agent serves during that time. */
    private void drain() {
        PageAgent agent;
        synchronized (lock) {
            agent = running;
        }
        if (agent != null) {
            agent.drainIfConfigured();
        }
    }

    /** An agent that is being opened or closed holds the lock, for as long as its own deadlines say. */
    private Optional<String> stalled() {
        return Optional.ofNullable(watched).flatMap(PageAgent::stalled);
    }

    private void stop() {
        supervision.stopping();
        if (!ending) {
            drain();
        }
        close();
        if (!ending) {
            // A signal is the usual way to end a daemon, so the exit code is 0; the JVM's would be 143.
            Runtime.getRuntime().halt(0);
        }
    }

    private static void write(Path to, int port) throws IOException {
        Path part = to.resolveSibling(to.getFileName() + ".part");
        Files.writeString(part, Integer.toString(port));
        Files.move(part, to, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }
}
