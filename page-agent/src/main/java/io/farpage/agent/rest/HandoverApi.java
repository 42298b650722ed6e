package io.farpage.agent.rest;

import io.farpage.rest.Route;
import io.javalin.http.HandlerType;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/** The route by which an agent is asked to end in favour of its standby. */
public final class HandoverApi {
    /** Its path. */
    public static final String PATH = "/api/v1/handover";

    private final Supplier<HandoverStatus> handover;

    /** @param handover begins it, or throws a problem and changes nothing */
    public HandoverApi(Supplier<HandoverStatus> handover) {
        this.handover = handover;
    }

    /** Its routes. */
    public List<Route> routes() {
        return List.of(new Route(
                HandlerType.POST,
                PATH,
                "End in favour of the warm standby, which goes on with the pool and the guests",
                202,
                Optional.empty(),
                Optional.of(HandoverStatus.class),
                "application/json",
                List.of(),
                ctx -> ctx.json(handover.get())));
    }
}
