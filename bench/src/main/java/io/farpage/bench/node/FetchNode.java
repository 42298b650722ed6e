package io.farpage.bench.node;

import io.farpage.agent.config.AgentKeys;
import io.farpage.agent.config.Providers;
import io.farpage.agent.control.space.SpaceUse;
import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.seal.PageSeal;
import io.farpage.agent.data.shard.Fetcher;
import io.farpage.agent.data.shard.LinkPhase;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.ShardCommand;
import io.farpage.agent.node.PageAgent;
import io.farpage.bench.baseline.BaselineSettings.Verification;
import io.farpage.bench.pattern.PageNumbers;
import io.farpage.bench.pattern.PagePattern;
import io.farpage.config.Config;
import io.farpage.config.ConfigException;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.coordinator.model.TransportKind;
import io.farpage.pool.PoolException;
import io.farpage.verbs.VerbsException;
import java.lang.foreign.MemorySegment;
import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** The fetching node's agent and its workload. Used by one thread, which waits; the shard's thread does the work. */
final class FetchNode implements AutoCloseable {
    private static final Duration SLACK = Duration.ofSeconds(30);
    private static final long SLOWEST_PAGE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
    private static final int SMALLEST_PAGE = 4096;
    private static final CompilationMXBean JIT = ManagementFactory.getCompilationMXBean();

    private final NodeSettings settings;
    private final PageAgent agent;
    private final PeerLink link;
    private final FetchWorkload cycle;
    private final PageNumbers numbers;
    private final @Nullable LocalSeal seal;
    private @Nullable SpaceUse space;

    private FetchNode(NodeSettings settings, PageAgent agent) throws NodeException, InterruptedException {
        this.settings = settings;
        this.agent = agent;
        this.link = agent.links().link(settings.home(), 0);
        Home home = makeSpace();
        awaitLink();
        MemorySegment staging = stagingFrames();
        seal = settings.sealed() ? LocalSeal.of(settings) : null;
        PageSeal pages = seal == null ? null : seal.pages();
        CompletableFuture<FetchWorkload> added = new CompletableFuture<>();
        long deadline = agentConfig(settings).get(AgentKeys.FETCH_DEADLINE).toNanos();
        agent.shards().getFirst().submit(new ShardCommand.Run(() -> {
            Fetcher fetcher = agent.shards().getFirst().shard().newFetcher(settings.slots(), deadline);
            FetchWorkload made = new FetchWorkload(fetcher, home, staging, settings.seed(), pages);
            agent.shards().getFirst().submit(new ShardCommand.AddCycle(made));
            added.complete(made);
        }));
        this.cycle = await(added, SLACK, "adding the workload");
        this.numbers = settings.pattern().over(settings.pages(), settings.seed(), settings.zipfExponent());
    }

    static FetchNode open(NodeSettings settings) throws NodeException, InterruptedException {
        PageAgent agent;
        try {
            Config config = agentConfig(settings);
            agent = PageAgent.open(config, Providers.of(config), reason -> {});
        } catch (ConfigException | PoolException | VerbsException | IllegalArgumentException e) {
            throw new NodeException(String.valueOf(e.getMessage()), e);
        }
        try {
            return new FetchNode(settings, agent);
        } catch (NodeException | InterruptedException | RuntimeException e) {
            agent.close();
            throw e;
        }
    }

    private static Config agentConfig(NodeSettings settings) {
        Map<String, String> flags = new HashMap<>(settings.agent());
        Path socket = Path.of(
                System.getProperty("java.io.tmpdir"),
                "farpage-bench-" + ProcessHandle.current().pid());
        flags.putIfAbsent("api.socket", socket + ".sock");
        return AgentKeys.SCHEMA.load(Optional.empty(), Map.of(), flags);
    }

    private Home makeSpace() throws NodeException, InterruptedException {
        int spacePage = settings.pageSize() % (2 << 20) == 0 ? 2 << 20 : SMALLEST_PAGE;
        SpaceRequest request = new SpaceRequest(
                settings.space(),
                settings.pages() * settings.pageSize(),
                OptionalInt.of(spacePage),
                Optional.of(List.of(settings.home())));
        try {
            awaitHome();
            agent.coordinator().createSpace(request);
            space = agent.spaces()
                    .use(settings.space())
                    .orElseThrow(() -> new NodeException("the space " + settings.space() + " is gone"));
            SpaceMap map = space.map();
            if (map.extents() != 1) {
                throw new NodeException("the pages lie in " + map.extents()
                        + " extents, and are measured in one: the home's pool is not empty");
            }
            return new Home(link, map.incarnation(0), map.offset(0, 0), settings.pageSize());
        } catch (CoordinatorException e) {
            throw new NodeException(String.valueOf(e.getMessage()), e);
        }
    }

    private void awaitHome() throws NodeException, CoordinatorException, InterruptedException {
        long deadline = System.nanoTime() + settings.startTimeout().toNanos();
        while (System.nanoTime() - deadline < 0) {
            Optional<Node> home = agent.coordinator().node(settings.home());
            Optional<Node> self = agent.coordinator().node(agent.node());
            if (home.filter(node -> node.status() == NodeStatus.ACTIVE).isPresent() && self.isPresent()) {
                return;
            }
            Thread.sleep(10);
        }
        throw new NodeException(
                "the home did not register within " + settings.startTimeout().toSeconds() + " s");
    }

    private void awaitLink() throws NodeException, InterruptedException {
        agent.links().connect(settings.home());
        long deadline = System.nanoTime() + settings.startTimeout().toNanos();
        while (link.phase() != LinkPhase.UP) {
            if (System.nanoTime() - deadline > 0) {
                throw new NodeException("no link with the home within "
                        + settings.startTimeout().toSeconds() + " s"
                        + (link.lastFailure().isEmpty() ? "" : "; last failure: " + link.lastFailure()));
            }
            Thread.sleep(5);
        }
    }

    private MemorySegment stagingFrames() throws NodeException {
        long bytes = (long) settings.slots() * settings.pageSize();
        int frames = Math.toIntExact(bytes / agent.pool().frameBytes());
        int first = agent.pool().stagingFrames().allocateRun(frames);
        if (first < 0) {
            throw new NodeException("no " + bytes + " bytes of staging memory in one run; raise pool.staging");
        }
        return agent.pool().staging().asSlice(agent.pool().offset(first), bytes);
    }

    Answer.Ready ready() {
        boolean rdma = agent.transports().devices().stream()
                .anyMatch(open -> open.transport() == TransportKind.RDMA
                        && open.device().name().equals(link.transport()));
        return new Answer.Ready(rdma ? "ibverbs" : "soft", agent.transports().describe());
    }

    Answer carryOut(NodeCommand order) throws NodeException, InterruptedException {
        return switch (order) {
            case NodeCommand.Fill() -> fill();
            case NodeCommand.Run run -> run(run);
            case NodeCommand.Quit() -> throw new IllegalArgumentException("quit is not a workload");
        };
    }

    private Answer fill() throws NodeException, InterruptedException {
        long pages = settings.pages();
        run(Workload.write(inOrder(), NodeSettings.FILL_WINDOW, pages), pages);
        Outcome read = run(Workload.fetch(inOrder(), NodeSettings.FILL_WINDOW, pages, Verification.FULL), pages);
        return new Answer.Filled(read.count(), read.mismatches(), read.firstMismatch());
    }

    private PageNumbers inOrder() {
        return PagePattern.SEQUENTIAL.over(settings.pages(), 0, 1);
    }

    private Answer run(NodeCommand.Run order) throws NodeException, InterruptedException {
        if (order.warmup() > 0) {
            run(Workload.fetch(numbers, settings.depth(), order.warmup(), settings.verification()), order.warmup());
        }
        long compiled = JIT.getTotalCompilationTime();
        Outcome outcome = order.count() > 0
                ? run(Workload.fetch(numbers, settings.depth(), order.count(), settings.verification()), order.count())
                : run(
                        Workload.fetchFor(
                                numbers,
                                settings.depth(),
                                TimeUnit.MILLISECONDS.toNanos(order.millis()),
                                settings.verification()),
                        TimeUnit.MILLISECONDS.toNanos(order.millis()) / SLOWEST_PAGE_NANOS);
        return new Answer.Round(
                outcome.count(),
                outcome.mismatches(),
                outcome.firstMismatch(),
                outcome.elapsedNs(),
                outcome.allocatedBytes(),
                outcome.cpuNs(),
                JIT.getTotalCompilationTime() - compiled,
                outcome.replays(),
                Answer.Round.buckets(outcome.latencies()));
    }

    private Outcome run(Workload workload, long pages) throws NodeException, InterruptedException {
        CompletableFuture<Outcome> done = new CompletableFuture<>();
        agent.shards().getFirst().submit(new ShardCommand.Run(() -> cycle.begin(workload, done)));
        Outcome outcome = await(done, SLACK.plusNanos(pages * SLOWEST_PAGE_NANOS), "fetching " + pages + " pages");
        if (!outcome.failure().isEmpty()) {
            throw new NodeException(outcome.failure());
        }
        return outcome;
    }

    private static <T> T await(CompletableFuture<T> done, Duration timeout, String what)
            throws NodeException, InterruptedException {
        try {
            return done.get(timeout.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            throw new NodeException(what + " took longer than " + timeout.toSeconds() + " s", e);
        } catch (ExecutionException e) {
            throw new NodeException(what + ": " + e.getCause(), e);
        }
    }

    @Override
    public void close() {
        if (space != null) {
            space.close();
        }
        agent.close();
        if (seal != null) {
            seal.close();
        }
    }
}
