package io.farpage.bench.fault;

import io.farpage.guest.command.CommandException;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * Reads pages over HTTP as Prometheus and a dashboard do, all of them at once when it begins and then every second,
 * until it is closed. The reading is done in a thread of this process.
 */
final class Observers implements AutoCloseable {
    private static final Duration PERIOD = Duration.ofSeconds(1);
    private static final Duration TIMEOUT = Duration.ofSeconds(10);
    private static final int OK = 200;

    private final HttpClient http =
            HttpClient.newBuilder().connectTimeout(TIMEOUT).build();
    private final List<URI> pages;
    private final Thread thread;
    private volatile Optional<String> failure = Optional.empty();

    private Observers(List<URI> pages) {
        this.pages = List.copyOf(pages);
        thread = Thread.ofPlatform().daemon().name("observers").unstarted(this::run);
    }

    static Observers begin(List<URI> pages) {
        Observers begun = new Observers(pages);
        begun.thread.start();
        return begun;
    }

    private void run() {
        try {
            while (failure.isEmpty()) {
                for (URI page : pages) {
                    read(page);
                }
                Thread.sleep(PERIOD);
            }
        } catch (InterruptedException e) {
            // Closed.
        }
    }

    private void read(URI page) throws InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(page).timeout(TIMEOUT).build();
        try {
            int status = http.send(request, BodyHandlers.discarding()).statusCode();
            if (status != OK) {
                failure = Optional.of("status " + status + " for " + page);
            }
        } catch (IOException e) {
            failure = Optional.of("no answer from " + page + ": " + e);
        }
    }

    /** @throws CommandException if a page could not be read */
    @Override
    public void close() {
        thread.interrupt();
        http.shutdownNow();
        if (failure.isPresent()) {
            throw new CommandException("observed pages: " + failure.get());
        }
    }
}
