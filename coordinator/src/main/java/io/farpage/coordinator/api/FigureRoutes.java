package io.farpage.coordinator.api;

import io.farpage.coordinator.cluster.Heat;
import io.farpage.coordinator.cluster.Keys;
import io.farpage.coordinator.cluster.Ledger;
import io.farpage.coordinator.cluster.Links;
import io.farpage.coordinator.cluster.Membership;
import io.farpage.coordinator.cluster.Spaces;
import io.farpage.coordinator.cluster.State;
import io.farpage.coordinator.figures.Figures;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.CoherentFigures;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.FiguresReport;
import io.farpage.coordinator.model.FiguresWanted;
import io.farpage.coordinator.model.GuestFigures;
import io.farpage.coordinator.model.NodeFigures;
import io.farpage.coordinator.model.NodeFilter;
import io.farpage.coordinator.model.PageMap;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.operation.NodeOperations;
import io.farpage.coordinator.model.operation.ViewOperations;
import io.farpage.rest.ProblemException;
import io.farpage.rest.Requests;
import io.farpage.rest.Route;
import io.javalin.http.Context;
import java.io.IOException;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/** What agents report of their guests, and what is shown of it. */
final class FigureRoutes {
    private final Ledger ledger;
    private final Membership membership;
    private final Links links;
    private final Spaces spaces;
    private final Heat heat;
    private final Figures figures;

    FigureRoutes(Ledger ledger, Membership membership, Links links, Spaces spaces, Heat heat, Figures figures) {
        this.ledger = ledger;
        this.membership = membership;
        this.links = links;
        this.spaces = spaces;
        this.heat = heat;
        this.figures = figures;
    }

    List<Route> routes() {
        return List.of(
                Route.answering(NodeOperations.FIGURES, this::report),
                Route.answering(ViewOperations.FIGURES_OF_NODES, ctx -> nodes(Overviews.filter(ctx), since(ctx))),
                Route.answering(ViewOperations.FIGURES_OF_GUESTS, ctx -> guests(Overviews.filter(ctx), since(ctx))),
                Route.answering(ViewOperations.FIGURES_OF_GUEST, ctx -> guest(ctx.pathParam("id"), since(ctx))));
    }

    private static long since(Context ctx) {
        return Requests.number("since", Requests.optionalQuery(ctx, "since").orElse("0"), 0, Long.MAX_VALUE);
    }

    /**
     * A guest of a space that the node is not attached to is left out, and so is a coherent space whose requests it
     * does not answer: the report is a moment old, or not the node's.
     */
    private FiguresWanted report(Context ctx) throws IOException {
        String node = ctx.pathParam("id");
        links.requireKnown(node);
        FiguresReport report = Requests.body(ctx, NodeOperations.FIGURES);
        membership.require(node, report.incarnation());
        State state = ledger.state();
        FiguresReport own = report.of(
                guest -> state.attachments().containsKey(Keys.id(guest.space()) + "/" + node),
                directory -> space(state, directory.space())
                        .filter(space ->
                                space.isCoherent() && homes(state, space).anyMatch(node::equals))
                        .isPresent());
        List<FiguresReport.Guest> changed = own.guests().stream()
                .filter(guest -> guest.parkedSince().isPresent() != isParked(guest.space()))
                .toList();
        FiguresWanted wanted = figures.report(node, own);
        changed.forEach(guest ->
                spaces.guestParked(guest.space(), node, guest.parkedSince().isPresent()));
        return wanted;
    }

    private boolean isParked(long space) {
        return figures.guest(space)
                .filter(guest -> guest.parkedSince().isPresent())
                .isPresent();
    }

    private NodeFigures nodes(NodeFilter filter, long since) {
        Set<String> reporting = figures.nodes();
        return new NodeFigures(
                figures.now(),
                figures.since(),
                membership.nodes().stream()
                        .filter(node -> reporting.contains(node.id()) && filter.includes(node))
                        .limit(filter.limit())
                        .map(node -> new NodeFigures.OfNode(node.id(), figures.ofNode(node.id(), since)))
                        .toList());
    }

    private GuestFigures guests(NodeFilter names, long since) {
        State state = ledger.state();
        List<GuestFigures.OfGuest> guests = named(
                        names, figures.spaces().stream().flatMap(id -> space(state, id).stream()))
                .flatMap(space -> guest(space, since, Optional.empty(), Optional.empty()).stream())
                .toList();
        Stream<Space> coherent = named(names, state.spaces().values().stream().filter(Space::isCoherent));
        return figures(guests, coherent.map(space -> coherent(state, space)).toList());
    }

    private static Stream<Space> named(NodeFilter names, Stream<Space> spaces) {
        return spaces.filter(space -> space.name().compareTo(names.after()) > 0
                        && space.name().startsWith(names.prefix()))
                .sorted(Comparator.comparing(Space::name))
                .limit(names.limit());
    }

    private static Optional<Space> space(State state, long id) {
        return Optional.ofNullable(state.spaces().get(Keys.id(id)));
    }

    private CoherentFigures coherent(State state, Space space) {
        return new CoherentFigures(
                space.id(),
                space.name(),
                Keys.under(state.attachments(), Keys.id(space.id())).values().stream()
                        .filter(attachment -> attachment.mode() == AttachMode.MEMBER)
                        .map(Attachment::node)
                        .toList(),
                homes(state, space)
                        .map(node -> new CoherentFigures.OfHome(node, figures.directory(node, space.id())))
                        .toList());
    }

    /** The nodes that answer requests for the pages of a coherent space: the first home of each extent. */
    private static Stream<String> homes(State state, Space space) {
        return state.extentsOf(space).stream()
                .filter(extent -> extent.state() == ExtentState.OK)
                .map(Extent::primary)
                .map(ExtentHome::node)
                .distinct()
                .sorted();
    }

    private GuestFigures guest(String idOrName, long since) {
        State state = ledger.state();
        Space space = state.space(idOrName)
                .orElseThrow(() -> ProblemException.notFound("there is no space '%s'".formatted(idOrName)));
        Optional<PageMap> map = figures.map(space.id());
        return figures(
                guest(space, since, map, Optional.of(heat(space, map))).stream().toList(),
                space.isCoherent() ? List.of(coherent(state, space)) : List.of());
    }

    private Optional<GuestFigures.OfGuest> guest(
            Space space, long since, Optional<PageMap> map, Optional<List<Long>> warm) {
        return figures.guest(space.id())
                .map(guest -> new GuestFigures.OfGuest(
                        space.id(),
                        space.name(),
                        guest.node(),
                        guest.pages(),
                        figures.ofGuest(space.id(), since),
                        guest.parkedSince(),
                        map,
                        warm));
    }

    private GuestFigures figures(List<GuestFigures.OfGuest> guests, List<CoherentFigures> coherent) {
        return new GuestFigures(figures.now(), figures.since(), guests, coherent);
    }

    private List<Long> heat(Space space, Optional<PageMap> map) {
        long pages = space.pages();
        long parts = map.map(PageMap::parts).orElse((int) Math.min(PageMap.MAX_PARTS, pages));
        return LongStream.range(0, parts)
                .map(part -> {
                    long first = firstOf(part, parts, pages);
                    return heat.of(space.id(), first, firstOf(part + 1, parts, pages) - first);
                })
                .boxed()
                .toList();
    }

    private static long firstOf(long part, long parts, long pages) {
        return pages / parts * part + pages % parts * part / parts;
    }
}
