package io.farpage.rest;

import io.farpage.access.Access;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A call of a service, declared once for the server and its clients: the request, who may make it, what the audit calls
 * it, and what it answers. A right is part of every declaration, and a word for the audit part of every declaration of
 * a change. A client that makes a call loads no class of the server for it. Immutable.
 *
 * @param <B> the request's JSON; {@link Void} if it has none
 * @param <A> the answer's JSON; {@link Void} if it has none
 * @param path with parameters in braces
 * @param access who may make the call
 * @param act what the audit calls it; {@link #ROUTINE} if the audit keeps only that it was refused
 * @param summary one line
 * @param body type of the request's JSON, if it has any
 * @param answer type of the answer's JSON, if it has any; an array type for a list
 * @param status of a success
 * @param mediaType of the answer
 * @param parameters beside those in its path
 */
public record Operation<B, A>(
        Method method,
        String path,
        Access access,
        String act,
        String summary,
        Optional<Class<B>> body,
        Optional<Class<?>> answer,
        int status,
        String mediaType,
        List<Parameter> parameters) {

    /** What the paths of all resources begin with. */
    public static final String API = "/api/v1";

    /** Stands for a word of the audit where a call is a read, or is repeated all the time. */
    public static final String ROUTINE = "";

    /** The header with which a service carries a request out once, however often it is sent. */
    public static final String IDEMPOTENCY_KEY = "Idempotency-Key";

    private static final String JSON = "application/json";

    /** Methods of HTTP that operations have. */
    public enum Method {
        GET,
        PUT,
        POST,
        DELETE
    }

    /** Copies the parameters. */
    public Operation {
        parameters = List.copyOf(parameters);
    }

    private static Operation<Void, Void> of(Method method, String path, Access access, String act) {
        return new Operation<>(method, path, access, act, "", Optional.empty(), Optional.empty(), 204, JSON, List.of());
    }

    /** A GET that answers JSON. */
    public static <A> Operation<Void, A> get(String path, Access access, Class<A> answer) {
        return of(Method.GET, path, access, ROUTINE).answering(answer);
    }

    /** A GET that answers an array of JSON. */
    public static <E> Operation<Void, List<E>> list(String path, Access access, Class<E> element) {
        return of(Method.GET, path, access, ROUTINE).json(Optional.empty(), Optional.of(element.arrayType()));
    }

    /** A GET that answers something else. */
    public static Operation<Void, Void> getText(String path, Access access, String mediaType) {
        return new Operation<>(
                Method.GET, path, access, ROUTINE, "", Optional.empty(), Optional.empty(), 200, mediaType, List.of());
    }

    /** A PUT without JSON, which answers with no content. */
    public static Operation<Void, Void> put(String path, Access access, String act) {
        return of(Method.PUT, path, access, act);
    }

    /** A POST without JSON, which answers with no content. */
    public static Operation<Void, Void> post(String path, Access access, String act) {
        return of(Method.POST, path, access, act);
    }

    /** A DELETE, which answers with no content. */
    public static Operation<Void, Void> delete(String path, Access access, String act) {
        return of(Method.DELETE, path, access, act);
    }

    private <C, D> Operation<C, D> json(Optional<Class<C>> taken, Optional<Class<?>> answered) {
        int success = answered.isPresent() ? 200 : status;
        return new Operation<>(method, path, access, act, summary, taken, answered, success, mediaType, parameters);
    }

    /** The same of a request and an answer that have JSON. */
    public <C, D> Operation<C, D> json(Class<C> taken, Class<D> answered) {
        return json(Optional.of(taken), Optional.of(answered));
    }

    /** The same of a request that has JSON. */
    public <C> Operation<C, A> taking(Class<C> type) {
        return json(Optional.of(type), answer);
    }

    /** The same with an answer that has JSON. */
    public <C> Operation<B, C> answering(Class<C> type) {
        return json(body, Optional.of(type));
    }

    /** The same with another status of a success. */
    public Operation<B, A> withStatus(int success) {
        return new Operation<>(method, path, access, act, summary, body, answer, success, mediaType, parameters);
    }

    /** The same with a summary. */
    public Operation<B, A> summary(String line) {
        return new Operation<>(method, path, access, act, line, body, answer, status, mediaType, parameters);
    }

    /** The same, with a word of its own in the audit although it reads. */
    public Operation<B, A> audited(String word) {
        return new Operation<>(method, path, access, word, summary, body, answer, status, mediaType, parameters);
    }

    /** The same with more parameters. */
    public Operation<B, A> with(Parameter... more) {
        List<Parameter> all = new ArrayList<>(parameters);
        all.addAll(List.of(more));
        return new Operation<>(method, path, access, act, summary, body, answer, status, mediaType, all);
    }

    /** Method and path, such as {@code GET /api/v1/nodes/{id}}. */
    public String name() {
        return method + " " + path;
    }

    /** Whether a service carries the same request out once, however often it is sent. */
    public boolean isIdempotent() {
        return has(HeaderParameter.class, IDEMPOTENCY_KEY);
    }

    /** The content that {@link #answer} was read as. */
    @SuppressWarnings("unchecked") // what an operation answers was declared together with the type that it is read as
    public A answerOf(Object content) {
        return (A) (content instanceof Object[] elements ? List.of(elements) : content);
    }

    /**
     * Where a request for this operation goes.
     *
     * @param values of the parameters in the path, in their order
     */
    public Target<B, A> at(Object... values) {
        StringBuilder target = new StringBuilder();
        int next = 0;
        int from = 0;
        for (int open = path.indexOf('{'); open >= 0; open = path.indexOf('{', from)) {
            target.append(path, from, open).append(encoded(values[next++].toString()));
            from = path.indexOf('}', open) + 1;
        }
        assert next == values.length : name();
        return new Target<>(this, target.append(path, from, path.length()).toString());
    }

    private static String encoded(String value) {
        return URLEncoder.encode(value, StandardCharsets.UTF_8).replace("+", "%20");
    }

    /**
     * Where a request for an operation goes.
     *
     * @param path with the values of its parameters, and the query
     */
    public record Target<B, A>(Operation<B, A> operation, String path) {

        /** The same with a query parameter, which the operation must have. */
        public Target<B, A> with(String name, Object value) {
            assert operation.has(QueryParameter.class, name) : name + " of " + operation.name();
            // Commas between the elements of a list stay as they are.
            String text = encoded(value.toString()).replace("%2C", ",");
            return with(name + '=' + text);
        }

        /** The same with a query that is encoded already. */
        public Target<B, A> with(String query) {
            return new Target<>(operation, path + (path.indexOf('?') < 0 ? '?' : '&') + query);
        }

        /** The same with a query parameter, if there is a value for it. */
        public Target<B, A> with(String name, Optional<?> value) {
            return value.isPresent() ? with(name, value.get()) : this;
        }
    }

    private boolean has(Class<? extends Parameter> kind, String name) {
        for (Parameter parameter : parameters) {
            if (kind.isInstance(parameter) && parameter.name().equals(name)) {
                return true;
            }
        }
        return false;
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
