package io.farpage.agent.client;

import io.farpage.trace.ActiveSpan;
import io.farpage.trace.Span;
import io.farpage.trace.TraceContext;
import io.farpage.trace.Tracer;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/** Makes each request a span, until the head of its answer has come. */
final class TracedClient implements AgentClient {
    private static final int CLIENT_ERROR = 400;

    private final AgentClient client;

    TracedClient(AgentClient client) {
        this.client = client;
    }

    @Override
    public Answer send(String method, String path, Map<String, String> headers, Body body)
            throws IOException, InterruptedException {
        Tracer tracer = Tracer.current();
        Optional<ActiveSpan> started = tracer == null ? Optional.empty() : tracer.start(method, Span.Kind.CLIENT);
        if (started.isEmpty()) {
            return client.send(method, path, headers, body);
        }
        ActiveSpan span = started.get();
        Map<String, String> all = new HashMap<>(headers);
        all.put(TraceContext.HEADER, span.context().header());
        span.attribute("http.request.method", method);
        span.attribute("url.path", path);
        try {
            Answer answer = client.send(method, path, all, body);
            span.attribute("http.response.status_code", (long) answer.status());
            if (answer.status() >= CLIENT_ERROR) {
                span.fail("status " + answer.status());
            }
            return answer;
        } catch (IOException e) {
            span.fail(e.toString());
            throw e;
        } finally {
            span.end();
        }
    }

    @Override
    public String explain(IOException e) {
        return client.explain(e);
    }

    @Override
    public void close() {
        client.close();
    }
}
