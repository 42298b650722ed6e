package io.farpage.coordinator.api;

import io.farpage.config.Quantities;
import io.farpage.coordinator.access.Issuer;
import io.farpage.coordinator.access.NodeKeys;
import io.farpage.coordinator.backup.Rows;
import io.farpage.coordinator.cluster.Allocations;
import io.farpage.coordinator.cluster.Attaching;
import io.farpage.coordinator.cluster.Attachments;
import io.farpage.coordinator.cluster.Copies;
import io.farpage.coordinator.cluster.Drains;
import io.farpage.coordinator.cluster.Drops;
import io.farpage.coordinator.cluster.EventFilter;
import io.farpage.coordinator.cluster.EventLog;
import io.farpage.coordinator.cluster.Grants;
import io.farpage.coordinator.cluster.Heat;
import io.farpage.coordinator.cluster.Hosting;
import io.farpage.coordinator.cluster.Ledger;
import io.farpage.coordinator.cluster.Links;
import io.farpage.coordinator.cluster.Membership;
import io.farpage.coordinator.cluster.Repairs;
import io.farpage.coordinator.cluster.Snapshots;
import io.farpage.coordinator.cluster.SpaceRepairs;
import io.farpage.coordinator.cluster.Spaces;
import io.farpage.coordinator.cluster.Time;
import io.farpage.coordinator.figures.Figures;
import io.farpage.coordinator.model.EventBatch;
import io.farpage.coordinator.model.operation.ClusterOperations;
import io.farpage.coordinator.model.operation.ViewOperations;
import io.farpage.rest.AccessControl;
import io.farpage.rest.ProblemException;
import io.farpage.rest.Requests;
import io.farpage.rest.Route;
import io.javalin.http.Context;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** All routes of the coordinator. */
public final class Api {

    private static final Duration LONGEST_WAIT = Duration.ofSeconds(60);

    private final Membership membership;
    private final Links links;
    private final Spaces spaces;
    private final Snapshots snapshots;
    private final Attachments attachments;
    private final Drops drops;
    private final Repairs repairs;
    private final Copies copies;
    private final Drains drains;
    private final SpaceRepairs spaceRepairs;
    private final Heat heat;
    private final EventLog events;
    private final Grants grants;
    private final Hosting hosting;
    private final Figures figures;
    private final Overviews overviews;
    private final CertificateRoutes certificates;
    private final NodeKeys keys;
    private final AccessControl control;
    private final Ledger ledger;

    /** The spaces, how warm their pages are, and what brings them back to as many homes as they were made with. */
    public record Memory(Spaces spaces, Heat heat, Repairs repairs) {}

    /** Where certificates come from, which keys nodes have, and what decides on requests. */
    public record Doors(Issuer issuer, NodeKeys keys, AccessControl control) {}

    /** Answers from these. */
    public Api(Ledger ledger, Time time, Membership membership, Memory memory, Doors doors) {
        this.ledger = ledger;
        this.membership = membership;
        this.links = new Links(ledger);
        this.spaces = memory.spaces();
        this.snapshots = new Snapshots(ledger, time);
        this.attachments = new Attachments(ledger, time);
        this.drops = new Drops(ledger);
        this.repairs = memory.repairs();
        this.copies = new Copies(time);
        this.drains = new Drains(ledger, copies);
        this.spaceRepairs = new SpaceRepairs(ledger, copies);
        this.heat = memory.heat();
        this.overviews = new Overviews(ledger, membership);
        this.certificates = new CertificateRoutes(doors.issuer(), membership::isExpected, doors.control());
        this.keys = doors.keys();
        this.control = doors.control();
        this.events = ledger.events();
        this.grants = new Grants(ledger);
        this.hosting = new Hosting(ledger, grants);
        this.figures = new Figures(time);
    }

    /** The routes, for {@link io.farpage.rest.RestServer}. */
    public List<Route> routes() {
        List<Route> routes = new ArrayList<>();
        routes.addAll(cluster());
        routes.addAll(new NodeRoutes(membership, links, hosting, new Attaching(ledger, grants), keys).routes());
        routes.addAll(new GrantRoutes(grants).routes());
        routes.addAll(new FigureRoutes(ledger, membership, links, spaces, heat, figures).routes());
        routes.addAll(new SpaceRoutes(spaces, snapshots, attachments, drops, heat, hosting, control).routes());
        routes.addAll(new RepairRoutes(new Allocations(ledger, grants), repairs, drains, spaces, hosting).routes());
        routes.addAll(new CopyRoutes(membership, links, copies, spaceRepairs).routes());
        routes.addAll(certificates.routes());
        routes.addAll(Dashboard.routes());
        return routes;
    }

    private List<Route> cluster() {
        return List.of(
                Route.answering(
                        ClusterOperations.CLUSTER,
                        ctx -> membership
                                .cluster()
                                .orElseThrow(() -> ProblemException.notFound("no cluster has been formed"))),
                Route.answering(
                        ClusterOperations.FORM, ctx -> membership.form(Requests.body(ctx, ClusterOperations.FORM))),
                new Route(ClusterOperations.DISSOLVE, ctx -> membership.dissolve()),
                Route.answering(ClusterOperations.BACKUP, ctx -> ledger.reading(Rows::of)),
                Route.answering(ClusterOperations.EVENTS, this::events),
                new Route(ViewOperations.OF_CLUSTER, overviews::answer),
                Route.answering(ViewOperations.OF_SPACES, ctx -> overviews.spaces(Overviews.filter(ctx))));
    }

    private EventBatch events(Context ctx) throws InterruptedException {
        long index =
                Requests.number("index", Requests.optionalQuery(ctx, "index").orElse("0"), 0, Long.MAX_VALUE);
        Duration wait =
                Requests.parameter("wait", Requests.optionalQuery(ctx, "wait").orElse("0s"), Quantities::duration);
        if (wait.compareTo(LONGEST_WAIT) > 0) {
            throw ProblemException.invalid("wait: %s is longer than 60s".formatted(Quantities.format(wait)));
        }
        return events.after(index, wait, filter(ctx));
    }

    private static EventFilter filter(Context ctx) {
        // An empty list is a list: of a node that follows no other.
        Optional<Set<String>> peers = Optional.ofNullable(ctx.queryParam("peers"))
                .map(text -> text.isEmpty() ? Set.of() : Set.copyOf(List.of(text.split(","))));
        try {
            return new EventFilter(Requests.optionalQuery(ctx, "node"), peers);
        } catch (IllegalArgumentException e) {
            throw ProblemException.invalid(String.valueOf(e.getMessage()));
        }
    }
}
