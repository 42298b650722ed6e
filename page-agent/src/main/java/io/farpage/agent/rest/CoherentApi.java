package io.farpage.agent.rest;

import io.farpage.agent.data.coherence.CoherentSpaces;
import io.farpage.agent.data.coherence.DirectoryStatus;
import io.farpage.rest.Route;
import io.prometheus.metrics.core.metrics.CounterWithCallback;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.ToLongFunction;

/** What the directories of this node have done, as REST and metrics show it. */
public final class CoherentApi {
    /** A shard that does not answer for so long has no directories to show. */
    private static final Duration PATIENCE = Duration.ofSeconds(1);

    private final CoherentSpaces spaces;

    public CoherentApi(CoherentSpaces spaces) {
        this.spaces = spaces;
    }

    /** Its routes. */
    public List<Route> routes() {
        return List.of(Route.answering(AgentOperations.DIRECTORIES, ctx -> directories()));
    }

    private List<DirectoryStatus> directories() {
        try {
            return spaces.status().get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            return List.of();
        } catch (ExecutionException e) {
            throw new IllegalStateException(e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return List.of();
        }
    }

    /** Registers the metrics. */
    public void register(PrometheusRegistry registry) {
        count(
                registry,
                "farpage_agent_directory_requests_total",
                "Requests for pages that the directory of a coherent space has answered",
                DirectoryStatus::requests);
        count(
                registry,
                "farpage_agent_directory_recalls_total",
                "Pages recalled from the member that had them for writing",
                DirectoryStatus::recalls);
        count(
                registry,
                "farpage_agent_directory_invalidations_total",
                "Pages that members were told to give up",
                DirectoryStatus::invalidations);
        GaugeWithCallback.builder()
                .name("farpage_agent_directory_members")
                .help("Members of a coherent space that this node is a home of")
                .labelNames("space")
                .callback(callback ->
                        directories().forEach(one -> callback.call(one.members().size(), Long.toString(one.space()))))
                .register(registry);
        GaugeWithCallback.builder()
                .name("farpage_agent_directory_lost_pages")
                .help("Pages whose newest version was lost with a member")
                .labelNames("space")
                .callback(callback -> directories()
                        .forEach(one -> callback.call((double) one.lostPages(), Long.toString(one.space()))))
                .register(registry);
    }

    private void count(PrometheusRegistry registry, String name, String help, ToLongFunction<DirectoryStatus> value) {
        CounterWithCallback.builder()
                .name(name)
                .help(help)
                .labelNames("space")
                .callback(callback -> directories()
                        .forEach(one -> callback.call((double) value.applyAsLong(one), Long.toString(one.space()))))
                .register(registry);
    }
}
