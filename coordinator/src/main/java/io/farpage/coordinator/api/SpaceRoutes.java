package io.farpage.coordinator.api;

import io.farpage.coordinator.cluster.Attachments;
import io.farpage.coordinator.cluster.Heat;
import io.farpage.coordinator.cluster.Hosting;
import io.farpage.coordinator.cluster.Spaces;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.Encryption;
import io.farpage.coordinator.model.HeatReport;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.PageInfo;
import io.farpage.coordinator.model.RemoteAddress;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.coordinator.model.Torn;
import io.farpage.rest.ProblemException;
import io.farpage.rest.Requests;
import io.farpage.rest.Route;
import io.javalin.http.Context;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** What is under {@code /spaces}. */
final class SpaceRoutes {

    private static final String SPACES = Api.PREFIX + "/spaces";
    private static final String SPACE = SPACES + "/{id}";
    private static final String ATTACHMENT = SPACE + "/attachments/{node}";

    /** Longer than any of these is with all it may hold. */
    private static final int SHORT_BODY = 64 << 10;

    private final Spaces spaces;
    private final Attachments attachments;
    private final Heat heat;
    private final Hosting hosting;

    SpaceRoutes(Spaces spaces, Attachments attachments, Heat heat, Hosting hosting) {
        this.spaces = spaces;
        this.attachments = attachments;
        this.heat = heat;
        this.hosting = hosting;
    }

    List<Route> routes() {
        return List.of(
                Route.get(SPACES, "All spaces", Space[].class, ctx -> ctx.json(spaces.all())),
                Route.post(
                        SPACES,
                        "Make a space and allocate all its extents, or nothing",
                        SpaceRequest.class,
                        Space.class,
                        201,
                        this::create),
                Route.get(SPACE, "A space by id or name", Space.class, ctx -> ctx.json(spaces.require(id(ctx)))),
                Route.delete(
                                SPACE,
                                "Delete a space once no node is attached to it; its frames are free when its homes have zeroed it",
                                ctx -> spaces.delete(id(ctx), force(ctx)))
                        .with(new Route.QueryParameter(
                                "force",
                                false,
                                "true: delete it even under a guest that runs, which loses its memory")),
                Route.get(
                        SPACE + "/attachments",
                        "The nodes that work with a space",
                        Attachment[].class,
                        ctx -> ctx.json(attachments.of(id(ctx)))),
                Route.put(ATTACHMENT, "Attach a node to a space", AttachRequest.class, Attachment.class, this::attach),
                Route.delete(
                                ATTACHMENT,
                                "Detach a node from a space",
                                ctx -> attachments.detach(
                                        id(ctx), ctx.pathParam("node"), incarnation(ctx), torn(ctx), seal(ctx)))
                        .with(new Route.QueryParameter("incarnation", true, "of the node, 16 hex digits"))
                        .with(new Route.QueryParameter(
                                "torn", false, "why not all pages are at their homes: marks the space as torn"))
                        .with(
                                new Route.QueryParameter(
                                        "seal",
                                        false,
                                        "of an encrypted space: the mark of the file that the agent has left the tags in, 32 hex digits")),
                Route.get(
                        SPACE + "/extents",
                        "Where the pages of a space live",
                        SpaceExtents.class,
                        ctx -> ctx.json(spaces.extents(id(ctx)))),
                Route.get(
                        SPACE + "/pages/{gpa}",
                        "Where the page is that has a guest-physical address, 0x and hex digits or decimal",
                        PageInfo.class,
                        ctx -> ctx.json(spaces.page(id(ctx), gpa(ctx.pathParam("gpa"))))),
                Route.post(SPACE + "/heat", "Report how often pages were touched", HeatReport.class, ctx -> {
                    Space space = spaces.require(id(ctx));
                    HeatReport report = Requests.body(ctx, HeatReport.class);
                    checkWithin(space, report);
                    heat.report(space.id(), report);
                }));
    }

    private void create(Context ctx) throws IOException {
        Space space = spaces.create(Requests.body(ctx, SpaceRequest.class, SHORT_BODY));
        hosting.created(space);
        ctx.json(space);
    }

    private void attach(Context ctx) throws IOException, InterruptedException {
        Space space = spaces.require(id(ctx));
        AttachRequest request = Requests.body(ctx, AttachRequest.class, SHORT_BODY);
        hosting.awaitKnown(space);
        ctx.json(attachments.attach(id(ctx), ctx.pathParam("node"), request));
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

    private static boolean force(Context ctx) {
        String text = Requests.optionalQuery(ctx, "force").orElse("false");
        return switch (text) {
            case "true" -> true;
            case "false" -> false;
            default -> throw ProblemException.invalid("force: '%s' is neither true nor false".formatted(text));
        };
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

    private static String id(Context ctx) {
        return ctx.pathParam("id");
    }
}
