package io.farpage.agent.rest;

import io.farpage.agent.control.guest.GuestException;
import io.farpage.agent.control.guest.GuestRequest;
import io.farpage.agent.control.guest.GuestStatus;
import io.farpage.agent.control.guest.Guests;
import io.farpage.agent.control.guest.LocalLimit;
import io.farpage.agent.control.guest.NewSpace;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.model.Space;
import io.farpage.rest.ProblemException;
import io.farpage.rest.Requests;
import io.farpage.rest.Route;
import io.javalin.http.Context;
import java.io.IOException;
import java.util.List;

/** The routes for guests. */
public final class GuestApi {
    private static final String SPACES = "/api/v1/spaces";
    private static final String GUEST = SPACES + "/{space}/guest";

    private static final int MAX_BODY = 64 << 10;

    private final Guests guests;

    public GuestApi(Guests guests) {
        this.guests = guests;
    }

    /** All of them. */
    public List<Route> routes() {
        return List.of(
                Route.get(
                        SPACES,
                        "The spaces that are the memory of guests on this node: pages, faults, latencies, evictions",
                        GuestStatus[].class,
                        ctx -> ctx.json(guests.status())),
                Route.post(
                        SPACES,
                        "Create a space, encrypted with a key of this agent or not",
                        NewSpace.class,
                        Space.class,
                        201,
                        this::create),
                Route.get(SPACES + "/{space}", "One of these spaces", GuestStatus.class, this::show),
                Route.get(
                        SPACES + "/{space}/description",
                        "A space as the coordinator has it, whether it has a guest or not",
                        Space.class,
                        this::describe),
                Route.put(
                        GUEST,
                        "Prepare to serve a guest, whose VMM hands its memory over on a Unix socket",
                        GuestRequest.class,
                        GuestStatus.class,
                        this::attach),
                Route.delete(GUEST, "Remove a guest whose VMM does not run", this::detach),
                Route.put(
                        GUEST + "/local",
                        "Change how much of a guest's memory may be resident",
                        LocalLimit.class,
                        GuestStatus.class,
                        this::resize));
    }

    private static String space(Context ctx) {
        return ctx.pathParam("space");
    }

    private void show(Context ctx) {
        try {
            ctx.json(guests.status(space(ctx)));
        } catch (GuestException e) {
            throw problem(e);
        }
    }

    private void create(Context ctx) throws IOException {
        NewSpace space = Requests.body(ctx, NewSpace.class, MAX_BODY);
        try {
            ctx.json(guests.create(space));
        } catch (GuestException e) {
            throw problem(e);
        } catch (CoordinatorRefusedException e) {
            throw AgentApi.refused(e);
        } catch (CoordinatorException e) {
            throw new ProblemException(503, "coordinator-away", String.valueOf(e.getMessage()));
        }
    }

    private void describe(Context ctx) {
        try {
            ctx.json(guests.describe(space(ctx)));
        } catch (GuestException e) {
            throw problem(e);
        } catch (CoordinatorException e) {
            throw new ProblemException(503, "coordinator-away", String.valueOf(e.getMessage()));
        }
    }

    private void attach(Context ctx) throws IOException {
        GuestRequest request = Requests.body(ctx, GuestRequest.class, MAX_BODY);
        try {
            ctx.json(guests.attach(space(ctx), request));
        } catch (GuestException e) {
            throw problem(e);
        } catch (CoordinatorRefusedException e) {
            throw AgentApi.refused(e);
        } catch (CoordinatorException e) {
            throw new ProblemException(503, "coordinator-away", String.valueOf(e.getMessage()));
        }
    }

    private void detach(Context ctx) {
        try {
            guests.detach(space(ctx));
            ctx.status(204);
        } catch (GuestException e) {
            throw problem(e);
        }
    }

    private void resize(Context ctx) throws IOException {
        LocalLimit limit = Requests.body(ctx, LocalLimit.class, MAX_BODY);
        try {
            guests.resize(space(ctx), limit.localBytes());
            ctx.json(guests.status(space(ctx)));
        } catch (GuestException e) {
            throw problem(e);
        }
    }

    private static ProblemException problem(GuestException e) {
        String message = String.valueOf(e.getMessage());
        return switch (e.obstacle()) {
            case NOT_FOUND -> ProblemException.notFound(message);
            case INVALID -> ProblemException.invalid(message);
            case CONFLICT -> ProblemException.conflict("guest", message);
            case FORBIDDEN -> new ProblemException(403, "forbidden", message);
        };
    }
}
