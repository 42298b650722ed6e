package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.Cluster;
import io.farpage.coordinator.model.Event;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.Fence;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.Release;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.store.Change;
import io.farpage.coordinator.store.Store;
import io.farpage.coordinator.store.StoreException;
import io.farpage.coordinator.store.Table;
import io.farpage.rest.Json;
import io.farpage.rest.ProblemException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.function.LongConsumer;
import org.pcollections.PSortedMap;
import org.pcollections.TreePMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.core.JacksonException;

/**
 * The one writer of the coordinator's state. Any thread may call; changes happen one after another under one lock, and
 * hold it while the store writes, so that the order of events is the order of the store. Changes that come meanwhile
 * are committed together.
 */
public final class Ledger {

    /** Key of the event index among the counters. */
    public static final String INDEX = Draft.INDEX;

    /** Key of the next id among the counters. */
    public static final String NEXT_ID = Draft.NEXT_ID;

    private static final Logger LOG = LoggerFactory.getLogger(Ledger.class);

    /** Rows after which a commit takes no more changes. */
    private static final int LONGEST_COMMIT = 1_000;

    private final ReentrantLock lock = new ReentrantLock();
    private final Queue<PendingChange<?>> pending = new ConcurrentLinkedQueue<>();
    private final Store store;
    private final EventLog events;
    private final LongConsumer commitNanos;
    private final long revisionBase;
    private volatile long revision;
    private volatile State state;
    private volatile Moment moment;
    private final AtomicLong stateNumber = new AtomicLong();

    /** Whether the thread that holds the lock runs the function of a change. */
    private volatile boolean drafting;

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
        this.state = load(store, State.Published.NOTHING);
        this.moment = new Moment(state, revision);
        this.events = new EventLog(eventsRetained, state.index());
    }

    /**
     * The state now; what it returns never changes. A change does not ask for it: earlier changes of its group are
     * missing in it, and are in the draft.
     */
    public State state() {
        if (drafting && lock.isHeldByCurrentThread()) {
            throw new IllegalStateException("a change reads its draft, which has the earlier changes of its group");
        }
        return state;
    }

    /**
     * A state and the revision that it was read or committed with.
     *
     * @param revision not greater than that of any later state
     */
    record Moment(State state, long revision) {}

    /** The state now, with its revision. Does not wait for a change that is being stored. */
    Moment moment() {
        return moment;
    }

    private void show(State next) {
        state = next;
        moment = new Moment(next, revision);
    }

    /**
     * Grows with each change of the state since this ledger was made. A state that is read after it is of that number
     * or of a later one.
     */
    public long stateNumber() {
        return stateNumber.get();
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
     * Makes a change: the function checks and drafts it; then it is stored, made visible and emitted as events. If the
     * function throws, nothing changes. Changes that wait for the same commit are made one after another and committed
     * together; the function may run on the thread of another caller.
     */
    <T> T change(Function<Draft, T> function) {
        PendingChange<T> mine = new PendingChange<>(function);
        pending.add(mine);
        lock.lock();
        try {
            while (!mine.isDone()) {
                makePending();
            }
        } finally {
            lock.unlock();
        }
        return mine.result();
    }

    /** Changes that wait to be made, an estimate. */
    int waiting() {
        return pending.size();
    }

    /**
     * Makes the changes that wait, in their order, and commits them together. All that were made fail with the commit.
     */
    private void makePending() {
        List<PendingChange<?>> made = new ArrayList<>();
        try {
            if (failure.isPresent()) {
                recover();
            }
            List<Change> changes = new ArrayList<>();
            List<Told> told = new ArrayList<>();
            State next = state;
            boolean changed = false;
            for (PendingChange<?> each = pending.poll(); each != null; each = pending.poll()) {
                made.add(each);
                Draft draft = new Draft(next);
                if (draft(each, draft) && draft.isChanged()) {
                    changed = true;
                    State before = next;
                    next = draft.finished();
                    changes.addAll(draft.changes());
                    for (Event event : draft.events()) {
                        told.add(new Told(event, Audience.of(event, before, next)));
                    }
                }
                if (changes.size() >= LONGEST_COMMIT) {
                    break;
                }
            }
            publish(next, changes, told);
            if (changed) {
                // After the state: the number of a state must never be had with the state before.
                stateNumber.incrementAndGet();
            }
            made.forEach(PendingChange::done);
        } catch (RuntimeException | Error e) {
            // A change that is refused for what an earlier one of the group did has no better reason than this.
            made.forEach(each -> each.fail(e));
            Optional.ofNullable(made.isEmpty() ? pending.poll() : null).ifPresent(each -> each.fail(e));
        }
    }

    private boolean draft(PendingChange<?> change, Draft draft) {
        drafting = true;
        try {
            return change.draft(draft, this::requireRowsThatFit);
        } finally {
            drafting = false;
        }
    }

    /**
     * A row that the store cannot take concerns the change that makes it, and not the others of its group: the store
     * has not failed.
     */
    private void requireRowsThatFit(Draft draft) {
        draft.changes().stream().filter(this::isTooLong).findFirst().ifPresent(change -> {
            throw new ProblemException(
                    507,
                    "limit",
                    "that would make row '%s' of table %s longer than the %d bytes that the store takes"
                            .formatted(
                                    change.key(), change.table().name().toLowerCase(Locale.ROOT), store.longestRow()));
        });
    }

    /** Whether a change has a row that the store cannot take. */
    private boolean isTooLong(Change change) {
        int most = store.longestRow();
        // A character has at most three bytes, so most rows need no encoding.
        return change.row()
                .filter(row -> row.length() > most / 3 && row.getBytes(StandardCharsets.UTF_8).length > most)
                .isPresent();
    }

    private void publish(State next, List<Change> changes, List<Told> told) {
        if (!changes.isEmpty()) {
            long start = System.nanoTime();
            commit(changes);
            commitNanos.accept(System.nanoTime() - start);
            long before = revision;
            // Before the state: an answer must not show a state whose revision its stamp does not reach.
            revision = revisionBase + store.revision();
            assert revision > before : revision;
        }
        show(next);
        events.append(told);
    }

    /**
     * Makes the store usable again after a failure. Reads the state again if the change that failed took effect after
     * all.
     */
    private void recover() {
        store.recover();
        if (revisionBase + store.revision() != revision) {
            State now = load(store, state.soft());
            revision = revisionBase + store.revision();
            show(now);
            stateNumber.incrementAndGet();
            events.restart(now.index());
        }
    }

    /**
     * After a change could not be stored, tries whether the store can be written again. Does nothing if it could be
     * written the last time.
     *
     * @throws StoreException if it cannot
     */
    public void probe() {
        if (failure.isEmpty()) {
            // Does not wait for a commit under way: leases are checked meanwhile.
            return;
        }
        lock.lock();
        try {
            if (failure.isPresent()) {
                recover();
                commit(List.of());
                revision = revisionBase + store.revision();
                show(state);
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
            show(state);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Reads the store while no change is made.
     *
     * @throws StoreException if the store cannot be read
     */
    public <T> T reading(Function<Store, T> reader) {
        lock.lock();
        try {
            if (failure.isPresent()) {
                recover();
            }
            return reader.apply(store);
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
        } catch (RuntimeException | Error e) {
            // After any failure the content of the store is unknown until it is read again.
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

    private static State load(Store store, State.Published soft) {
        Map<String, String> counters = store.rows(Table.COUNTERS);
        long index = counter(counters, INDEX, 0);
        PSortedMap<String, Space> spaces = read(store, Table.SPACES, Space.class);
        PSortedMap<String, State.Extents> extents = extents(store, spaces);
        PSortedMap<String, Attachment> attachments = read(store, Table.ATTACHMENTS, Attachment.class);
        PSortedMap<String, Fence> fences = read(store, Table.FENCES, Fence.class);
        PSortedMap<String, Release> releases = read(store, Table.RELEASES, Release.class);
        return new State(
                index,
                index,
                counter(counters, NEXT_ID, 1),
                read(store, Table.CLUSTER, Cluster.class),
                read(store, Table.NODES, Node.class),
                read(store, Table.RETIRED, State.Retired.class),
                soft,
                spaces,
                extents,
                releases,
                attachments,
                fences,
                read(store, Table.DRAINS, State.Draining.class),
                derived(extents, attachments, fences, releases));
    }

    private static State.Derived derived(
            PSortedMap<String, State.Extents> extents,
            PSortedMap<String, Attachment> attachments,
            PSortedMap<String, Fence> fences,
            PSortedMap<String, Release> releases) {
        try {
            return State.Derived.of(extents, attachments, fences, releases);
        } catch (IllegalStateException e) {
            throw new StoreException("the store is damaged: " + e.getMessage(), e);
        }
    }

    /**
     * The extents of each space.
     *
     * @throws StoreException if they are not those of all pages of all spaces
     */
    private static PSortedMap<String, State.Extents> extents(Store store, Map<String, Space> spaces) {
        SortedMap<String, List<Extent>> found = new TreeMap<>();
        spaces.keySet().forEach(space -> found.put(space, new ArrayList<>()));
        read(store, Table.EXTENTS, Extent.class)
                .forEach((key, extent) -> Optional.ofNullable(found.get(key.split("/")[0]))
                        .orElseThrow(() -> new StoreException("extent '%s' in the store is of no space".formatted(key)))
                        .add(extent));
        SortedMap<String, State.Extents> rows = new TreeMap<>();
        spaces.forEach((key, space) -> {
            State.Extents extents = new State.Extents(space.pageSize(), found.getOrDefault(key, List.of()));
            extents.gap(space).ifPresent(page -> {
                throw new StoreException("no extent in the store, or more than one, has page %d of space '%s'"
                        .formatted(page, space.name()));
            });
            rows.put(key, extents);
        });
        return TreePMap.fromSortedMap(rows);
    }

    private static long counter(Map<String, String> counters, String name, long otherwise) {
        String text = counters.getOrDefault(name, Long.toString(otherwise));
        try {
            return Long.parseLong(text);
        } catch (NumberFormatException e) {
            throw new StoreException("counter '%s' in the store is damaged: '%s'".formatted(name, text), e);
        }
    }

    private static <V> PSortedMap<String, V> read(Store store, Table table, Class<V> type) {
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
        return TreePMap.fromSortedMap(rows);
    }
}
