package io.farpage.trace;

import java.util.Map;
import java.util.Optional;

/**
 * Something that has ended.
 *
 * @param context its own
 * @param parent id of the span above; 0 for a root
 * @param name of low cardinality
 * @param startNanos nanoseconds since 1970
 * @param endNanos nanoseconds since 1970, not before the start
 * @param attributes values are {@link String} or {@link Long}
 * @param error why it failed, if it did
 */
public record Span(
        TraceContext context,
        long parent,
        String name,
        Kind kind,
        long startNanos,
        long endNanos,
        Map<String, Object> attributes,
        Optional<String> error) {

    /** As OTLP numbers them. */
    public enum Kind {
        INTERNAL(1),
        SERVER(2),
        CLIENT(3);

        private final int code;

        Kind(int code) {
            this.code = code;
        }

        int code() {
            return code;
        }
    }
}
