package io.farpage.trace;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;

/**
 * Writes an {@code ExportTraceServiceRequest} in protobuf's binary form. The numbers are those of opentelemetry-proto
 * 1.x, {@code trace/v1/trace.proto}, {@code common/v1/common.proto} and {@code resource/v1/resource.proto}, which are
 * stable.
 */
final class Otlp {
    /** The media type of the request's body. */
    static final String MEDIA_TYPE = "application/x-protobuf";

    private static final int VARINT = 0;
    private static final int FIXED64 = 1;
    private static final int BYTES = 2;
    private static final int ERROR = 2;
    private static final int LOW = 0x7f;
    private static final int MORE = 0x80;
    private static final int GROUP = 7;
    private static final int TYPE_BITS = 3;
    private static final String SCOPE = "io.farpage";

    private final ByteArrayOutputStream out = new ByteArrayOutputStream();

    private Otlp() {}

    /** The request for some spans of one resource. */
    static byte[] request(Map<String, Object> resource, List<Span> spans) {
        Otlp attributes = new Otlp();
        resource.forEach((key, value) -> attributes.attribute(1, key, value));
        Otlp scope = new Otlp();
        scope.message(1, new Otlp().text(1, SCOPE));
        spans.forEach(span -> scope.message(2, span(span)));
        Otlp ofResource = new Otlp().message(1, attributes).message(2, scope);
        return new Otlp().message(1, ofResource).out.toByteArray();
    }

    private static Otlp span(Span span) {
        TraceContext context = span.context();
        Otlp message = new Otlp()
                .bytes(
                        1,
                        ByteBuffer.allocate(2 * Long.BYTES)
                                .putLong(context.high())
                                .putLong(context.low())
                                .array())
                .bytes(2, id(context.span()));
        if (span.parent() != 0) {
            message.bytes(4, id(span.parent()));
        }
        message.text(5, span.name())
                .number(6, span.kind().code())
                .fixed64(7, span.startNanos())
                .fixed64(8, span.endNanos());
        span.attributes().forEach((key, value) -> message.attribute(9, key, value));
        span.error()
                .ifPresent(
                        error -> message.message(15, new Otlp().text(2, error).number(3, ERROR)));
        return message;
    }

    private static byte[] id(long value) {
        return ByteBuffer.allocate(Long.BYTES).putLong(value).array();
    }

    private void attribute(int field, String key, Object value) {
        Otlp any = value instanceof Long number ? new Otlp().number(3, number) : new Otlp().text(1, value.toString());
        message(field, new Otlp().text(1, key).message(2, any));
    }

    private Otlp message(int field, Otlp message) {
        return bytes(field, message.out.toByteArray());
    }

    private Otlp text(int field, String text) {
        return bytes(field, text.getBytes(StandardCharsets.UTF_8));
    }

    private Otlp bytes(int field, byte[] bytes) {
        tag(field, BYTES);
        varint(bytes.length);
        out.writeBytes(bytes);
        return this;
    }

    private Otlp number(int field, long value) {
        tag(field, VARINT);
        varint(value);
        return this;
    }

    private Otlp fixed64(int field, long value) {
        tag(field, FIXED64);
        out.writeBytes(ByteBuffer.allocate(Long.BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(value)
                .array());
        return this;
    }

    private void tag(int field, int type) {
        varint((long) field << TYPE_BITS | type);
    }

    private void varint(long value) {
        long rest = value;
        while ((rest & ~LOW) != 0) {
            out.write((int) (rest & LOW) | MORE);
            rest >>>= GROUP;
        }
        out.write((int) rest);
    }
}
