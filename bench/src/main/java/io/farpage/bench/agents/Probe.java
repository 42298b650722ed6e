package io.farpage.bench.agents;

import io.farpage.agent.control.ControlThread;
import io.farpage.bench.process.Child;
import io.farpage.bench.process.Children;
import io.farpage.guest.command.CommandException;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * What tells the coordinator's delays from those of the pretended agents: heartbeats of an agent in a process of its
 * own, and requests of this JVM to a handler of that process that does nothing. A request of the second kind waits for
 * this JVM and the CPUs alone.
 */
final class Probe implements AutoCloseable {
    private static final Duration EVERY = Duration.ofMillis(20);
    private static final Duration TIMEOUT = Duration.ofSeconds(60);

    private final Child child;
    private final HttpClient http;
    private final URI url;
    private final Measures measures;
    private final ControlThread thread;

    private Probe(Child child, HttpClient http, URI url, Measures measures) {
        this.child = child;
        this.http = http;
        this.url = url;
        this.measures = measures;
        this.thread = new ControlThread(
                "control requests", new ControlThread.Pauses(Duration.ZERO, EVERY, TIMEOUT), this::sendOne);
    }

    /** Starts it, and the requests of this JVM through {@code http}. */
    static Probe start(Children children, String coordinator, HttpClient http, Measures measures)
            throws InterruptedException {
        Path portFile = children.scratch().resolve("probe.port");
        Child child = children.start(
                "probe",
                "page-bench",
                List.of("cluster-probe", "--coordinator", coordinator, "--port-file", portFile.toString()),
                false);
        URI url = URI.create("http://127.0.0.1:" + child.awaitFile(portFile));
        Probe probe = new Probe(child, http, url, measures);
        probe.thread.start();
        return probe;
    }

    private Duration sendOne() throws InterruptedException {
        long start = System.nanoTime();
        get(ProbeCommand.CONTROL);
        measures.control.record(System.nanoTime() - start);
        return EVERY;
    }

    /** Percentiles of the heartbeats of the probe since the last call. */
    String takeHeartbeats() throws InterruptedException {
        return get(ProbeCommand.TAKE);
    }

    private String get(String path) throws InterruptedException {
        try {
            return http.send(
                            HttpRequest.newBuilder(url.resolve(path))
                                    .timeout(TIMEOUT)
                                    .build(),
                            BodyHandlers.ofString())
                    .body();
        } catch (IOException e) {
            throw new CommandException("the probe does not answer %s: %s; %s".formatted(path, e, child.lastWords()), e);
        }
    }

    @Override
    public void close() {
        thread.closeNow();
        child.close();
    }
}
