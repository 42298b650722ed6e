package io.farpage.rest;

import io.javalin.http.Handler;
import io.javalin.http.HandlerType;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * One operation of a service: what Javalin is to call and what the OpenAPI document says of it.
 *
 * @param method of the request
 * @param path with parameters in braces
 * @param summary one line
 * @param status of a success
 * @param body type of the request's JSON, if it has any
 * @param answer type of the answer's JSON, if it has any; an array type for a list
 * @param mediaType of the answer
 * @param parameters beside those in its path
 * @param handler what does it
 */
public record Route(
        HandlerType method,
        String path,
        String summary,
        int status,
        Optional<Class<?>> body,
        Optional<Class<?>> answer,
        String mediaType,
        List<Parameter> parameters,
        Handler handler) {

    /** Copies the parameters. */
    public Route {
        parameters = List.copyOf(parameters);
    }

    /** A GET that answers JSON. */
    public static Route get(String path, String summary, Class<?> answer, Handler handler) {
        return new Route(
                HandlerType.GET,
                path,
                summary,
                200,
                Optional.empty(),
                Optional.of(answer),
                "application/json",
                List.of(),
                handler);
    }

    /** A GET that answers something else. */
    public static Route getText(String path, String summary, String mediaType, Handler handler) {
        return new Route(
                HandlerType.GET, path, summary, 200, Optional.empty(), Optional.empty(), mediaType, List.of(), handler);
    }

    /** A PUT of JSON that answers JSON. */
    public static Route put(String path, String summary, Class<?> body, Class<?> answer, Handler handler) {
        return new Route(
                HandlerType.PUT,
                path,
                summary,
                200,
                Optional.of(body),
                Optional.of(answer),
                "application/json",
                List.of(),
                handler);
    }

    /** A POST of JSON that answers JSON. */
    public static Route post(String path, String summary, Class<?> body, Class<?> answer, int status, Handler handler) {
        return new Route(
                HandlerType.POST,
                path,
                summary,
                status,
                Optional.of(body),
                Optional.of(answer),
                "application/json",
                List.of(),
                handler);
    }

    /** A POST of JSON that answers with no content. */
    public static Route post(String path, String summary, Class<?> body, Handler handler) {
        return new Route(
                HandlerType.POST,
                path,
                summary,
                204,
                Optional.of(body),
                Optional.empty(),
                "application/json",
                List.of(),
                handler);
    }

    /** A DELETE that answers with no content. */
    public static Route delete(String path, String summary, Handler handler) {
        return new Route(
                HandlerType.DELETE,
                path,
                summary,
                204,
                Optional.empty(),
                Optional.empty(),
                "application/json",
                List.of(),
                handler);
    }

    /** The same with one more parameter. */
    public Route with(Parameter parameter) {
        List<Parameter> all = new ArrayList<>(parameters);
        all.add(parameter);
        return new Route(method, path, summary, status, body, answer, mediaType, all, handler);
    }

    /** A parameter that is not in the path. */
    public sealed interface Parameter {
        /** Its name. */
        String name();

        /** Whether the request must have it. */
        boolean required();

        /** What it means. */
        String doc();
    }

    /**
     * A query parameter.
     *
     * @param name of it
     * @param required whether the request must have it
     * @param doc what it means
     */
    public record QueryParameter(String name, boolean required, String doc) implements Parameter {}

    /**
     * A header that changes what the operation does. It may be left out.
     *
     * @param name of it
     * @param doc what it means
     */
    public record HeaderParameter(String name, String doc) implements Parameter {
        @Override
        public boolean required() {
            return false;
        }
    }
}
