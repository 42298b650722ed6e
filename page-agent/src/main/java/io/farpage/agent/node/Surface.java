package io.farpage.agent.node;

import io.farpage.agent.config.FaultTraceKeys;
import io.farpage.agent.config.LatencyKeys;
import io.farpage.agent.control.CloseStack;
import io.farpage.agent.control.archive.SnapshotArchives;
import io.farpage.agent.control.latency.FetcherLatencies;
import io.farpage.agent.control.latency.LatencyLog;
import io.farpage.agent.control.latency.LatencySeries;
import io.farpage.agent.control.member.Ending;
import io.farpage.agent.control.page.SpaceImage;
import io.farpage.agent.control.trace.FaultTraces;
import io.farpage.agent.rest.AgentApi;
import io.farpage.agent.rest.AgentMetrics;
import io.farpage.agent.rest.AgentOperations;
import io.farpage.agent.rest.ApiSocket;
import io.farpage.agent.rest.ArchiveApi;
import io.farpage.agent.rest.CoherentApi;
import io.farpage.agent.rest.CoordinatorMetrics;
import io.farpage.agent.rest.FaultTraceMetrics;
import io.farpage.agent.rest.GuestApi;
import io.farpage.agent.rest.GuestMetrics;
import io.farpage.agent.rest.ImageApi;
import io.farpage.agent.rest.ImagePermits;
import io.farpage.agent.rest.LatencyApi;
import io.farpage.agent.rest.LatencyLogMetrics;
import io.farpage.agent.rest.MountMetrics;
import io.farpage.agent.rest.ShardApi;
import io.farpage.agent.rest.ShardMetrics;
import io.farpage.config.HostPort;
import io.farpage.linux.DescriptorReserve;
import io.farpage.rest.Health;
import io.farpage.rest.Metrics;
import io.farpage.rest.RestServer;
import io.farpage.rest.Route;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** What others see of the agent: its REST API, its metrics, the log of its latencies and traces of faults. */
final class Surface {
    private static final int MAX_BODY = 4 << 20;

    private final Optional<LatencyLog> latencyLog;
    private final Optional<FaultTraces> faultTraces;
    private final ApiSocket socket;
    private final RestServer rest;

    /**
     * Serves from now on.
     *
     * @param open gets what must be closed, also if this fails
     * @param health of the agent
     * @param ended called when the agent has handed its guests over
     */
    Surface(CloseStack open, Foundation base, Movers movers, Supplier<Health> health, Consumer<Ending> ended) {
        Map<String, FetcherLatencies> fetchers = FetcherLatencies.of(Map.of(
                "page-tool", movers.pages().fetcher(),
                "pull", movers.pulls().fetcher(),
                "fill", movers.pulls().fillFetcher(),
                "mount", movers.mountShard().fetcher()));
        Supplier<List<LatencySeries>> latencies =
                () -> FetcherLatencies.with(fetchers, movers.guests().series());
        // Closed after the guests, whose last faults it logs.
        latencyLog = LatencyKeys.log(base.config())
                .map(options -> open.add(new LatencyLog(options, base.self().id(), latencies, Instant::now)));
        faultTraces = base.tracer()
                .map(tracer -> open.add(
                        new FaultTraces(tracer, FaultTraceKeys.sampling(base.config()), movers.guests()::traced)));
        socket = open.add(base.doors().socket());
        rest = open.add(RestServer.start(
                new RestServer.Options(
                        "page-agent",
                        PageAgent.VERSION,
                        base.doors().entrance(socket),
                        MAX_BODY,
                        () -> DescriptorReserve.leavesRoom(DescriptorReserve.ORDINARY)),
                routes(base, movers, latencies, new Handover(base.keeping().keeper(), movers.guests(), ended)),
                metrics(base, movers, fetchers),
                health,
                RestServer.Around.NOTHING));
        socket.publish();
    }

    private static List<Route> routes(
            Foundation base, Movers movers, Supplier<List<LatencySeries>> latencies, Handover handover) {
        SpaceImage image = new SpaceImage(movers.pages(), movers.presence());
        ImagePermits permits = new ImagePermits();
        return Stream.of(
                        new AgentApi(base.transports(), movers.links(), base.spaces(), movers.pages()).routes(),
                        new GuestApi(movers.guests()).routes(),
                        new ShardApi(movers.shards().loops()).routes(),
                        new CoherentApi(movers.coherent()).routes(),
                        new LatencyApi(latencies).routes(),
                        List.of(Route.answering(AgentOperations.HAND_OVER, ctx -> handover.begin())),
                        new ImageApi(base.spaces(), image, permits).routes(),
                        new ArchiveApi(
                                        new SnapshotArchives(base.spaces(), image, movers.guests()::createToLoad),
                                        permits)
                                .routes())
                .flatMap(List::stream)
                .toList();
    }

    private Metrics metrics(Foundation base, Movers movers, Map<String, FetcherLatencies> fetchers) {
        Metrics metrics = new Metrics("farpage_agent");
        AgentMetrics.register(metrics.registry(), fetchers, movers::links, base.self()::pool);
        CoordinatorMetrics.register(metrics.registry(), base.self().coordinator()::allegiance);
        GuestMetrics.register(metrics.registry(), movers::guests);
        ShardMetrics.register(metrics.registry(), movers.shards()::loops);
        new CoherentApi(movers.coherent()).register(metrics.registry());
        MountMetrics.register(metrics.registry(), movers.mounts()::counters);
        FaultTraceMetrics.register(metrics.registry(), () -> faultTraces);
        LatencyLogMetrics.register(metrics.registry(), () -> latencyLog);
        return metrics;
    }

    void start() {
        latencyLog.ifPresent(LatencyLog::start);
        faultTraces.ifPresent(FaultTraces::start);
    }

    /** Path of the Unix socket. */
    Path path() {
        return socket.path();
    }

    /** TCP address, if there is one. */
    Optional<HostPort> address() {
        return rest.address();
    }

    String url() {
        return rest.url();
    }

    /** Takes no more requests. */
    void close() {
        rest.close();
        socket.close();
    }
}
