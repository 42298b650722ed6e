package io.farpage.coordinator.api;

import io.farpage.access.Identity;
import io.farpage.coordinator.cluster.Attachments;
import io.farpage.coordinator.cluster.Drops;
import io.farpage.coordinator.cluster.Heat;
import io.farpage.coordinator.cluster.Hosting;
import io.farpage.coordinator.cluster.NodesTag;
import io.farpage.coordinator.cluster.Snapshots;
import io.farpage.coordinator.cluster.Spaces;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.CloneRequest;
import io.farpage.coordinator.model.Detachment;
import io.farpage.coordinator.model.DropRequest;
import io.farpage.coordinator.model.Encryption;
import io.farpage.coordinator.model.HeatReport;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.NewAttachment;
import io.farpage.coordinator.model.Presence;
import io.farpage.coordinator.model.RemoteAddress;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.coordinator.model.SpaceNodes;
import io.farpage.coordinator.model.SpaceReplicas;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.coordinator.model.Torn;
import io.farpage.coordinator.model.operation.SpaceOperations;
import io.farpage.rest.AccessControl;
import io.farpage.rest.Operation;
import io.farpage.rest.ProblemException;
import io.farpage.rest.RequestAudit;
import io.farpage.rest.Requests;
import io.farpage.rest.Route;
import io.javalin.http.Context;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What is under {@code /spaces}. */
final class SpaceRoutes {

    /** Longer than any of these is with all it may hold. */
    private static final int SHORT_BODY = 64 << 10;

    /** The longest list of nodes, with the longest ids, fits. */
    private static final int NODES_BODY = 128 << 10;

    private static final int NO_ROOM = 507;
    private static final int FORBIDDEN = 403;
    private static final String ETAG = "ETag";
    private static final String KEY = Operation.IDEMPOTENCY_KEY;
    private static final Pattern KEY_FORM = Pattern.compile("\"([a-zA-Z0-9._:-]{1,64})\"");

    private final Spaces spaces;
    private final Attachments attachments;
    private final Heat heat;
    private final Hosting hosting;
    private final AccessControl control;
    private final Drops drops;
    private final Snapshots snapshots;

    SpaceRoutes(
            Spaces spaces,
            Snapshots snapshots,
            Attachments attachments,
            Drops drops,
            Heat heat,
            Hosting hosting,
            AccessControl control) {
        this.snapshots = snapshots;
        this.drops = drops;
        this.spaces = spaces;
        this.attachments = attachments;
        this.heat = heat;
        this.hosting = hosting;
        this.control = control;
    }

    List<Route> routes() {
        return List.of(
                Route.answering(SpaceOperations.LIST, ctx -> spaces.all()),
                Route.answering(SpaceOperations.CREATE, this::create),
                Route.answering(SpaceOperations.MAKE_SNAPSHOT, ctx -> snapshots.make(id(ctx))),
                Route.answering(SpaceOperations.MAKE_CLONE, this::makeClone),
                Route.answering(SpaceOperations.ATTACH_CLONE, this::attachClone),
                Route.answering(SpaceOperations.SHOW, ctx -> spaces.require(id(ctx))),
                new Route(SpaceOperations.DELETE, this::delete),
                Route.answering(SpaceOperations.ALLOWED, this::allowed),
                Route.answering(SpaceOperations.ALLOW, this::allow),
                Route.answering(SpaceOperations.REPLICATE, this::replicate),
                Route.answering(SpaceOperations.ATTACHED, ctx -> attachments.of(id(ctx))),
                Route.answering(SpaceOperations.ATTACH, this::attach),
                new Route(SpaceOperations.DETACH, this::detach),
                Route.answering(SpaceOperations.DROP, this::drop),
                Route.answering(SpaceOperations.ACKNOWLEDGE_DROPS, this::acknowledgeDrops),
                Route.answering(SpaceOperations.MAKE_SNAPSHOT_OF_GUEST, this::makeSnapshotOfGuest),
                Route.answering(SpaceOperations.EXTENTS, ctx -> spaces.extents(id(ctx))),
                Route.answering(SpaceOperations.PAGE, ctx -> spaces.page(id(ctx), gpa(ctx.pathParam("gpa")))),
                new Route(SpaceOperations.HEAT, this::heat));
    }

    private Space create(Context ctx) throws IOException, InterruptedException {
        SpaceRequest request = Requests.body(ctx, SpaceOperations.CREATE, NODES_BODY);
        Space space = create(request, Requests.flag(ctx, "presence"), key(ctx));
        hosting.created(space);
        RequestAudit.note(ctx, "space", space.name());
        RequestAudit.note(ctx, "id", space.id());
        return space;
    }

    /** The room of a space that was deleted just before is free once its homes have zeroed it. */
    private Space create(SpaceRequest request, boolean presence, Optional<String> key) throws InterruptedException {
        try {
            return spaces.create(request, presence, key);
        } catch (ProblemException e) {
            if (e.status() != NO_ROOM || !hosting.awaitZeroed()) {
                throw e;
            }
            return spaces.create(request, presence, key);
        }
    }

    private Space makeClone(Context ctx) throws IOException {
        Space made = snapshots.makeClone(id(ctx), Requests.body(ctx, SpaceOperations.MAKE_CLONE, SHORT_BODY), key(ctx));
        RequestAudit.note(ctx, "space", made.name());
        RequestAudit.note(ctx, "id", made.id());
        return made;
    }

    private NewAttachment attachClone(Context ctx) throws IOException {
        AttachRequest request = Requests.body(ctx, SpaceOperations.ATTACH_CLONE, SHORT_BODY);
        String name = ctx.pathParam("clone");
        CloneRequest clone = Requests.parameter("clone", name, CloneRequest::new);
        RequestAudit.note(ctx, "space", name);
        Attachment made =
                notingRefusal(ctx, () -> attachments.attachClone(id(ctx), clone, ctx.pathParam("node"), request));
        RequestAudit.note(ctx, "id", made.space());
        return NewAttachment.of(made, Optional.of(spaces.extents(Long.toString(made.space()))));
    }

    private Space makeSnapshotOfGuest(Context ctx) throws IOException {
        Space made = snapshots.makeOfGuest(
                id(ctx), ctx.pathParam("node"), Requests.body(ctx, SpaceOperations.MAKE_SNAPSHOT_OF_GUEST, SHORT_BODY));
        hosting.created(made);
        RequestAudit.note(ctx, "snapshot", made.name());
        RequestAudit.note(ctx, "id", made.id());
        return made;
    }

    private void delete(Context ctx) {
        boolean force = Requests.flag(ctx, "force");
        RequestAudit.note(ctx, "force", force);
        spaces.delete(id(ctx), force);
    }

    private SpaceNodes allowed(Context ctx) {
        Space space = spaces.require(id(ctx));
        ctx.header(ETAG, NodesTag.of(space));
        return new SpaceNodes(space.nodes());
    }

    private Space allow(Context ctx) throws IOException {
        SpaceNodes request = Requests.body(ctx, SpaceOperations.ALLOW, NODES_BODY);
        RequestAudit.note(
                ctx,
                "nodes",
                request.nodes().map(nodes -> String.join(",", nodes)).orElse("all"));
        Space space = spaces.allow(id(ctx), request, Optional.ofNullable(ctx.header("If-Match")));
        ctx.header(ETAG, NodesTag.of(space));
        return space;
    }

    private Space replicate(Context ctx) throws IOException {
        SpaceReplicas request = Requests.body(ctx, SpaceOperations.REPLICATE, SHORT_BODY);
        RequestAudit.note(ctx, "replicas", request.replicas());
        return spaces.replicate(id(ctx), request);
    }

    private NewAttachment attach(Context ctx) throws IOException, InterruptedException {
        Space space = spaces.require(id(ctx));
        AttachRequest request = Requests.body(ctx, SpaceOperations.ATTACH, SHORT_BODY);
        boolean isRead = Requests.flag(ctx, "extents");
        RequestAudit.note(ctx, "mode", request.mode().toString());
        RequestAudit.note(ctx, "force", request.force().orElse(false));
        RequestAudit.note(ctx, "takeover", request.takeover().orElse(false));
        request.adopts().ifPresent(earlier -> RequestAudit.note(ctx, "adopts", earlier.toString()));
        hosting.awaitKnown(space);
        Attachment made = notingRefusal(ctx, () -> attachments.attach(id(ctx), ctx.pathParam("node"), request));
        return NewAttachment.of(made, isRead ? Optional.of(spaces.extents(id(ctx))) : Optional.empty());
    }

    /** A node that the list of a space does not have is refused as one that lacks a right. */
    private Attachment notingRefusal(Context ctx, Supplier<Attachment> attaching) {
        try {
            return attaching.get();
        } catch (ProblemException e) {
            if (e.status() == FORBIDDEN) {
                control.refuse(ctx, AccessControl.identity(ctx), e);
            }
            throw e;
        }
    }

    private SpaceExtents drop(Context ctx) throws IOException {
        DropRequest request = Requests.body(ctx, SpaceOperations.DROP);
        RequestAudit.note(ctx, "home", request.home());
        RequestAudit.note(ctx, "extents", request.extents().size());
        drops.drop(id(ctx), ctx.pathParam("node"), request);
        return spaces.extents(id(ctx));
    }

    private SpaceExtents acknowledgeDrops(Context ctx) throws IOException {
        drops.acknowledge(id(ctx), ctx.pathParam("node"), Requests.body(ctx, SpaceOperations.ACKNOWLEDGE_DROPS));
        return spaces.extents(id(ctx));
    }

    private void heat(Context ctx) throws IOException {
        Space space = spaces.require(id(ctx));
        if (AccessControl.identity(ctx) instanceof Identity.Node(String node) && !attachments.concerns(space, node)) {
            control.refuse(
                    ctx,
                    new Identity.Node(node),
                    new ProblemException(
                            FORBIDDEN,
                            "forbidden",
                            "node '%s' is neither attached to space '%s' nor a home of it, and reports no heat of it"
                                    .formatted(node, space.name())));
        }
        HeatReport report = Requests.body(ctx, SpaceOperations.HEAT);
        checkWithin(space, report);
        heat.report(space.id(), report);
    }

    /** When this has answered, the homes have revoked the node's access, unless one of them is away. */
    private void detach(Context ctx) throws InterruptedException {
        String node = ctx.pathParam("node");
        Set<String> homes = hosting.homesBeside(id(ctx), node);
        attachments.detach(
                id(ctx),
                node,
                incarnation(ctx),
                new Detachment(torn(ctx), seal(ctx), presence(ctx), Requests.flag(ctx, "loaded")));
        hosting.awaitAcknowledged(homes);
    }

    private static void checkWithin(Space space, HeatReport report) {
        for (HeatReport.Range range : report.ranges()) {
            if (range.firstPage() + range.count() > space.pages()) {
                throw ProblemException.invalid("ranges: %d pages from %d run past the %d pages of space '%s'"
                        .formatted(range.count(), range.firstPage(), space.pages(), space.name()));
            }
        }
    }

    private static long gpa(String text) {
        if (text.toLowerCase(Locale.ROOT).startsWith("0x")) {
            return Requests.parameter(
                    "gpa", text, hex -> RemoteAddress.parse(hex).value());
        }
        return Requests.number("gpa", text, 0, Long.MAX_VALUE);
    }

    private static Incarnation incarnation(Context ctx) {
        return Requests.parameter("incarnation", Requests.query(ctx, "incarnation"), Incarnation::parse);
    }

    private static Optional<String> torn(Context ctx) {
        return Requests.optionalQuery(ctx, "torn").map(reason -> Requests.parameter("torn", reason, Torn::checkReason));
    }

    private static Optional<String> seal(Context ctx) {
        return Requests.optionalQuery(ctx, "seal")
                .map(mark -> Requests.parameter("seal", mark, Encryption.Sealed::checkMark));
    }

    private static Optional<String> presence(Context ctx) {
        return Requests.optionalQuery(ctx, "presence")
                .map(mark -> Requests.parameter("presence", mark, Presence::checkMark));
    }

    private static Optional<String> key(Context ctx) {
        return Optional.ofNullable(ctx.header(KEY)).map(text -> {
            Matcher matcher = KEY_FORM.matcher(text);
            if (!matcher.matches()) {
                throw ProblemException.invalid(
                        KEY + ": it must be 1 to 64 of a-z, A-Z, 0-9, '.', '_', ':' and '-', in double quotes");
            }
            return matcher.group(1);
        });
    }

    private static String id(Context ctx) {
        return ctx.pathParam("id");
    }
}
