package io.farpage.agent.rest;

import io.farpage.agent.control.guest.GuestException;
import io.farpage.agent.control.guest.GuestStatus;
import io.farpage.agent.control.guest.Guests;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.model.Space;
import io.farpage.rest.Operation;
import io.farpage.rest.ProblemException;
import io.farpage.rest.Requests;
import io.farpage.rest.Route;
import io.javalin.http.Context;
import java.io.IOException;
import java.util.List;

/** The routes for guests. */
public final class GuestApi {
    private static final int MAX_BODY = 64 << 10;

    private final Guests guests;

    public GuestApi(Guests guests) {
        this.guests = guests;
    }

    /** All of them. */
    public List<Route> routes() {
        return List.of(
                Route.answering(GuestOperations.LIST, ctx -> guests.status()),
                route(
                        GuestOperations.CREATE_SPACE,
                        ctx -> guests.create(Requests.body(ctx, GuestOperations.CREATE_SPACE, MAX_BODY))),
                route(GuestOperations.SHOW, ctx -> guests.status(space(ctx))),
                route(GuestOperations.DESCRIBE_SPACE, this::describe),
                route(
                        GuestOperations.ATTACH,
                        ctx -> guests.attach(space(ctx), Requests.body(ctx, GuestOperations.ATTACH, MAX_BODY))),
                new Route(GuestOperations.DETACH, this::detach),
                route(GuestOperations.RESIZE, this::resize),
                route(
                        GuestOperations.PARK,
                        ctx -> guests.park(space(ctx), Requests.body(ctx, GuestOperations.PARK, MAX_BODY))),
                route(GuestOperations.UNPARK, this::unpark),
                route(
                        GuestOperations.PREPARE_SNAPSHOT,
                        ctx -> guests.prepareSnapshot(
                                space(ctx), Requests.body(ctx, GuestOperations.PREPARE_SNAPSHOT, MAX_BODY))),
                route(
                        GuestOperations.SNAPSHOT,
                        ctx -> guests.snapshot(space(ctx), Requests.body(ctx, GuestOperations.SNAPSHOT, MAX_BODY))),
                route(GuestOperations.SNAPSHOT_STATUS, ctx -> guests.snapshot(space(ctx))));
    }

    /** A route whose answer fails with what guests and the coordinator refuse. */
    private static <A> Route route(Operation<?, A> operation, Route.Answer<A> answer) {
        return Route.answering(operation, ctx -> {
            try {
                return answer.to(ctx);
            } catch (GuestException e) {
                throw problem(e);
            } catch (CoordinatorRefusedException e) {
                throw AgentApi.refused(e);
            } catch (CoordinatorException e) {
                throw away(e);
            }
        });
    }

    static ProblemException away(CoordinatorException e) {
        return new ProblemException(503, "coordinator-away", String.valueOf(e.getMessage()));
    }

    private static String space(Context ctx) {
        return ctx.pathParam("space");
    }

    private Space describe(Context ctx) throws GuestException {
        try {
            return guests.describe(space(ctx));
        } catch (CoordinatorException e) {
            throw away(e);
        }
    }

    private void detach(Context ctx) {
        try {
            guests.detach(space(ctx));
        } catch (GuestException e) {
            throw problem(e);
        }
    }

    private GuestStatus resize(Context ctx) throws IOException, GuestException {
        guests.resize(
                space(ctx), Requests.body(ctx, GuestOperations.RESIZE, MAX_BODY).localBytes());
        return guests.status(space(ctx));
    }

    private GuestStatus unpark(Context ctx) throws IOException, GuestException {
        guests.unpark(space(ctx), Requests.body(ctx, GuestOperations.UNPARK, MAX_BODY));
        return guests.status(space(ctx));
    }

    static ProblemException problem(GuestException e) {
        String message = String.valueOf(e.getMessage());
        return switch (e.obstacle()) {
            case NOT_FOUND -> ProblemException.notFound(message);
            case INVALID -> ProblemException.invalid(message);
            case CONFLICT -> ProblemException.conflict("guest", message);
            case FORBIDDEN -> new ProblemException(403, "forbidden", message);
        };
    }
}
