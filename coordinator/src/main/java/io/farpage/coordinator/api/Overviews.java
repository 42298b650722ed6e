package io.farpage.coordinator.api;

import io.farpage.coordinator.cluster.Alerts;
import io.farpage.coordinator.cluster.Keys;
import io.farpage.coordinator.cluster.Ledger;
import io.farpage.coordinator.cluster.Membership;
import io.farpage.coordinator.cluster.Promises;
import io.farpage.coordinator.cluster.State;
import io.farpage.coordinator.model.Alert;
import io.farpage.coordinator.model.AlertKind.Severity;
import io.farpage.coordinator.model.Endpoint;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeFilter;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.Overview;
import io.farpage.coordinator.model.Overview.ExtentCounts;
import io.farpage.coordinator.model.Overview.Link;
import io.farpage.coordinator.model.Overview.LinkCounts;
import io.farpage.coordinator.model.Overview.NodeUse;
import io.farpage.coordinator.model.Overview.Totals;
import io.farpage.coordinator.model.QpEntry;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.coordinator.model.SpaceUse;
import io.farpage.coordinator.model.TransportKind;
import io.farpage.coordinator.model.operation.Filters;
import io.farpage.rest.Operation.QueryParameter;
import io.farpage.rest.Requests;
import io.javalin.http.Context;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/** Makes the pages in which large clusters are shown. */
final class Overviews {

    /** The character after the slash, so that it ends a range of keys of one space. */
    private static final String AFTER_SLASH = "0";

    private static final int MOST_ALERTS = 100;
    private static final int MOST_SPACES = 1_000;
    private static final int MOST_LINKS = 1_000_000;

    private static final int NOT_MODIFIED = 304;

    private final Ledger ledger;
    private final Membership membership;

    /** Tells the states of this start of the coordinator from those of others. */
    private final String start = Long.toHexString(ThreadLocalRandom.current().nextLong());

    Overviews(Ledger ledger, Membership membership) {
        this.ledger = ledger;
        this.membership = membership;
    }

    /** The filter that a request has in its parameters. */
    static NodeFilter filter(Context ctx) {
        return new NodeFilter(
                Requests.optionalQuery(ctx, Filters.STATUS.name())
                        .map(text -> Requests.parameter(Filters.STATUS.name(), text, Overviews::status)),
                Requests.optionalQuery(ctx, Filters.ATTENTION.name())
                        .map(text -> Requests.parameter(Filters.ATTENTION.name(), text, Overviews::truth))
                        .orElse(false),
                Requests.optionalQuery(ctx, Filters.PREFIX.name()).orElse(""),
                Requests.optionalQuery(ctx, Filters.AFTER.name()).orElse(""),
                Requests.optionalQuery(ctx, Filters.LIMIT.name())
                        .map(text -> (int) Requests.number(Filters.LIMIT.name(), text, 0, NodeFilter.MAX_LIMIT))
                        .orElse(NodeFilter.MAX_LIMIT));
    }

    /**
     * How much an overview shows beside its nodes.
     *
     * @param links the largest number of links
     * @param spaces the largest number of spaces
     */
    record Limits(int links, int spaces) {}

    /** The limits that a request has in its parameters. */
    static Limits limits(Context ctx) {
        return new Limits(atMost(ctx, Filters.LINKS, MOST_LINKS), atMost(ctx, Filters.SPACES, MOST_SPACES));
    }

    private static int atMost(Context ctx, QueryParameter parameter, int most) {
        return Requests.optionalQuery(ctx, parameter.name())
                .map(text -> (int) Requests.number(parameter.name(), text, 0, most))
                .orElse(most);
    }

    private static NodeStatus status(String text) {
        return Arrays.stream(NodeStatus.values())
                .filter(status -> status.toString().equals(text))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("it must be joining, active, leaving or failed"));
    }

    private static boolean truth(String text) {
        return switch (text) {
            case "true" -> true;
            case "false" -> false;
            default -> throw new IllegalArgumentException("it must be true or false");
        };
    }

    /** The nodes of a page. */
    static List<Node> page(List<Node> nodes, NodeFilter filter) {
        return nodes.stream().filter(filter::includes).limit(filter.limit()).toList();
    }

    /**
     * Answers a request for the cluster, with the nodes of a page; with 304 if nothing has changed since the answer
     * whose tag the request shows. The renewal of a lease does not count as a change.
     */
    void answer(Context ctx) {
        NodeFilter filter = filter(ctx);
        Limits limits = limits(ctx);
        // Before the state is read, so that the tag is never newer than what it stands for.
        String tag = "W/\"%s-%d\"".formatted(start, ledger.stateNumber());
        ctx.header("ETag", tag).header("Cache-Control", "no-cache");
        if (tag.equals(ctx.header("If-None-Match"))) {
            ctx.status(NOT_MODIFIED);
        } else {
            ctx.json(page(filter, limits));
        }
    }

    /** The cluster, with the nodes of a page. */
    Overview page(NodeFilter filter, Limits limits) {
        long index = ledger.events().index();
        State state = ledger.state();
        List<Alert> alerts = Alerts.of(state);
        Predicate<Node> urgent = filter.attention() ? Alerts.attention(alerts) : node -> true;
        List<Node> nodes = page(membership.nodes().stream().filter(urgent).toList(), filter);
        Set<String> ids = nodes.stream().map(Node::id).collect(Collectors.toSet());
        return new Overview(
                index,
                membership.cluster(),
                totals(state, alerts),
                alerts.stream().limit(MOST_ALERTS).toList(),
                nodes.stream()
                        .map(node -> new NodeUse(node, state.freeBytes(node)))
                        .toList(),
                limits.links() == 0
                        ? List.of()
                        : pairs(state.endpoints().values().stream()
                                        .filter(endpoint ->
                                                ids.contains(endpoint.node()) || ids.contains(endpoint.peer()))
                                        .toList())
                                .stream()
                                .limit(limits.links())
                                .toList(),
                spaces(state, NodeFilter.ALL.withLimit(limits.spaces())));
    }

    /** Spaces in the order of their names, selected by prefix, after and limit of the filter. */
    List<SpaceUse> spaces(NodeFilter names) {
        return spaces(ledger.state(), names);
    }

    private static List<SpaceUse> spaces(State state, NodeFilter names) {
        return state.spaces().values().stream()
                .filter(space -> space.name().compareTo(names.after()) > 0
                        && space.name().startsWith(names.prefix()))
                .sorted(Comparator.comparing(Space::name))
                .limit(names.limit())
                .map(space -> use(state, space))
                .toList();
    }

    private static SpaceUse use(State state, Space space) {
        List<Extent> extents = state.extentsOf(space);
        String attached = Keys.id(space.id()) + "/";
        return new SpaceUse(
                space,
                extents.size(),
                extents.stream()
                        .filter(extent -> Alerts.isDegraded(space, extent))
                        .count(),
                extents.stream()
                        .filter(extent -> extent.state() == ExtentState.LOST)
                        .count(),
                extents.stream()
                        .flatMap(extent -> extent.homes().stream())
                        .map(ExtentHome::node)
                        .distinct()
                        .sorted()
                        .toList(),
                space.isThin()
                        ? OptionalLong.of(new SpaceExtents(space, 0, extents).allocatedBytes())
                        : OptionalLong.empty(),
                List.copyOf(state.attachments()
                        .subMap(attached, Keys.id(space.id()) + AFTER_SLASH)
                        .values()));
    }

    private static Totals totals(State state, List<Alert> alerts) {
        Map<NodeStatus, Long> nodes = new EnumMap<>(NodeStatus.class);
        long pool = 0;
        long used = 0;
        for (Node node : state.nodes().values()) {
            nodes.merge(node.status(), 1L, Long::sum);
            if (node.status() != NodeStatus.FAILED) {
                pool += node.pool().exportedBytes();
                used += state.usedBytes(node);
            }
        }
        long critical = alerts.stream()
                .filter(alert -> alert.severity() == Severity.CRITICAL)
                .count();
        return new Totals(
                nodes,
                state.endpoints().size(),
                state.spaces().size(),
                critical,
                alerts.size() - critical,
                pool,
                used,
                links(state),
                extents(state),
                OptionalLong.of(Promises.bytes(state)));
    }

    private static LinkCounts links(State state) {
        Map<TransportKind, Long> complete = new EnumMap<>(TransportKind.class);
        long unanswered = 0;
        for (Endpoint one : state.endpoints().values()) {
            Optional<Endpoint> other = Optional.ofNullable(state.endpoints().get(one.peer() + "/" + one.node()));
            if (other.isEmpty()) {
                unanswered++;
            } else if (one.node().compareTo(one.peer()) < 0) {
                transports(one, other).stream().findFirst().ifPresent(kind -> complete.merge(kind, 1L, Long::sum));
            }
        }
        return new LinkCounts(complete, unanswered);
    }

    private static ExtentCounts extents(State state) {
        long all = 0;
        long degraded = 0;
        long lost = 0;
        for (Space space : state.spaces().values()) {
            for (Extent extent : state.extentsOf(space)) {
                all++;
                degraded += Alerts.isDegraded(space, extent) ? 1 : 0;
                lost += extent.state() == ExtentState.LOST ? 1 : 0;
            }
        }
        return new ExtentCounts(all, degraded, lost);
    }

    private static List<Link> pairs(List<Endpoint> endpoints) {
        Map<String, Endpoint> byKey = new TreeMap<>();
        endpoints.forEach(endpoint -> byKey.put(endpoint.node() + "/" + endpoint.peer(), endpoint));
        List<Link> pairs = new ArrayList<>();
        byKey.forEach((key, one) -> {
            Optional<Endpoint> other = Optional.ofNullable(byKey.get(one.peer() + "/" + one.node()));
            boolean first = one.node().compareTo(one.peer()) < 0;
            if (first) {
                pairs.add(new Link(one.node(), one.peer(), true, other.isPresent(), transports(one, other)));
            } else if (other.isEmpty()) {
                pairs.add(new Link(one.peer(), one.node(), false, true, transports(one, other)));
            }
        });
        return pairs;
    }

    private static List<TransportKind> transports(Endpoint one, Optional<Endpoint> other) {
        List<TransportKind> offered = kinds(one);
        return other.map(endpoint ->
                        offered.stream().filter(kinds(endpoint)::contains).toList())
                .orElse(offered);
    }

    private static List<TransportKind> kinds(Endpoint endpoint) {
        return endpoint.entries().stream().map(QpEntry::transport).distinct().toList();
    }
}
