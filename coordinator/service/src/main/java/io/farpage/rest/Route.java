package io.farpage.rest;

import io.javalin.http.Context;
import io.javalin.http.Handler;

/**
 * An operation of a service and what carries it out.
 *
 * @param handler writes the answer
 */
public record Route(Operation<?, ?> operation, Handler handler) {

    /**
     * What an operation answers.
     *
     * @param <A> type of the answer's JSON
     */
    @FunctionalInterface
    public interface Answer<A> {
        /** Carries a request out. */
        A to(Context ctx) throws Exception;
    }

    /** A route that answers the JSON that the operation declares. */
    public static <A> Route answering(Operation<?, A> operation, Answer<? extends A> answer) {
        return new Route(operation, ctx -> ctx.json(answer.to(ctx)));
    }
}
