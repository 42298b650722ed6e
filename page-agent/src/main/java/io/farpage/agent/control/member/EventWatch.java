package io.farpage.agent.control.member;

import io.farpage.agent.control.ControlThread;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Event;
import io.farpage.coordinator.model.EventBatch;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;

/** Follows the coordinator's events that concern this node with long polls. */
public final class EventWatch implements AutoCloseable {
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
    private final String node;
    private final Supplier<Optional<Set<String>>> peers;
    private final Listener listener;
    private final ControlThread thread;
    private volatile long index;
    private boolean missed = true;

    /**
     * @param peers asked at the beginning of each poll for the nodes whose changes concern this one; of all nodes, if
     *     empty
     */
    public EventWatch(
            CoordinatorClient coordinator, String node, Supplier<Optional<Set<String>>> peers, Listener listener) {
        this.coordinator = coordinator;
        this.node = node;
        this.peers = peers;
        this.listener = listener;
        thread = new ControlThread(
                "events", new ControlThread.Pauses(Duration.ZERO, RETRY, CLOSE_TIMEOUT), this::awaitEvents);
    }

    public void start() {
        thread.start();
    }

    /** The index of the last event that was read; 0 before the first. Any thread. */
    public long index() {
        return index;
    }

    private Duration awaitEvents() throws CoordinatorException {
        try {
            EventBatch batch = coordinator.events(index, missed ? Duration.ZERO : Spread.of(WAIT), node, peers.get());
            index = batch.index();
            if (missed || batch.resync()) {
                missed = false;
                listener.resync();
            } else {
                batch.events().forEach(listener::event);
            }
            return Duration.ZERO;
        } catch (CoordinatorException | RuntimeException e) {
            // The coordinator may come back with an older store, or a listener did not get all events: all state is
            // read again.
            missed = true;
            throw e;
        }
    }

    @Override
    public void close() {
        thread.closeNow();
    }
}
