package io.farpage.config;

import java.util.function.Function;

/** A value type made of its three parts. */
record Simple<T>(String name, String allowed, Function<String, T> parser) implements ValueType<T> {

    @Override
    public T parse(String text) {
        return parser.apply(text);
    }
}
