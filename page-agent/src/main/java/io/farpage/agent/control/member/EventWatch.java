package io.farpage.agent.control.member;

import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Event;
import io.farpage.coordinator.model.EventBatch;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Follows the coordinator's events with long polls. */
public final class EventWatch implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(EventWatch.class);
    private static final Duration WAIT = Duration.ofSeconds(30);
    private static final Duration RETRY = Duration.ofMillis(200);
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);

    /** Receives events on the watch's thread. */
    public interface Listener {
        void event(Event event);

        /** Events were missed: all state that is derived from them has to be read again. */
        void resync();
    }

    private final CoordinatorClient coordinator;
    private final Listener listener;
    private final Thread thread;
    private volatile boolean stopping;

    public EventWatch(CoordinatorClient coordinator, Listener listener) {
        this.coordinator = coordinator;
        this.listener = listener;
        this.thread = Thread.ofVirtual().name("events").unstarted(this::run);
    }

    public void start() {
        thread.start();
    }

    private void run() {
        long index = 0;
        boolean missed = true;
        while (!stopping) {
            try {
                EventBatch batch = coordinator.events(index, missed ? Duration.ZERO : WAIT);
                index = batch.index();
                if (missed || batch.resync()) {
                    missed = false;
                    listener.resync();
                } else {
                    batch.events().forEach(listener::event);
                }
            } catch (CoordinatorException e) {
                log.debug("events: {}", e.toString());
                // It may come back with an older store, so everything is read again.
                missed = true;
                pause();
            }
        }
    }

    private void pause() {
        try {
            Thread.sleep(RETRY);
        } catch (InterruptedException e) {
            stopping = true;
        }
    }

    @Override
    public void close() {
        stopping = true;
        thread.interrupt();
        try {
            if (thread.getState() != Thread.State.NEW && !thread.join(CLOSE_TIMEOUT)) {
                log.warn("the event watch did not stop within {}", CLOSE_TIMEOUT);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
