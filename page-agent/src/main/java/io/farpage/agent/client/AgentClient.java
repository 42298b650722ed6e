package io.farpage.agent.client;

import io.farpage.rest.Operation.Target;
import io.farpage.tls.ClientOptions;
import io.farpage.tls.TlsException;
import io.farpage.trace.Tracer;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongConsumer;

/** Sends requests to an agent. The body of an answer is read as it comes. */
public interface AgentClient extends AutoCloseable {

    /** The body of a request. */
    sealed interface Body {}

    /**
     * Bytes in memory.
     *
     * @param bytes none: no body
     */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    record Bytes(byte[] bytes) implements Body {
        /** No body. */
        public static final Bytes NONE = new Bytes(new byte[0]);
    }

    /**
     * What a file holds.
     *
     * @param file that is read while it is sent
     * @param sent accepts the number of bytes sent since its last call; called by a thread of the client
     */
    record Content(Path file, LongConsumer sent) implements Body {}

    /** The answer to a request. Closing it gives up the rest of its body. */
    interface Answer extends AutoCloseable {
        int status();

        Optional<String> header(String name);

        InputStream body();

        @Override
        void close() throws IOException;
    }

    /**
     * Makes a client.
     *
     * @param timeout of a request until its answer begins
     * @throws TlsException if the certificates cannot be used
     */
    static AgentClient open(AgentAddress address, ClientOptions security, Duration timeout) {
        AgentClient client = switch (address) {
            case AgentAddress.Tcp tcp -> new TcpClient(tcp, security, timeout);
            case AgentAddress.Unix unix -> new SocketClient(unix, timeout);
        };
        return Tracer.current() == null ? client : new TracedClient(client);
    }

    /**
     * Sends a request and waits for the head of its answer.
     *
     * @param type media type of the body
     * @throws IOException if no answer comes in time
     */
    default Answer send(Target<?, ?> to, String type, Body body) throws IOException, InterruptedException {
        return send(to.operation().method().name(), to.path(), Map.of("Content-Type", type), body);
    }

    /** As {@link #send(Target, String, Body)}, with more headers than the body's type. */
    Answer send(String method, String path, Map<String, String> headers, Body body)
            throws IOException, InterruptedException;

    /** The address and what an exception of {@link #send} means. */
    String explain(IOException e);

    @Override
    void close();
}
