package io.farpage.agent.rehearsal;

import io.farpage.agent.client.AgentAddress;
import io.farpage.agent.client.AgentClient;
import io.farpage.agent.client.AgentTarget;
import io.farpage.agent.config.AgentKeys;
import io.farpage.agent.config.Providers;
import io.farpage.agent.control.keeper.Keeper;
import io.farpage.agent.control.keeper.KeeperMode;
import io.farpage.agent.node.PageAgent;
import io.farpage.agent.rest.GuestOperations;
import io.farpage.config.Config;
import io.farpage.linux.PosixException;
import io.farpage.log.LogLevel;
import io.farpage.log.LogOutput;
import io.farpage.pool.PoolException;
import io.farpage.tls.ClientOptions;
import java.io.IOException;
import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Two agents that run for a moment in a standby, so that the JVM has loaded, linked and begun to compile what an agent
 * needs: one serves a guest whose pages are in the pool of the other. The guest is memory of this process. The pools
 * are small and their own, and so is the keeper, which is a thread; the coordinator is a stand-in that knows the two
 * alone.
 */
final class Rehearsal {
    private static final Logger log = LoggerFactory.getLogger(Rehearsal.class);
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final Duration REQUEST = Duration.ofSeconds(5);
    private static final String HOME = "rehearsal-home";
    private static final String NODE = "rehearsal";
    /** Pages of the space and of the guest: one megabyte. The pool of the home has room for two. */
    private static final int PAGES = 256;

    private static final int LOCAL_BYTES = 64 * 4096;
    /** How often an agent is opened and serves the guest: code that has run a few hundred times is compiled. */
    private static final int ROUNDS = 3;

    /** No round begins later: guests of the agent share the CPUs with the rehearsal, and an upgrade waits for it. */
    private static final Duration BUDGET = Duration.ofSeconds(10);

    /**
     * How long the compilers are waited for, how often they are looked at, and what they may use in between when they
     * are done.
     */
    private static final Duration COMPILERS = Duration.ofSeconds(5);

    private static final Duration LOOK = Duration.ofMillis(200);
    private static final Duration BUSY = Duration.ofMillis(20);

    private final Config config;
    private final Providers providers;
    private final Path directory;
    private final Keeper keeper;
    private final RehearsalCoordinator coordinator;

    private Rehearsal(
            Config config, Providers providers, Path directory, Keeper keeper, RehearsalCoordinator coordinator) {
        this.config = config;
        this.providers = providers;
        this.directory = directory;
        this.keeper = keeper;
        this.coordinator = coordinator;
    }

    /**
     * Runs one. A rehearsal that fails costs time later, and nothing else. The log entries of its agents are dropped
     * unless the rehearsal is debugged.
     *
     * @param config of the agent to be
     * @param providers that it is going to use: the libraries that they load are loaded then
     */
    static void run(Config config, Providers providers) throws InterruptedException {
        long began = System.nanoTime();
        LogLevel level = LogOutput.level();
        if (level.compareTo(LogLevel.DEBUG) > 0) {
            LogOutput.level(LogLevel.ERROR);
        }
        Optional<Exception> failure = Optional.empty();
        Optional<String> missing = Optional.empty();
        try {
            Preload.run();
            missing = stage(config, providers);
            awaitCompilers();
        } catch (IOException | PoolException | RuntimeException e) {
            failure = Optional.of(e);
        } finally {
            LogOutput.level(level);
        }
        missing.ifPresent(why -> log.info(
                "this rehearsal has no guest, so the first faults after a takeover will take longer: {}", why));
        failure.ifPresentOrElse(
                e -> log.warn("the rehearsal of this standby failed, so it will take over more slowly", e),
                () -> log.info("rehearsed the start of an agent in {} ms", (System.nanoTime() - began) / 1_000_000));
    }

    /** Returns why the guest was not served; empty if it was. */
    private static Optional<String> stage(Config config, Providers providers)
            throws IOException, PoolException, InterruptedException {
        Path directory = Files.createTempDirectory("farpage-standby");
        try {
            return stage(config, providers, directory);
        } finally {
            delete(directory);
        }
    }

    private static Optional<String> stage(Config config, Providers providers, Path directory)
            throws IOException, PoolException, InterruptedException {
        Keeper keeper = Keeper.listen(directory.resolve("keeper"));
        Thread keeping = Thread.ofPlatform().daemon().name("rehearsal-keeper").start(keeper::run);
        try (RehearsalCoordinator coordinator = new RehearsalCoordinator(HOME, NODE, PAGES)) {
            return new Rehearsal(config, providers, directory, keeper, coordinator).play();
        } finally {
            keeper.close();
            keeping.join(PATIENCE);
        }
    }

    /**
     * An upgrade hands over as soon as this process is warm, when the compilers may still have much to do, and would
     * share the CPUs with the takeover.
     */
    private static void awaitCompilers() throws InterruptedException {
        CompilationMXBean compilers = ManagementFactory.getCompilationMXBean();
        if (compilers == null || !compilers.isCompilationTimeMonitoringSupported()) {
            return;
        }
        long end = System.nanoTime() + COMPILERS.toNanos();
        long before = -1;
        long spent = compilers.getTotalCompilationTime();
        while (spent - before > BUSY.toMillis() && System.nanoTime() < end) {
            Thread.sleep(LOOK);
            before = spent;
            spent = compilers.getTotalCompilationTime();
        }
    }

    private static void delete(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            for (Path file : files.toList()) {
                Files.deleteIfExists(file);
            }
        }
        Files.delete(directory);
    }

    private Optional<String> play() throws IOException, PoolException, InterruptedException {
        long end = System.nanoTime() + BUDGET.toNanos();
        Optional<String> missing = Optional.empty();
        try (PageAgent home = open(HOME)) {
            await("the home registers", home::isRegistered);
            for (int round = 0; round < ROUNDS && (round == 0 || System.nanoTime() < end); round++) {
                try (PageAgent agent = open(NODE)) {
                    await("the agent registers", agent::isRegistered);
                    missing = serve();
                }
            }
        }
        return missing;
    }

    private PageAgent open(String node) throws PoolException {
        Config own = config(node);
        return PageAgent.open(own, new Providers(providers.rdma(), Providers.tcp(own)), _ -> {});
    }

    private Path socket(String name) {
        return directory.resolve(name);
    }

    /** Returns why this user may not run a guest; empty if it may. */
    private Optional<String> serve() throws IOException, InterruptedException {
        Path handoff = socket("guest");
        request("{\"socket\":\"%s\",\"localBytes\":%d}".formatted(handoff, LOCAL_BYTES));
        try (RehearsalGuest guest = RehearsalGuest.handOver(handoff, PAGES)) {
            guest.use();
            return Optional.empty();
        } catch (PosixException e) {
            return Optional.ofNullable(e.getMessage());
        }
    }

    /** Makes the agent wait for a guest. */
    private void request(String body) throws IOException, InterruptedException {
        AgentAddress to = new AgentAddress.Unix(socket(NODE));
        try (AgentClient client = AgentClient.open(to, new ClientOptions(), REQUEST);
                AgentClient.Answer answer = client.send(
                        GuestOperations.ATTACH.at(NODE),
                        AgentTarget.JSON,
                        new AgentClient.Bytes(body.getBytes(StandardCharsets.UTF_8)))) {
            byte[] content = answer.body().readAllBytes();
            if (answer.status() / 100 != 2) {
                throw new IOException(AgentTarget.detail(answer.status(), content));
            }
        }
    }

    private static void await(String what, BooleanSupplier condition) throws IOException {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > deadline) {
                throw new IOException("waited %s until %s".formatted(PATIENCE, what));
            }
            LockSupport.parkNanos(Duration.ofMillis(5).toNanos());
        }
    }

    private Config config(String node) {
        Map<String, String> flags = new LinkedHashMap<>();
        flags.put(AgentKeys.NODE_ID.name(), node);
        flags.put(AgentKeys.COORDINATOR_URL.name(), coordinator.url().toString());
        flags.put(AgentKeys.API_SOCKET.name(), socket(node).toString());
        flags.put(AgentKeys.POOL_EXPORTED.name(), "2MiB");
        flags.put(AgentKeys.POOL_STAGING.name(), "2MiB");
        flags.put(AgentKeys.POOL_HUGEPAGES.name(), "off");
        flags.put(
                AgentKeys.TRANSPORT_MODE.name(),
                config.get(AgentKeys.TRANSPORT_MODE).toString());
        flags.put(AgentKeys.SHARD_IDLE.name(), "block");
        flags.put(AgentKeys.SHARD_PRIORITY.name(), "0");
        if (node.equals(NODE)) {
            flags.put(AgentKeys.KEEPER_MODE.name(), KeeperMode.PROCESS.toString());
            flags.put(AgentKeys.KEEPER_SOCKET.name(), keeper.path().toString());
        }
        return AgentKeys.SCHEMA.load(Optional.empty(), Map.of(), flags);
    }
}
