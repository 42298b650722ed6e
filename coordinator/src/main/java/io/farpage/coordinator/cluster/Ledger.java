package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.Cluster;
import io.farpage.coordinator.model.Endpoint;
import io.farpage.coordinator.model.Fence;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.Region;
import io.farpage.coordinator.model.Release;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.store.Change;
import io.farpage.coordinator.store.Store;
import io.farpage.coordinator.store.StoreException;
import io.farpage.coordinator.store.Table;
import io.farpage.rest.Json;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.function.LongConsumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.core.JacksonException;

/**
 * The one writer of the coordinator's state. Any thread may call; changes happen one after another under one lock, and hold it while
 * the store writes, so that the order of events is the order of the store.
 */
public final class Ledger {

    /** Key of the event index among the counters. */
    public static final String INDEX = Draft.INDEX;

    /** Key of the next id among the counters. */
    public static final String NEXT_ID = Draft.NEXT_ID;

    private static final Logger LOG = LoggerFactory.getLogger(Ledger.class);

    private final ReentrantLock lock = new ReentrantLock();
    private final Store store;
    private final EventLog events;
    private final LongConsumer commitNanos;
    private final long revisionBase;
    private volatile long revision;
    private volatile State state;
    private volatile long committedNanos = System.nanoTime();
    private volatile Optional<String> failure = Optional.empty();

    /**
     * Reads the state from the store.
     *
     * @param commitNanos told how long each commit took
     * @throws StoreException if a row cannot be read
     */
    public Ledger(Store store, int eventsRetained, LongConsumer commitNanos) {
        this.store = store;
        this.commitNanos = commitNanos;
        this.revisionBase = counter(store.rows(Table.COUNTERS), Lineage.REVISION_BASE, 0);
        this.revision = revisionBase + store.revision();
        this.state = load(store);
        this.events = new EventLog(eventsRetained, state.index());
    }

    /** The state now; what it returns never changes. */
    public State state() {
        return state;
    }

    /** A revision that is durable and that {@link #state}, read before, does not exceed. */
    public long revision() {
        return revision;
    }

    /** The events. */
    public EventLog events() {
        return events;
    }

    /**
     * Makes a change: the function checks and drafts it; then it is stored, made visible and emitted as events. If the function throws, nothing
     * changes.
     */
    <T> T change(Function<Draft, T> function) {
        lock.lock();
        try {
            if (failure.isPresent()) {
                recover();
            }
            Draft draft = new Draft(state);
            T result = function.apply(draft);
            if (!draft.changes().isEmpty()) {
                long start = System.nanoTime();
                commit(draft.changes());
                commitNanos.accept(System.nanoTime() - start);
                // Before the state: an answer must not show a state whose revision its stamp does not reach.
                revision = revisionBase + store.revision();
                state = draft.finished();
                events.append(draft.events());
            }
            return result;
        } finally {
            lock.unlock();
        }
    }

    /** Makes the store usable again after a failure. Reads the state again if the change that failed took effect after all. */
    private void recover() {
        store.recover();
        if (revisionBase + store.revision() != revision) {
            State now = load(store);
            revision = revisionBase + store.revision();
            state = now;
            events.restart(now.index());
        }
    }

    /**
     * After a change could not be stored, tries whether the store can be written again. Does nothing if it could be written the last time.
     *
     * @throws StoreException if it cannot
     */
    public void probe() {
        lock.lock();
        try {
            if (failure.isPresent()) {
                recover();
                commit(List.of());
                revision = revisionBase + store.revision();
            }
        } finally {
            lock.unlock();
        }
    }

    /**
     * Commits nothing, which writes to the disk and waits for it.
     *
     * @throws StoreException if the store cannot be written
     */
    public void prove() {
        lock.lock();
        try {
            if (failure.isPresent()) {
                recover();
            }
            commit(List.of());
            revision = revisionBase + store.revision();
        } finally {
            lock.unlock();
        }
    }

    /** When the last commit was durable, in the units of {@link System#nanoTime()}. */
    public long committedNanos() {
        return committedNanos;
    }

    private void commit(List<Change> changes) {
        try {
            store.commit(changes);
            committedNanos = System.nanoTime();
            if (failure.isPresent()) {
                LOG.info("the store can be written again");
                failure = Optional.empty();
            }
        } catch (StoreException e) {
            if (failure.isEmpty()) {
                LOG.error("changes are refused until the store can be written again: {}", e.getMessage());
            }
            failure = Optional.of(String.valueOf(e.getMessage()));
            throw e;
        }
    }

    /** Why the last change could not be stored, if it could not. */
    public Optional<String> failure() {
        return failure;
    }

    private static State load(Store store) {
        Map<String, String> counters = store.rows(Table.COUNTERS);
        return new State(
                counter(counters, INDEX, 0),
                counter(counters, NEXT_ID, 1),
                read(store, Table.CLUSTER, Cluster.class),
                read(store, Table.NODES, Node.class),
                read(store, Table.RETIRED, State.Retired.class),
                read(store, Table.ENDPOINTS, Endpoint.class),
                read(store, Table.REGIONS, Region.class),
                read(store, Table.SPACES, Space.class),
                read(store, Table.EXTENTS, State.Extents.class),
                read(store, Table.RELEASES, Release.class),
                read(store, Table.ATTACHMENTS, Attachment.class),
                read(store, Table.FENCES, Fence.class),
                read(store, Table.DRAINS, State.Draining.class));
    }

    private static long counter(Map<String, String> counters, String name, long otherwise) {
        String text = counters.getOrDefault(name, Long.toString(otherwise));
        try {
            return Long.parseLong(text);
        } catch (NumberFormatException e) {
            throw new StoreException("counter '%s' in the store is damaged: '%s'".formatted(name, text), e);
        }
    }

    private static <V> SortedMap<String, V> read(Store store, Table table, Class<V> type) {
        SortedMap<String, V> rows = new TreeMap<>();
        store.rows(table).forEach((key, json) -> {
            try {
                rows.put(key, Json.LENIENT.readValue(json, type));
            } catch (JacksonException e) {
                throw new StoreException(
                        "row '%s' of table %s in the store is damaged: %s"
                                .formatted(key, table, e.getOriginalMessage()),
                        e);
            }
        });
        return Collections.unmodifiableSortedMap(rows);
    }
}
