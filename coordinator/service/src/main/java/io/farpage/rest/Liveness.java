package io.farpage.rest;

import io.farpage.access.Access;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * {@code GET /live}: whether the program must be started again. A coordinator that is rebuilt, that follows, whose
 * store cannot be written, or whose history is behind is alive: a start would not help, and a rebuild would begin anew.
 * {@code GET /health} reports these states.
 */
public final class Liveness {

    /** The operation. */
    public static final Operation<Void, Live> LIVE = Operation.get("/live", Access.anyone(), Live.class)
            .summary("Whether the program does not have to be started again");

    private Liveness() {}

    /**
     * The answer.
     *
     * @param live whether the program does its work
     * @param reason why not
     */
    public record Live(boolean live, Optional<String> reason) {}

    /**
     * The route.
     *
     * @param stalled why the program does not do its work; empty while it does
     */
    public static Route route(Supplier<Optional<String>> stalled) {
        return Route.answering(LIVE, ctx -> {
            Optional<String> reason = stalled.get();
            ctx.status(reason.isEmpty() ? 200 : 503);
            return new Live(reason.isEmpty(), reason);
        });
    }
}
