package io.farpage.trace;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.farpage.it.deadlines.Deadlines;
import io.opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;
import io.opentelemetry.proto.common.v1.KeyValue;
import io.opentelemetry.proto.trace.v1.ResourceSpans;
import io.opentelemetry.proto.trace.v1.Status;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/**
 * What a collector gets, read with the classes that OpenTelemetry generates from its definition; and collectors that
 * take nothing.
 */
class ExporterTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(30);
    private static final long START = 1_700_000_000_123_456_789L;

    private final List<ExportTraceServiceRequest> requests = new CopyOnWriteArrayList<>();
    private final List<String> paths = new CopyOnWriteArrayList<>();

    private static Span span(String name, Map<String, Object> attributes, Optional<String> error) {
        return new Span(
                new TraceContext(1, -2, 3, true), 4, name, Span.Kind.CLIENT, START, START + 500, attributes, error);
    }

    private HttpServer collector(Answers answers) throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        AtomicInteger count = new AtomicInteger();
        server.createContext("/", exchange -> {
            paths.add(exchange.getRequestURI().getPath() + " "
                    + exchange.getRequestHeaders().getFirst("Content-Type"));
            byte[] body = exchange.getRequestBody().readAllBytes();
            int status = answers.status(count.getAndIncrement(), exchange);
            if (status == 200) {
                requests.add(ExportTraceServiceRequest.parseFrom(body));
            }
            exchange.sendResponseHeaders(status, -1);
            exchange.close();
        });
        server.start();
        return server;
    }

    @FunctionalInterface
    private interface Answers {
        int status(int request, HttpExchange exchange);
    }

    private static URI uri(HttpServer server) {
        return URI.create("http://127.0.0.1:" + server.getAddress().getPort());
    }

    private static byte[] bytes(long... values) {
        ByteBuffer bytes = ByteBuffer.allocate(values.length * Long.BYTES);
        for (long value : values) {
            bytes.putLong(value);
        }
        return bytes.array();
    }

    @Test
    void shouldSendWhatTheDefinitionOfOtlpSays() throws Exception {
        HttpServer server = collector((request, exchange) -> 200);
        try (Exporter exporter = new Exporter(uri(server), Map.of("service.name", "page-agent"))) {
            exporter.offer(span("GET /ä", Map.of("text", "ö", "number", -5L), Optional.of("status 503")));
            Deadlines.await("the export", TIMEOUT).until(() -> exporter.exported() == 1);
        } finally {
            server.stop(0);
        }
        assertEquals(List.of("/v1/traces application/x-protobuf"), paths);
        ResourceSpans spans = requests.getFirst().getResourceSpans(0);
        assertEquals(1, requests.getFirst().getResourceSpansCount());
        assertEquals(
                "page-agent", spans.getResource().getAttributes(0).getValue().getStringValue());
        assertEquals("io.farpage", spans.getScopeSpans(0).getScope().getName());
        io.opentelemetry.proto.trace.v1.Span span = spans.getScopeSpans(0).getSpans(0);
        assertEquals(ByteString.copyFrom(bytes(1, -2)), span.getTraceId());
        assertEquals(ByteString.copyFrom(bytes(3)), span.getSpanId());
        assertEquals(ByteString.copyFrom(bytes(4)), span.getParentSpanId());
        assertEquals("GET /ä", span.getName());
        assertEquals(io.opentelemetry.proto.trace.v1.Span.SpanKind.SPAN_KIND_CLIENT, span.getKind());
        assertEquals(START, span.getStartTimeUnixNano());
        assertEquals(START + 500, span.getEndTimeUnixNano());
        assertEquals(Status.StatusCode.STATUS_CODE_ERROR, span.getStatus().getCode());
        assertEquals("status 503", span.getStatus().getMessage());
        for (KeyValue attribute : span.getAttributesList()) {
            if (attribute.getKey().equals("number")) {
                assertEquals(-5, attribute.getValue().getIntValue());
            } else {
                assertEquals("ö", attribute.getValue().getStringValue());
            }
        }
        assertEquals(2, span.getAttributesCount());
        assertTrue(
                requests.getFirst().getUnknownFields().asMap().isEmpty()
                        && span.getUnknownFields().asMap().isEmpty(),
                "no field is unknown");
    }

    @Test
    void shouldSendAgainWhenTheCollectorIsBusy() throws Exception {
        HttpServer server = collector((request, exchange) -> {
            exchange.getResponseHeaders().set("Retry-After", "0");
            return request == 0 ? 429 : request == 1 ? 503 : 200;
        });
        try (Exporter exporter = new Exporter(uri(server), Map.of())) {
            exporter.offer(span("one", Map.of(), Optional.empty()));
            Deadlines.await("the export", TIMEOUT).until(() -> exporter.exported() == 1);
            assertEquals(0, exporter.dropped());
        } finally {
            server.stop(0);
        }
        assertEquals(3, paths.size());
        assertEquals(1, requests.size());
    }

    @Test
    void shouldDropABatchThatTheCollectorRefusesAndGoOn() throws Exception {
        HttpServer server = collector((request, exchange) -> request == 0 ? 400 : 200);
        try (Exporter exporter = new Exporter(uri(server), Map.of())) {
            exporter.offer(span("one", Map.of(), Optional.empty()));
            Deadlines.await("the drop", TIMEOUT).until(() -> exporter.dropped() == 1);
            exporter.offer(span("two", Map.of(), Optional.empty()));
            Deadlines.await("the export of the next", TIMEOUT).until(() -> exporter.exported() == 1);
        } finally {
            server.stop(0);
        }
        assertEquals(2, paths.size());
    }

    @Test
    void shouldNeverWaitForACollectorThatHangs() throws Exception {
        try (ServerSocket silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Exporter exporter = new Exporter(URI.create("http://127.0.0.1:" + silent.getLocalPort()), Map.of())) {
            Deadlines.Wait offers = Deadlines.begin("a hundred thousand offers", Duration.ofSeconds(3));
            for (int count = 0; count < 100_000; count++) {
                exporter.offer(span("one", Map.of(), Optional.empty()));
            }
            offers.check();
            assertTrue(exporter.dropped() >= 100_000 - 4096 - 512, "dropped: " + exporter.dropped());
            assertEquals(0, exporter.exported());
            Deadlines.Wait end = Deadlines.begin("the end", Duration.ofSeconds(3));
            exporter.close(Duration.ofMillis(200));
            end.check();
        }
    }

    @Test
    void shouldCountWhatWasDroppedWhereNoCollectorListens() throws Exception {
        int free;
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            free = socket.getLocalPort();
        }
        Exporter exporter = new Exporter(URI.create("http://127.0.0.1:" + free), Map.of());
        exporter.offer(span("one", Map.of(), Optional.empty()));
        exporter.close(Duration.ofSeconds(5));
        Deadlines.await("the drop", TIMEOUT).until(() -> exporter.dropped() == 1);
        exporter.offer(span("after the end", Map.of(), Optional.empty()));
        assertEquals(2, exporter.dropped());
    }
}
