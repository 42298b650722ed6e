package io.farpage.config;

/**
 * How the text of a configuration value is read and what may be written.
 *
 * @param <T> what the program gets
 */
public interface ValueType<T> {

    /** What kind of value this is, one or two words for the reference page, such as {@code duration}. */
    String name();

    /** What is allowed, such as {@code a duration from 1ms to 1h, for example 30s}; ends every error about a value. */
    String allowed();

    /**
     * Reads a value.
     *
     * @throws IllegalArgumentException if the text is not allowed; the message says what is wrong with it beyond
     *     {@link #allowed()}, or is empty
     */
    T parse(String text);
}
