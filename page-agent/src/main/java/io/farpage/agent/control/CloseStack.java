package io.farpage.agent.control;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.function.BiConsumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Resources that are closed newest first. One that fails to close does not keep the others open. */
public final class CloseStack implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(CloseStack.class);

    private final Deque<AutoCloseable> open = new ArrayDeque<>();

    /** Adds a resource, and returns it. */
    public <T extends AutoCloseable> T add(T resource) {
        open.push(resource);
        return resource;
    }

    /** Closes all because a construction failed halfway. Failures to close are added to {@code cause}. */
    public void closeAfter(Exception cause) {
        closeAll((_, failure) -> cause.addSuppressed(failure));
    }

    /** Closes all, but waits no longer than {@code limit}; false if closing still goes on. Failures are logged. */
    public boolean closeWithin(Duration limit) {
        Thread closing = Thread.ofVirtual().name("closing").start(this::closeLogged);
        try {
            return closing.join(limit);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /** Closes all. Failures are logged. */
    public void closeLogged() {
        closeAll((resource, failure) ->
                log.error("closing {} failed", resource.getClass().getSimpleName(), failure));
    }

    /** @throws RuntimeException of the first resource that does not close, after the others have been tried */
    @Override
    public void close() {
        List<Exception> failures = new ArrayList<>();
        closeAll((_, failure) -> failures.add(failure));
        if (!failures.isEmpty()) {
            Exception first = failures.removeFirst();
            failures.forEach(first::addSuppressed);
            throw first instanceof RuntimeException failure ? failure : new IllegalStateException(first);
        }
    }

    private void closeAll(BiConsumer<AutoCloseable, Exception> onFailure) {
        while (!open.isEmpty()) {
            AutoCloseable resource = open.pop();
            try {
                resource.close();
            } catch (Exception e) {
                onFailure.accept(resource, e);
            }
        }
    }
}
