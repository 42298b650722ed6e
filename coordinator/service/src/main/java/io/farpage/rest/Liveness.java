package io.farpage.rest;

import java.util.Optional;
import java.util.function.Supplier;

/**
 * {@code GET /live}: whether the program must be started again. A coordinator that is rebuilt, that follows, whose
 * store cannot be written, or whose history is behind is alive: a start would not help, and a rebuild would begin anew.
 * {@code GET /health} tells of these.
 */
public final class Liveness {

    private static final String PATH = "/live";

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
        return Route.get(PATH, "Whether the program does not have to be started again", Live.class, ctx -> {
            Optional<String> reason = stalled.get();
            ctx.status(reason.isEmpty() ? 200 : 503).json(new Live(reason.isEmpty(), reason));
        });
    }
}
