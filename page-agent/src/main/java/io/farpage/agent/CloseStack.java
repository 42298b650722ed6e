package io.farpage.agent;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The components of an agent, closed newest first. One that fails to close does not keep the others open. */
final class CloseStack implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(CloseStack.class);

    private final Deque<AutoCloseable> open = new ArrayDeque<>();

    <T extends AutoCloseable> T add(T part) {
        open.push(part);
        return part;
    }

    /** Closes all components, but waits no longer than {@code limit}; false if closing still goes on. */
    boolean closeWithin(Duration limit) {
        Thread closing = Thread.ofVirtual().name("closing").start(this::close);
        try {
            return closing.join(limit);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    @Override
    public void close() {
        while (!open.isEmpty()) {
            AutoCloseable part = open.pop();
            try {
                part.close();
            } catch (Exception e) {
                log.error("closing {} failed", part.getClass().getSimpleName(), e);
            }
        }
    }
}
