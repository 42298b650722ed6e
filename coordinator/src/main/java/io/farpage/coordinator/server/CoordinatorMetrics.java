package io.farpage.coordinator.server;

import io.farpage.coordinator.cluster.Alerts;
import io.farpage.coordinator.cluster.Backlog;
import io.farpage.coordinator.cluster.Ledger;
import io.farpage.coordinator.cluster.Lineage;
import io.farpage.coordinator.cluster.Moves;
import io.farpage.coordinator.cluster.Promises;
import io.farpage.coordinator.cluster.State;
import io.farpage.coordinator.model.Alert;
import io.farpage.coordinator.model.AlertKind;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.Space;
import io.farpage.rest.Metrics;
import io.prometheus.metrics.core.metrics.CounterWithCallback;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.Locale;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/** What the coordinator exports beside the counts of requests. */
public final class CoordinatorMetrics {

    private static final double NANOS_PER_SECOND = 1e9;

    private final PrometheusRegistry registry;
    private final Histogram commits;

    CoordinatorMetrics(PrometheusRegistry registry) {
        this.registry = registry;
        this.commits = Histogram.builder()
                .name("farpage_coordinator_store_commit_seconds")
                .help("Time to make one change durable")
                .classicOnly()
                .classicExponentialUpperBounds(0.0001, 2, 16)
                .register(registry);
    }

    void committed(long nanos) {
        commits.observe(nanos / NANOS_PER_SECOND);
    }

    void watchLead(BooleanSupplier leads) {
        gauge("leader", "1 if this coordinator leads, 0 if it follows", () -> leads.getAsBoolean() ? 1 : 0);
    }

    void watch(Supplier<Ledger> ledger) {
        GaugeWithCallback.builder()
                .name("farpage_coordinator_nodes")
                .help("Nodes registered, by status")
                .labelNames("status")
                .callback(callback -> {
                    for (NodeStatus status : NodeStatus.values()) {
                        long count = ledger.get().state().nodes().values().stream()
                                .filter(node -> node.status() == status)
                                .count();
                        callback.call((double) count, status.toString());
                    }
                })
                .register(registry);
        GaugeWithCallback.builder()
                .name("farpage_coordinator_pool_free_bytes")
                .help("Bytes of a node's exported pool that nothing holds")
                .labelNames("node")
                .callback(callback -> {
                    State state = ledger.get().state();
                    state.nodes().values().forEach(node -> callback.call((double) state.freeBytes(node), node.id()));
                })
                .register(registry);
        GaugeWithCallback.builder()
                .name("farpage_coordinator_pool_bytes")
                .help("Bytes of a node's exported pool")
                .labelNames("node")
                .callback(callback -> ledger.get()
                        .state()
                        .nodes()
                        .values()
                        .forEach(node -> callback.call((double) node.pool().exportedBytes(), node.id())))
                .register(registry);
        GaugeWithCallback.builder()
                .name("farpage_coordinator_alerts")
                .help("What an operator has to see to, by kind and severity, as 'coordinator status' lists it")
                .labelNames("kind", "severity")
                .callback(callback -> {
                    State state = ledger.get().state();
                    Map<AlertKind, Long> found = Alerts.of(state).stream()
                            .collect(Collectors.groupingBy(Alert::kind, Collectors.counting()));
                    for (AlertKind kind : AlertKind.values()) {
                        callback.call((double) found.getOrDefault(kind, 0L), word(kind), word(kind.severity()));
                    }
                })
                .register(registry);
        gauge(
                "event_index",
                "Index of the last event",
                () -> ledger.get().events().index());
        gauge(
                "event_watchers",
                "Long polls waiting",
                () -> ledger.get().events().waiting());
        gauge("spaces", "Spaces that exist", () -> ledger.get().state().spaces().size());
        gauge(
                "snapshots",
                "Spaces that are read-only",
                () -> count(ledger, space -> space.snapshot().isPresent()));
        gauge(
                "clones",
                "Spaces whose guests begin with the pages of a snapshot",
                () -> count(
                        ledger,
                        space -> space.base().isPresent() && space.snapshot().isEmpty()));
        gauge(
                "promised_bytes",
                "Bytes of pools that thin spaces may still ask for",
                () -> Promises.bytes(ledger.get().state()));
        gauge(
                "extents_degraded",
                "Extents that have fewer homes than their space was made with",
                () -> degraded(ledger.get()));
        gauge(
                "repair_backlog_bytes",
                "Bytes of copies that extents are short of, and of copies on nodes that are drained",
                () -> Backlog.bytes(ledger.get().state()));
        gauge(
                "extents_joining",
                "Extents that a home joins",
                () -> Backlog.joining(ledger.get().state()));
        gauge(
                "extents_pulled",
                "Extents whose pages the home that joins copies itself",
                () -> Backlog.pulled(ledger.get().state()));
        gauge(
                "nodes_draining",
                "Nodes that are marked for draining",
                () -> ledger.get().state().drains().size());
        gauge(
                "endpoints",
                "Endpoints published",
                () -> ledger.get().state().endpoints().size());
    }

    private static long count(Supplier<Ledger> ledger, Predicate<Space> which) {
        return ledger.get().state().spaces().values().stream().filter(which).count();
    }

    /** As the REST API writes it. */
    private static String word(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    private static long degraded(Ledger ledger) {
        State state = ledger.state();
        return state.spaces().values().stream()
                .filter(space -> space.copies() > 1)
                .mapToLong(space -> state.extentsOf(space).stream()
                        .filter(extent -> extent.isShortOf(space.copies()))
                        .count())
                .sum();
    }

    /** Registers everything without values, for the reference. */
    public static Metrics described() {
        Metrics metrics = new Metrics("farpage_coordinator");
        metrics.describeServer();
        CoordinatorMetrics own = new CoordinatorMetrics(metrics.registry());
        own.watchLead(() -> false);
        own.watch(Metrics.undefined());
        own.watchMoves(Metrics.undefined());
        own.watchLineage(Metrics.undefined(), Metrics.undefined());
        return metrics;
    }

    void watchMoves(Supplier<Moves> moves) {
        counter(
                "moves_begun",
                "Moves of extents to another home that were begun",
                () -> moves.get().begun());
        counter(
                "moves_done",
                "Moves of extents to another home that were done",
                () -> moves.get().done());
        counter(
                "moves_given_up",
                "Moves of extents to another home that were given up",
                () -> moves.get().givenUp());
    }

    void watchLineage(Supplier<Lineage> lineage, Supplier<Ledger> ledger) {
        gauge(
                "epoch",
                "Starts of a coordinator on this store",
                () -> lineage.get().epoch().number());
        gauge(
                "revision",
                "Changes made durable since the cluster began",
                () -> ledger.get().revision());
        gauge(
                "behind",
                "1 if an agent has seen more than this store has, and no change is made",
                () -> lineage.get().behind().isPresent() ? 1 : 0);
    }

    private void counter(String name, String help, java.util.function.LongSupplier value) {
        CounterWithCallback.builder()
                .name("farpage_coordinator_" + name)
                .help(help)
                .callback(callback -> callback.call((double) value.getAsLong()))
                .register(registry);
    }

    private void gauge(String name, String help, java.util.function.LongSupplier value) {
        GaugeWithCallback.builder()
                .name("farpage_coordinator_" + name)
                .help(help)
                .callback(callback -> callback.call((double) value.getAsLong()))
                .register(registry);
    }
}
