package io.farpage.it.harness;

import com.google.protobuf.InvalidProtocolBufferException;
import com.sun.net.httpserver.HttpServer;
import io.opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;
import io.opentelemetry.proto.common.v1.KeyValue;
import io.opentelemetry.proto.trace.v1.ResourceSpans;
import io.opentelemetry.proto.trace.v1.Span;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;

/**
 * A collector of traces over OTLP/HTTP, which reads with the classes that OpenTelemetry generates from its definition.
 * Thread-safe.
 */
public final class TraceCollector implements AutoCloseable {
    private final List<Received> spans = new CopyOnWriteArrayList<>();
    private final List<String> faults = new CopyOnWriteArrayList<>();
    private final AtomicInteger requests = new AtomicInteger();
    private final CountDownLatch ended = new CountDownLatch(1);
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final HttpServer server;

    /** What the collector answers. */
    public enum Manner {
        TAKES,
        HANGS,
        IS_BUSY,
        IS_UNAVAILABLE
    }

    /**
     * A span that came.
     *
     * @param service {@code service.name} of its resource
     */
    public record Received(String service, Span span) {
        /** Its name. */
        public String name() {
            return span.getName();
        }

        /** Its trace. */
        public String trace() {
            return HexFormat.of().formatHex(span.getTraceId().toByteArray());
        }

        /** Whether it is directly below another one. */
        public boolean isBelow(Received other) {
            return trace().equals(other.trace()) && span.getParentSpanId().equals(other.span.getSpanId());
        }

        /** An attribute as text; empty if it has none of that name. */
        public String attribute(String key) {
            return span.getAttributesList().stream()
                    .filter(each -> each.getKey().equals(key))
                    .map(each -> each.getValue().hasIntValue()
                            ? Long.toString(each.getValue().getIntValue())
                            : each.getValue().getStringValue())
                    .collect(Collectors.joining());
        }

        @Override
        public String toString() {
            return "%s %s %s %s<-%s %s"
                    .formatted(
                            trace(),
                            service,
                            name(),
                            HexFormat.of().formatHex(span.getSpanId().toByteArray()),
                            HexFormat.of().formatHex(span.getParentSpanId().toByteArray()),
                            attribute("http.response.status_code"));
        }
    }

    /** Listens on loopback. */
    public TraceCollector(Manner manner) {
        try {
            server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        server.setExecutor(threads);
        server.createContext("/", exchange -> {
            byte[] body = exchange.getRequestBody().readAllBytes();
            requests.incrementAndGet();
            int status = switch (manner) {
                case TAKES -> take(exchange.getRequestURI().getPath(), body);
                case HANGS -> hang();
                case IS_BUSY -> 429;
                case IS_UNAVAILABLE -> 503;
            };
            exchange.sendResponseHeaders(status, -1);
            exchange.close();
        });
        server.start();
    }

    private int take(String path, byte[] body) {
        if (!path.equals("/v1/traces")) {
            faults.add("path " + path);
            return 404;
        }
        try {
            for (ResourceSpans resource :
                    ExportTraceServiceRequest.parseFrom(body).getResourceSpansList()) {
                String service = resource.getResource().getAttributesList().stream()
                        .filter(each -> each.getKey().equals("service.name"))
                        .map(KeyValue::getValue)
                        .map(value -> value.getStringValue())
                        .collect(Collectors.joining());
                resource.getScopeSpansList().stream()
                        .flatMap(scope -> scope.getSpansList().stream())
                        .forEach(span -> spans.add(new Received(service, span)));
            }
            return 200;
        } catch (InvalidProtocolBufferException e) {
            faults.add(e.toString());
            return 400;
        }
    }

    private int hang() {
        try {
            ended.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return 200;
    }

    /** For {@code trace.otlp.endpoint}. */
    public URI url() {
        return URI.create("http://127.0.0.1:" + server.getAddress().getPort());
    }

    /** All spans so far. */
    public List<Received> spans() {
        return List.copyOf(spans);
    }

    /** Those of a service with a name. */
    public List<Received> spans(String service, String name) {
        return spans.stream()
                .filter(each -> each.service().equals(service) && each.name().equals(name))
                .toList();
    }

    /** Requests so far. */
    public int requests() {
        return requests.get();
    }

    /** What was wrong with requests. */
    public List<String> faults() {
        return List.copyOf(faults);
    }

    @Override
    public void close() {
        ended.countDown();
        server.stop(0);
        threads.shutdownNow();
    }
}
